"""The demo: its publisher's story, the independent computation, and both together for real."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.demo import checking, place
from openmirror.demo.expected import connect, expected
from openmirror.demo.form import OnThisMachine
from openmirror.demo.publisher import MIRROR
from openmirror.demo.publishing import DemoFailed, publishing
from openmirror.demo.run import run_demo
from openmirror.demo.scope import FAST, FULL, Scope
from openmirror.demo.source import KEYS, TABLES, Source, read_source
from openmirror.demo.story import Begin, Publish, story
from openmirror.errors import CannotStart
from openmirror.ports import TableEngine
from openmirror.protocol.names import ROW_MARKER_COLUMN, TableFolder, TablePath
from openmirror.protocol.rows import Change, ChangeFile, Marker, interpret
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.settings import Settings
from openmirror.wiring import local_ports
from tests.zone import bag

TINY = Scope(date(2013, 7, 31), date(2013, 8, 1), date(2013, 8, 4), seconds_per_day=0.3)


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source()


Published = Callable[[Scope], Mapping[str, list[pa.Table]]]


@pytest.fixture(scope="module")
def published(source: Source) -> Published:
    """The change files of each table's last incarnation; a year of them takes seconds, once."""
    return cache(partial(_published, source))


def _published(source: Source, scope: Scope) -> dict[str, list[pa.Table]]:
    files: dict[str, list[pa.Table]] = {}
    for action in story(source, scope):
        match action:
            case Begin(table):
                files[table] = []
            case Publish(table, rows):
                files[table].append(rows)
    return files


def as_change_file(rows: pa.Table) -> ChangeFile:
    columns = tuple(name for name in rows.column_names if name != ROW_MARKER_COLUMN)
    changes = []
    for row in rows.to_pylist():
        marker = Marker(row.pop(ROW_MARKER_COLUMN, Marker.INSERT))
        changes.append(Change(marker, row))
    return ChangeFile(columns, changes)


def wanted(source: Source, scope: Scope, table: str) -> pa.Table:
    return pa.table(connect(source).sql(expected(scope)[table]).to_arrow_table())


@pytest.mark.parametrize(
    "scope",
    [
        TINY,
        Scope(date(2013, 12, 28), date(2013, 12, 29), date(2013, 12, 31), 0),
        Scope(date(2013, 2, 27), date(2013, 2, 28), date(2013, 2, 28), 0),
    ],
    ids=["tiny", "end-of-year", "one-day"],
)
def test_the_published_files_in_order_give_what_is_true_of_the_flights(
    source: Source, published: Published, scope: Scope
) -> None:
    for table, files in published(scope).items():
        result = interpret(map(as_change_file, files), KEYS[table])
        assert bag(result.rows) == bag(wanted(source, scope, table).to_pylist()), table


def test_every_flight_of_the_year_passes_through_the_full_demo(published: Published) -> None:
    files = published(FULL)["flights"]
    history = [rows for rows in files if ROW_MARKER_COLUMN not in rows.column_names]
    assert files[: len(history)] == history, "initial loads come first"
    daily = pa.concat_tables(files[len(history) :])
    marked = Counter(daily[ROW_MARKER_COLUMN].to_pylist())
    assert sum(map(len, history)) + marked[Marker.INSERT] == 336_776
    assert marked[Marker.DELETE] == 8_255
    assert marked[Marker.UPDATE] > 250_000


@pytest.mark.parametrize("scope", [FULL, FAST, TINY], ids=["full", "fast", "tiny"])
def test_weather_gains_its_column_where_a_file_begins(published: Published, scope: Scope) -> None:
    for rows in published(scope)["weather"]:
        first = min(date(2013, row["month"], row["day"]) for row in rows.to_pylist())
        assert ("dewp_spread" in rows.column_names) == (first >= scope.spread_from)


@pytest.fixture
def right_tables(tmp_path: Path, source: Source) -> Path:
    """A root whose tables are right, written by neither Spark nor us."""
    for table in TABLES:
        path = checking.delta_path(tmp_path, MIRROR, table)
        path.parent.mkdir(parents=True, exist_ok=True)
        deltalake.write_deltalake(str(path), wanted(source, TINY, table))
    return tmp_path


def differences(root: Path, source: Source) -> dict[str, str]:
    found = checking.check(root, MIRROR, source, TINY)
    return {verdict.table: verdict.difference for verdict in found if verdict.difference}


def test_right_tables_are_called_right(right_tables: Path, source: Source) -> None:
    assert differences(right_tables, source) == {}


