"""What an operator reads is about the right table, whole, and says what fits the mistake."""

from __future__ import annotations

import io
import json
import logging
import re
import shutil

import pytest
from azure.core.exceptions import ClientAuthenticationError

from openmirror.errors import AccessDenied
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.text.rows import read_text
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.counts import counted
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.text_format import TextFormat
from openmirror.status import plain_text
from openmirror.stores.azure import clients as storage
from openmirror.stores.azure.failures import in_our_words
from tests.harness.command_line import Root
from tests.harness.publishing import file_name, table

ITEMS = table("m", "Items")
ITEMS_IN_SCHEMA = table("m", "dbo.schema/Items")
TEXT = {
    "FileFormat": "CSV",
    "keyColumns": ["id"],
    "FileFormatTypeProperties": {"FirstRowAsHeader": True, "ColumnSeparator": ","},
}


@pytest.fixture(autouse=True)
def _no_quiet_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMIRROR_QUIET_PERIOD", "0")


def test_two_folders_of_one_table_have_a_row_each_with_folder_and_figures(root: Root) -> None:
    root.land(ITEMS, 1, 2)
    root.run("drain")
    root.land(ITEMS_IN_SCHEMA, 1, 2, 3)
    rows = {t["openmirror"]["landingFolder"]: t for t in root.tables()}
    assert set(rows) == {"Items", "dbo.schema/Items"}
    figures = {
        name: (row["openmirror"]["appliedSequence"], row["openmirror"]["pendingFiles"])
        for name, row in rows.items()
    }
    assert figures == {"Items": ("2", 0), "dbo.schema/Items": ("0", 3)}
    shown = root.run("status").stdout
    assert re.search(r"^m/Items\b", shown, re.MULTILINE)
    assert re.search(r"^m/dbo.schema/Items\b", shown, re.MULTILINE)
    assert "m/dbo.schema/Items is paused by TableNameCollision" in shown


def test_a_table_that_is_gone_with_its_archive_is_lost_and_says_how_to_publish_it_anew(
    root: Root,
) -> None:
    root.land(ITEMS, 1, 2, 3)
    root.run("drain")
    shutil.rmtree(root.path / "lake" / "m" / "Tables" / "dbo" / "Items")
    (root.folder(ITEMS) / file_name(1)).unlink()
    assert root.run("drain").exit_code == 3
    (lost,) = root.tables()
    assert lost["error"]["errorCode"] == "TableLost"
    assert "skip" not in lost["error"]["message"]
    assert "new initial load" in lost["error"]["message"]
    shutil.rmtree(root.folder(ITEMS))
    root.land(ITEMS, 1)
    assert root.run("drain").exit_code == 0
    assert root.tables()[0]["openmirror"]["appliedSequence"] == "1"


def test_history_shows_first_load_re_creation_reseed_and_drop_apart(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("drain")
    root.run("reseed", "dbo.Items")
    root.run("drain")
    shutil.rmtree(root.folder(ITEMS))
    root.run("drain")
    root.run("drain")
    root.land(ITEMS, 1)
    root.run("drain")
    happened = [line.get("load") or line["event"] for line in root.history("dbo.Items")]
    assert happened == ["re-creation", "drop", "reseed", "act", "first"]
    shown = root.run("history", "dbo.Items").stdout
    for line in shown.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z+-]\w+  ", line), line
    assert "first load, file 1" in shown
    assert "dropped, because its landing folder was gone" in shown


def test_the_oldest_line_of_a_short_history_is_no_first_load_unless_it_was(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("drain")
    root.run("reseed", "dbo.Items")
    root.run("drain")
    newest = json.loads(root.run("history", "dbo.Items", "--limit", "1", "--json").stdout)["data"]
    assert [line["load"] for line in newest] == ["reseed"]


def test_confirm_drops_is_advised_with_its_mirror(root: Root) -> None:
    names = [f"t{number}" for number in range(5)]
    for name in names:
        root.land(table("m", name), 1)
    root.run("drain")
    for name in names[:4]:
        shutil.rmtree(root.folder(table("m", name)))
    root.run("drain")
    shown = root.run("status", columns=300).stdout
    assert shown.count("confirm-drops") == shown.count("confirm-drops --mirror m") > 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"id;v\r\n1;x\r\n", "'id;v'"),
        (b'"id"x,v\r\n1,x\r\n', "closing quote"),
        (b"id,v\xff\r\n1,x\r\n", "Encoding"),
    ],
)
def test_text_that_is_cut_in_another_way_gets_a_remedy_about_that(
    root: Root, content: bytes, says: str
) -> None:
    root.put(ITEMS, "_metadata.json", json.dumps(TEXT).encode())
    root.put(ITEMS, f"{1:020d}.csv", content)
    assert root.run("drain").exit_code == 3
    (paused,) = root.tables()
    problem = paused["openmirror"]["problem"]
    assert says in problem["detail"]
    assert "ColumnSeparator" in problem["solution"]
    assert "whole" not in problem["solution"]


