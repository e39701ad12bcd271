"""`openmirror publish`, over a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, interpret
from openmirror.publishing import BatchLimits, Publisher, PublisherOptions, TableWriter
from tests.infra.commands.shell import simple_commands

PAGE = Path(__file__).parents[2] / "docs" / "PUBLISHERS.md"
FIRST = "id,name\n001,Ann\n002,Bo\n003,\n"
SECOND = "id,name\n001,Ann\n002,Bob\n004,Di\n"
Publish = Callable[..., Result]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty landing zone in it, and files beside that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "LandingZone").mkdir()
    (tmp_path / "orders.csv").write_text(FIRST)
    return tmp_path


def publish(*words: str, stdin: bytes = b"", table: str = "dbo.orders") -> Result:
    """One run of the verb."""
    given = ("publish", *words, "--to", "LandingZone", "--table", table)
    return CliRunner().invoke(app, given, input=stdin, env={"COLUMNS": "80"})


def rows(table: str = "dbo.schema/orders", key: tuple[str, ...] = ("id",)) -> list[Any]:
    """The table that the landed files give."""
    files = sorted(Path("LandingZone", table).glob("[0-9]*.parquet"))
    assert [int(path.stem) for path in files] == list(range(1, len(files) + 1))
    changes = []
    for path in files:
        read = pq.read_table(path)
        names = tuple(n for n in read.column_names if n != "__rowMarker__")
        changes.append(
            ChangeFile(
                names,
                [
                    Change(
                        Marker(int(row.get("__rowMarker__", 0))),
                        {fold_case(name): row[name] for name in names},
                    )
                    for row in read.to_pylist()
                ],
            )
        )
    return interpret(changes, key).rows


def test_a_file_is_sent_once_and_passed_over_afterwards(place: Path) -> None:
    sent = publish("orders.csv", "--key", "id")
    assert sent.exit_code == 0, sent.output
    assert "orders.csv: sent 3 rows" in sent.stdout
    again = publish("orders.csv", "--key", "id")
    assert "published before, passed over" in again.stdout
    assert len(list(Path("LandingZone/dbo.schema/orders").glob("0*.parquet"))) == 1
    assert [row["id"] for row in rows()] == ["001", "002", "003"]


def test_a_folder_is_sent_anew_by_its_new_files_alone(place: Path) -> None:
    (place / "in").mkdir()
    (place / "in" / "a.csv").write_text(FIRST)
    publish("in", "--key", "id")
    (place / "in" / "b.csv").write_text("id,name\n009,Zoe\n")
    found = json.loads(publish("in", "--key", "id", "--json").stdout)
    assert found["files"] == [
        {"name": "a.csv", "rows": 0, "publishedBefore": True},
        {"name": "b.csv", "rows": 1, "publishedBefore": False},
    ]
    assert len(rows()) == 4


def test_a_snapshot_sends_the_differences(place: Path) -> None:
    words = ("orders.csv", "--key", "id", "--snapshot")
    first = publish(*words)
    assert first.exit_code == 0, first.output
    assert "found 3 new, 0 changed, 0 deleted" in first.stdout
    (place / "orders.csv").write_text(SECOND)
    second = publish(*words)
    assert "found 1 new, 1 changed, 1 deleted" in second.stdout
    assert "landed snapshot 2: 3 changes in 1 file" in second.stdout
    assert sorted((r["id"], r["name"]) for r in rows()) == [
        ("001", "Ann"),
        ("002", "Bob"),
        ("004", "Di"),
    ]
    assert "nothing to send" in publish(*words).stdout


@pytest.mark.parametrize("more", [(), ("--snapshot",)])
def test_a_plan_says_what_would_be_sent_and_touches_nothing(
    place: Path, more: tuple[str, ...]
) -> None:
    shown = publish("orders.csv", "--key", "id", "--type", "id=long", "--plan", *more)
    assert shown.exit_code == 0, shown.output
    assert "columns: id long, name string" in shown.stdout
    assert "would send 3" in shown.stdout
    assert list((place / "LandingZone").iterdir()) == []


def test_the_types_of_the_first_run_stay(place: Path) -> None:
    publish("orders.csv", "--key", "id", "--snapshot", "--type", "id=long")
    (place / "orders.csv").write_text("id,name\n1,Ann\n02,Bo\n3,\n")
    assert "nothing to send" in publish("orders.csv", "--key", "id", "--snapshot").stdout
    (place / "orders.csv").write_text("id,name\nA1,Ann\n")
    refused = publish("orders.csv", "--key", "id", "--snapshot")
    assert refused.exit_code == 1
    assert "orders.csv: line 2, column 'id': 'A1' does not fit Int64" in refused.stderr
    (place / "orders.csv").write_text("id,name\n1,Ann\n")
    other = publish("orders.csv", "--key", "id", "--snapshot", "--type", "name=long")
    assert other.exit_code == 1
    assert "existing type: 'string' (PROTOCOL §6.3)" in other.stderr


def test_a_snapshot_that_is_almost_empty_is_asked_about_first(place: Path) -> None:
    words = ("orders.csv", "--key", "id", "--snapshot")
    many = "id,name\n" + "".join(f"{number},x\n" for number in range(1000))
    (place / "orders.csv").write_text(many)
    publish(*words)
    (place / "orders.csv").write_text(FIRST)
    asked = publish(*words)
    assert asked.exit_code == 3
    assert "1,000 of the table's 1,000 rows (100%) would be deleted" in asked.stderr
    assert len(rows()) == 1000
    (place / "orders.csv").write_text("id,name\n")
    assert publish(*words).exit_code == 3
    assert publish(*words, "--yes").exit_code == 0
    assert rows() == []
    (place / "orders.csv").write_text(many)
    publish(*words)
    (place / "orders.csv").write_text(many.replace("\n7,x\n", "\n"))
    assert publish(*words, "--most-deleted", "0").exit_code == 0, "a few rows may always go"


def test_a_state_that_is_lost_ends_in_3_and_rebase_begins_anew(place: Path) -> None:
    words = ("orders.csv", "--key", "id", "--snapshot")
    publish(*words)
    (place / "LandingZone/dbo.schema/orders/_snapshot/state.json").unlink()
    (place / "orders.csv").write_text(SECOND)
    lost = publish(*words)
    assert lost.exit_code == 3
    assert "--rebase" in lost.stderr
    anew = publish(*words, "--rebase")
    assert anew.exit_code == 0, anew.output
    assert sorted(row["id"] for row in rows()) == ["001", "002", "004"]


def test_a_wrong_snapshot_is_found_before_a_rebase_deletes_anything(place: Path) -> None:
    words = ("orders.csv", "--key", "id", "--snapshot")
    publish(*words)
    (place / "orders.csv").write_text("id,name\n1,a\n1,b\n")
    assert publish(*words, "--rebase").exit_code == 1
    (place / "orders.csv").write_text("id,name\n")
    assert publish(*words, "--rebase").exit_code == 3
    assert len(rows()) == 3


def test_another_key_is_refused_with_its_section(place: Path) -> None:
    publish("orders.csv", "--key", "id", "--snapshot")
    refused = publish("orders.csv", "--key", "name", "--snapshot")
    assert refused.exit_code == 1
    assert "PROTOCOL §4.4" in refused.stderr


def test_a_table_of_snapshots_takes_no_other_files(place: Path) -> None:
    publish("orders.csv", "--key", "id", "--snapshot")
    refused = publish("orders.csv", "--key", "id")
    assert refused.exit_code == 1
    assert "is kept by snapshots" in refused.stderr


def test_rows_say_themselves_what_they_do(place: Path) -> None:
    publish("orders.csv", "--key", "id")
    (place / "changes.csv").write_text("id,name,__rowMarker__\n001,,2\n002,Bob,4\n")
    assert publish("changes.csv", "--key", "id").exit_code == 0
    assert [(row["id"], row["name"]) for row in rows()] == [("002", "Bob"), ("003", None)]
    (place / "changes.csv").write_text("id,name,__rowMarker__\n003,,2\n")
    assert "leave out --mode" in publish("changes.csv", "--key", "id", "--mode", "insert").stderr
    assert "no snapshot" in publish("changes.csv", "--key", "id", "--snapshot", table="b").stderr


def test_a_mode_decides_what_rows_do_in_a_table_with_a_key_too(place: Path) -> None:
    publish("orders.csv", "--key", "id")
    counted = {}
    for mode in ("upsert", "update", "insert", "delete"):
        (place / f"{mode}.csv").write_text("id,name\n001,Zed\n")
        assert publish(f"{mode}.csv", "--key", "id", "--mode", mode).exit_code == 0
        counted[mode] = [row["id"] for row in rows()].count("001")
    assert counted == {"upsert": 1, "update": 1, "insert": 2, "delete": 0}


def test_inserts_of_a_file_that_has_changed_are_asked_about(place: Path) -> None:
    words = ("orders.csv", "--mode", "insert")
    assert publish(*words).exit_code == 0
    (place / "orders.csv").write_text(SECOND)
    asked = publish(*words)
    assert asked.exit_code == 3
    assert "would be inserted once more" in asked.stderr
    assert publish(*words, "--yes").exit_code == 0
    assert len(rows(key=())) == 6


def _interrupted(writer: TableWriter) -> None:
    with writer.batch("sha256 of other bytes"):
        writer.upsert([{"id": "000"}, {"id": "001"}, {"id": "002"}])
        raise KeyboardInterrupt


def test_an_export_without_rows_sends_nothing_unless_it_is_a_batch_of_a_source(place: Path) -> None:
    (place / "orders.csv").write_text("id,name\n")
    assert publish("orders.csv", "--mode", "insert").exit_code == 0
    assert rows() == []
    (place / "orders.csv").write_text(FIRST)
    assert publish("orders.csv", "--mode", "insert").exit_code == 0
    (place / "orders.csv").write_text("id,name\n")
    batch = publish("orders.csv", "--source", "erp", "--position", "7")
    assert batch.exit_code == 0, batch.output
    assert len(list(Path("LandingZone/dbo.schema/orders").glob("0*.parquet"))) == 2
    assert len(rows()) == 3


def test_a_file_that_was_sent_in_part_and_has_changed_since_is_asked_about(place: Path) -> None:
    """Its batch can never be ended: the rows that are left of it are gone."""
    options = PublisherOptions(limits=BatchLimits(rows=1))
    with Publisher(Path("LandingZone"), options=options) as zone:
        writer = zone.table("dbo.orders", key=["id"], source="file orders.csv")
        with pytest.raises(KeyboardInterrupt):
            _interrupted(writer)
        writer.abandon()
    asked = publish("orders.csv", "--key", "id")
    assert asked.exit_code == 3
    assert "orders.csv was sent in part, 2 rows of it, and has changed" in asked.stderr
    assert publish("orders.csv", "--key", "id", "--yes").exit_code == 0
    assert "passed over" in publish("orders.csv", "--key", "id").stdout
    assert sorted(row["id"] for row in rows()) == ["000", "001", "002", "003"]


def test_standard_input_is_a_file_of_a_named_source(place: Path) -> None:
    words = ("-", "--format", "jsonl", "--key", "id", "--source", "log")
    data = b'{"id": 1, "v": "a"}\n'
    assert publish(*words, "--position", "7", stdin=data).exit_code == 0
    assert publish(*words, "--position", "7", stdin=data).exit_code == 0
    assert publish(*words, "--position", "8", stdin=b'{"id": 1, "v": "b"}\n').exit_code == 0
    assert rows() == [{"id": 1, "v": "b"}]
    assert len(list(Path("LandingZone/dbo.schema/orders").glob("0*.parquet"))) == 2


@pytest.mark.parametrize(
    "words",
    [
        ("orders.csv", "--snapshot"),
        ("orders.csv", "--key", "id", "--snapshot", "--mode", "insert"),
        ("orders.csv", "--rebase"),
        ("orders.csv", "--mode", "merge"),
        ("orders.csv", "--format", "xlsx"),
        ("orders.csv", "--type", "id"),
        ("orders.csv", "--type", "id=number"),
        ("orders.csv", "--separator", ";;"),
        ("orders.csv", "--source", "s"),
        ("orders.csv", "--to", "Nowhere"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_touches_nothing(
    place: Path, words: tuple[str, ...]
) -> None:
    given = ("publish", *words, *(() if "--to" in words else ("--to", "LandingZone")))
    result = CliRunner().invoke(app, [*given, "--table", "t"])
    assert result.exit_code == 2, result.output
    assert not (place / "Nowhere").exists()
    assert list((place / "LandingZone").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv",), "missing.csv: there is no such file"),
        (("orders.csv", "--type", "amount=long"), "--type names 'amount', which no input has"),
        (("orders.csv", "--key", "nr"), "nr"),
        (("orders.csv", "--key", "nr", "--snapshot"), "no column 'nr'"),
    ],
)
def test_a_refusal_is_one_message_and_nothing_is_published(
    place: Path, words: tuple[str, ...], message: str
) -> None:
    refused = publish(*words)
    assert refused.exit_code == 1
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert list((place / "LandingZone").rglob("[0-9]*.parquet")) == []


def test_the_commands_of_the_page_for_publishers_do_what_it_says(place: Path) -> None:
    (place / "exports").mkdir()
    (place / "exports" / "day1.csv").write_text("at;what\n2026-11-22;start\n")
    (place / "customers.csv").write_text(FIRST)
    stdin = b'{"id": 1, "what": "start"}\n'
    ran = 0
    for body in re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for simple in simple_commands(body):
            if list(simple.words[:2]) == ["openmirror", "publish"]:
                result = CliRunner().invoke(app, simple.words[1:], input=stdin)
                assert result.exit_code == 0, (simple.words, result.output)
                ran += 1
    assert ran >= 5
    tables = {path.parent.name for path in (place / "LandingZone").rglob("0*.parquet")}
    assert tables == {"orders", "events", "customers", "log"}