def test_a_row_that_was_applied_twice_is_noticed(right_tables: Path, source: Source) -> None:
    path = str(checking.delta_path(right_tables, MIRROR, "airlines"))
    deltalake.write_deltalake(path, source["airlines"].slice(0, 1), mode="append")
    assert differences(right_tables, source) == {
        "airlines": "0 rows are missing, 1 should not be there"
    }


def test_one_wrong_value_is_noticed(right_tables: Path, source: Source) -> None:
    flights = deltalake.DeltaTable(str(checking.delta_path(right_tables, MIRROR, "flights")))
    changed = flights.update(
        updates={"arr_delay": "arr_delay + 1"},
        predicate="carrier = 'B6' AND flight = 839 AND month = 8 AND day = 2",
    )
    assert changed["num_updated_rows"] == 1
    assert differences(right_tables, source) == {
        "flights": "1 rows are missing, 1 should not be there"
    }


def test_a_column_too_few_is_noticed(right_tables: Path, source: Source) -> None:
    rows = source["planes"].drop_columns(["seats"])
    path = str(checking.delta_path(right_tables, MIRROR, "planes"))
    deltalake.write_deltalake(path, rows, mode="overwrite", schema_mode="overwrite")
    found = differences(right_tables, source)
    assert found == {"planes": "column seats is missing and must be BIGINT"}


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "mine").write_text("precious")
    with pytest.raises(CannotStart, match="not from an earlier demo"):
        run_demo(tmp_path, TINY, Console(file=io.StringIO()), OnThisMachine())
    assert [path.name for path in tmp_path.rglob("*")] == ["landing", "mine"]


def test_the_folder_of_an_earlier_demo_is_emptied(tmp_path: Path) -> None:
    root = tmp_path / "new"
    for _ in range(2):
        place.claim(root)
        place.empty(root, MIRROR)
        assert not [path for path in root.rglob("*") if path.name == "old"]
        (root / "landing" / "old").write_text("")
        (root / "lake" / "old").mkdir(parents=True)


def test_a_publisher_that_breaks_is_reported(tmp_path: Path) -> None:
    def wait_for_its_end() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and not publisher.has_ended():
            time.sleep(0.05)

    heard: list[str] = []
    (tmp_path / "landing").write_text("no folder")
    with (
        publishing(str(tmp_path), TINY, heard.append) as publisher,
        pytest.raises(DemoFailed, match="landing"),
    ):
        wait_for_its_end()
    assert heard == []


def test_a_tiny_demo_ends_with_every_table_right(tmp_path: Path, spark: SparkSession) -> None:
    from openmirror.formats.conversion import FileConverter
    from openmirror.spark.engine import SparkEngine
    from openmirror.spark.places import local_spark_paths
    from openmirror.stores.local.store import LocalStore

    root = tmp_path / "a demo"
    airlines = TableFolder(MIRROR, TablePath("", "airlines"))
    engine = SparkEngine(spark, local_spark_paths(str(root)), FileConverter(LocalStore(root)))

    @contextmanager
    def shared_engine(settings: Settings) -> Iterator[TableEngine]:
        yield engine

    output = io.StringIO()
    console = Console(file=output, width=100, highlight=False)
    assert run_demo(root, TINY, console, OnThisMachine(shared_engine)) == 0, output.getvalue()
    shown = output.getvalue()
    assert shown.count("✔") == len(TABLES)
    assert "airports is re-created" in shown
    assert "Mirrored in" in shown

    status, history, by_hand, drain, up, pause, resume = next_steps(shown)
    for command in (status, history):
        assert openmirror(command).exit_code == 0
    subprocess.run(by_hand, check=True)
    assert json.loads(openmirror([*status, "--json"]).output)["data"][0]["openmirror"][
        "pendingFiles"
    ]
    assert drain[-3:] == ["drain", "--root", str(root)]
    assert up[-3:] == ["up", "--root", str(root)]
    reconcile_until_idle(local_ports(Settings(root=root)), engine, airlines)
    names = checking.query(root, MIRROR, "SELECT name FROM airlines", "airlines")
    assert "My Airline" in names["name"].to_pylist()
    for command in (pause, resume):
        assert openmirror(command).exit_code == 0


def next_steps(shown: str) -> list[list[str]]:
    """The commands that the demo suggests, as a shell would split them."""
    lines = shown.partition("Try next:")[2].splitlines()
    return [shlex.split(line) for line in lines if line.strip() and "#" not in line]


def openmirror(command: list[str]) -> Any:
    at = next(at for at, word in enumerate(command) if word.endswith("openmirror"))
    return CliRunner().invoke(app, command[at + 1 :])
