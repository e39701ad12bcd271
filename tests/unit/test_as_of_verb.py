"""`as-of` answers what was asked, and says of what it cannot answer why and what to do."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from openmirror.operate.past_statements import statements
from openmirror.ports.storage_account import AccountUrl
from openmirror.table.layout import StorePath
from tests.harness.command_line import Root
from tests.harness.publishing import file_name, table

ITEMS = table("m", "Items")


@pytest.fixture
def applied(root: Root) -> Root:
    """A table with two batches: 1 to 3, and 4."""
    root.land(ITEMS, 1, 2, 3)
    assert root.run("drain").exit_code == 0
    root.land(ITEMS, 4)
    assert root.run("drain").exit_code == 0
    return root


def asked(root: Root, *options: str, exit_code: int = 0) -> Any:
    found = root.run("as-of", "dbo.Items", *options, "--json")
    assert found.exit_code == exit_code, found.output
    return json.loads(found.stdout)


def refused(root: Root, *options: str) -> str:
    found = root.run("as-of", "dbo.Items", *options, columns=400)
    assert found.exit_code in (1, 2), found.output
    return " ".join(found.output.split())


def test_the_version_of_a_batch_comes_with_what_reads_it(applied: Root) -> None:
    version = asked(applied, "--sequence", "3")["found"]["version"]
    shown = applied.run("as-of", "dbo.Items", "--sequence", "3").stdout
    assert f"version {version} of m/dbo.Items holds exactly the files up to 3, since" in shown
    path = f"{applied.path}/lake/m/Tables/dbo/Items"
    assert f"SELECT * FROM delta.`{path}` VERSION AS OF {version}" in shown
    assert f"ATTACH 'file://{path}' AS past (TYPE delta, VERSION {version})" in shown
    assert f'DeltaTable("{path}", version={version})' in shown
    assert f'pl.scan_delta("{path}", version={version})' in shown


def test_a_number_within_a_batch_has_no_version_and_the_nearest_are_named(applied: Root) -> None:
    shown = applied.run("as-of", "dbo.Items", "--sequence", "2")
    assert shown.exit_code == 3
    assert "exactly the files up to 2: no batch that the log knows ended there" in shown.stdout
    assert "the first after: version 0 holds exactly the files up to 3" in shown.stdout
    answer = asked(applied, "--sequence", "2", exit_code=3)
    assert (answer["exact"], answer["found"], answer["before"]) == (False, None, None)
    assert answer["after"]["sequence"] == "3"
    assert answer["after"]["statements"]["Spark SQL"].endswith("VERSION AS OF 0")


def test_what_is_not_applied_yet_is_called_so(applied: Root) -> None:
    shown = applied.run("as-of", "dbo.Items", "--sequence", "9")
    assert shown.exit_code == 3
    assert "is not applied; the table is at 4" in " ".join(shown.stdout.split())
    shutil.rmtree(applied.folder(ITEMS))
    applied.land(ITEMS, 1)
    applied.run("drain")
    shown = applied.run("as-of", "dbo.Items", "--sequence", "2")
    assert "is not applied; the table is at 1" in " ".join(shown.stdout.split())


def test_a_file_is_found_by_its_name(applied: Root) -> None:
    path = f"/anywhere/Items/{file_name(4)}"
    assert asked(applied, "--file", path)["found"]["sequence"] == "4"
    assert "is no change file of" in refused(applied, "--file", "7.parquet")


def test_a_time_gives_what_had_been_committed_by_then(applied: Root) -> None:
    last = asked(applied, "--sequence", "4")["found"]["at"]
    assert asked(applied, "--time", last)["found"]["sequence"] == "4"
    before = asked(applied, "--time", "2020-01-01T00:00:00+01:00", exit_code=3)
    assert before["found"] is None
    assert before["after"]["sequence"] == "3"
    assert "has not come yet" in refused(applied, "--time", "2999-01-01T00:00:00Z")


def test_where_names_give_no_order_a_file_has_the_number_of_the_ledger(root: Root) -> None:
    metadata = {"keyColumns": ["id"], "fileDetectionStrategy": "LastUpdateTimeFileDetection"}
    root.put(ITEMS, "_metadata.json", json.dumps(metadata).encode())
    root.land(ITEMS, 7)
    root.run("drain")
    root.land(ITEMS, 3)
    root.run("drain")
    found = asked(root, "--file", file_name(3))["found"]
    assert found["sequence"] == "2"
    assert "has no file called" in refused(root, "--file", file_name(9))


def test_an_earlier_incarnation_keeps_its_numbers_while_the_log_has_them(applied: Root) -> None:
    first = asked(applied, "--sequence", "4")["incarnation"]
    shutil.rmtree(applied.folder(ITEMS))
    applied.land(ITEMS, 1)
    applied.run("drain")
    assert asked(applied, "--sequence", "4", exit_code=3)["applied"] == "1"
    found = asked(applied, "--sequence", "4", "--incarnation", first)["found"]
    assert found["version"] < asked(applied, "--sequence", "1")["found"]["version"]
    unknown = refused(applied, "--sequence", "4", "--incarnation", "nowhere")
    assert f"{first} (up to 4)" in unknown


def test_a_dropped_table_still_has_its_past(applied: Root) -> None:
    shutil.rmtree(applied.folder(ITEMS))
    for _ in range(2):
        applied.run("drain")
    found = asked(applied, "--sequence", "4")["found"]
    assert "/_openmirror/dropped/" in found["statements"]["polars"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "give one of --sequence N, --file NAME and --time T"),
        (("--sequence", "1", "--time", "2020-01-01T00:00:00Z"), "give one of"),
        (("--sequence", "0"), "--sequence"),
        (("--sequence", "-1"), "--sequence"),
        (("--sequence", "9223372036854775807"), "--sequence"),
        (("--sequence", "four"), "--sequence"),
        (("--time", "2026-03-05T14:30:00"), "say in which zone 2026-03-05T14:30:00 is"),
        (("--time", "yesterday"), "is no moment such as"),
        (("--time", "2020-01-01T00:00:00Z", "--incarnation", "i"), "--incarnation goes with"),
        (("--sequence", "1", "--incarnation", "i"), "has no table yet"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_remedy(
    root: Root, options: tuple[str, ...], why: str
) -> None:
    root.land(ITEMS)
    assert why in refused(root, *options)


def test_an_account_is_named_as_each_reader_names_it() -> None:
    account = AccountUrl.parse("https://contoso.dfs.core.windows.net")
    texts = {
        one.reader: one.text for one in statements(account, StorePath("lake/m/Tables/dbo/Items"), 7)
    }
    url = "abfss://lake@contoso.dfs.core.windows.net/m/Tables/dbo/Items"
    assert texts["Spark SQL"] == f"SELECT * FROM delta.`{url}` VERSION AS OF 7"
    assert f'DeltaTable("{url}", version=7, storage_options=' in texts["delta-rs (Python)"]
    assert f'pl.scan_delta("{url}", version=7)' in texts["polars"]
    assert "ACCOUNT_NAME 'contoso'" in texts["DuckDB"]
    assert "ATTACH 'abfss://lake/m/Tables/dbo/Items'" in texts["DuckDB"]


def test_what_somebody_else_changed_and_what_is_gone_is_named_in_words(applied: Root) -> None:
    log = applied.path / "lake/m/Tables/dbo/Items/_delta_log"
    version = asked(applied, "--sequence", "4")["found"]["version"] + 1
    info = {"commitInfo": {"timestamp": 1767225600000, "operation": "WRITE"}}
    added = {"add": {"path": "not%20there.parquet", "size": 1, "dataChange": True}}
    text = "\n".join(map(json.dumps, (info, added)))
    (log / f"{version:020d}.json").write_text(text)
    assert asked(applied, "--sequence", "4")["exact"]
    applied.land(ITEMS, 5)
    applied.run("drain")
    shown = applied.run("as-of", "dbo.Items", "--sequence", "5", columns=1000)
    assert shown.exit_code == 3
    changed = f"in version {version}, of 2026-01-01T00:00:00Z, somebody else changed rows (WRITE)"
    assert changed in shown.stdout
    gone = "1 file of it is deleted, since an unknown time, among them not there.parquet"
    assert gone in shown.stdout
    assert "the oldest that can be read: version 0 holds exactly the files up to 3" in shown.stdout
    answer = asked(applied, "--sequence", "5", exit_code=3)["found"]
    assert answer["changedBySomebodyElse"]["version"] == version
    assert answer["statements"] == {}
    assert answer["gone"]["what"] == "files"