@pytest.mark.parametrize("row", [b"1,x,y", b'1,"x"y', b'1,"x', b"1,\xff"])
def test_a_row_that_is_cut_in_another_way_gets_a_remedy_about_that(row: bytes) -> None:
    rules = ReadRules(text=TextFormat())
    schema = TableSchema((Column("id", ColumnType("string")), Column("v", ColumnType("string"))))
    with pytest.raises(RowsBroken) as refused:
        list(read_text(io.BytesIO(b"id,v\r\n" + row + b"\r\n"), rules, schema, None))
    assert "ColumnSeparator" in str(refused.value.broken.remedy)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_name_and_no_code_is_broken_inside_a_word(root: Root, columns: int) -> None:
    long = "A_table_with_quite_a_long_name_as_some_have_it"
    root.land(table("m", f"Sales.schema/{long}"), 1)
    root.put(ITEMS, f"{1:020d}.parquet", b"certainly no parquet file")
    root.land(table("n", "Items"), 1, 3)
    root.run("drain")
    shown = root.run("status", columns=columns).stdout
    head = shown.partition(" is paused by ")[0]
    for word in (f"m/Sales.{long}", "FileUnreadable", "m/dbo.Items", "n/dbo.Items", "Replicating"):
        assert word in head, shown
    root.run("pause", "m/dbo.Items", "--why", "because_" * 12)
    assert "because_" * 12 in root.run("history", "m/dbo.Items", columns=columns).stdout


def test_counts_have_their_plural(root: Root) -> None:
    root.land(ITEMS, 1)
    assert re.search(r"1 table, 1 commit, [\d,]+ changes? in", root.run("drain").stderr)
    root.land(ITEMS, 3)
    shown = " ".join(root.run("status").stdout.split())
    assert "1 later file waits for it" in shown
    assert [counted(n, "try", "tries") for n in (0, 1, 2_000)] == [
        "0 tries",
        "1 try",
        "2,000 tries",
    ]


def test_times_for_people_have_no_microseconds(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("pause", "dbo.Items")
    shown = root.run("status").stdout
    assert "held since" in shown
    assert not re.search(r"\d\d:\d\d:\d\d\.\d", shown)


def test_a_missing_login_is_one_sentence() -> None:
    tried = "no token.\nAttempted credentials:\n\tEnvironmentCredential: no\n\tAzureCli: no"
    with pytest.raises(AccessDenied) as refused, in_our_words("https://a.dfs.core.windows.net"):
        raise ClientAuthenticationError(tried)
    message = str(refused.value)
    assert "az login" in message
    assert "\n" not in message
    assert "Attempted" not in message
    assert ". " not in message


def test_the_sdks_own_warnings_stay_out_of_the_terminal(root: Root) -> None:
    loggers = [logging.getLogger(name) for name in ("azure", "azure.identity")]
    before = [logger.level for logger in loggers]
    try:
        root.run("status")
        storage.options()  # what the first client does to the same loggers
        assert not any(logger.isEnabledFor(logging.WARNING) for logger in loggers)
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "Java heap space"),
        (
            "attempt 1 failed: py4j.protocol.Py4JJavaError: An error occurred.\n"
            ": org.apache.spark.SparkException: Job aborted.\n"
            "\tat org.apache.spark.Job.run(Job.scala:1)\n\t... 12 more",
            "attempt 1 failed: An error occurred.\n: Job aborted.",
        ),
        ("cannot read class org.apache.parquet.format.PageHeader", "cannot read class PageHeader"),
        ("0001.parquet: sales/dbo.orders has v1.2.3", "0001.parquet: sales/dbo.orders has v1.2.3"),
        ("account.dfs.core.windows.net is away", "account.dfs.core.windows.net is away"),
    ],
)
def test_names_of_javas_classes_are_left_out(text: str, plain: str) -> None:
    assert plain_text(text) == plain
