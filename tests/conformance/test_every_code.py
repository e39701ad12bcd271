"""Every code of OPERATIONS.md comes of real bytes, names the culprit, and ends by its remedy.

All breaches lie in one root, a mirror each, which is drained three times: while all is well, once
something is broken, and once it was mended as the documents say. Spark drains those that its rows
or its commits have a part in, and in the soak all; the others are found before rows come to it, and
the engine that keeps rows by definition drains them (test_bad_input takes many through Spark, too).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deltalog import LogReplay
from openmirror.errors import SOLUTIONS
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ports import TableEngine, no_steps
from openmirror.progress.union import discard
from openmirror.protocol.rules import WARNINGS, Code
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.conformance.breaches import BREACHES, Breach, Scene
from tests.conformance.reference_engine import ReferenceEngine
from tests.zone import NO_WAITS, Mirror, Zone, read_delta

OPERATIONS = Path(__file__).parent.parent.parent / "docs" / "OPERATIONS.md"


@dataclass(frozen=True)
class Observation:
    """What `status --json` and a reader saw of one breach."""

    tables: list[dict[str, Any]]
    ids: tuple[int | str, ...]
    mirrors: list[dict[str, Any]]

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [t["openmirror"]["problem"] for t in self.tables if t["openmirror"]["problem"]]

    @property
    def warnings(self) -> list[dict[str, Any]]:
        of_tables = [table["openmirror"]["warnings"] for table in self.tables]
        of_mirrors = [mirror["warnings"] for mirror in self.mirrors]
        return [warning for found in (*of_tables, *of_mirrors) for warning in found]


IN_SPARK = (
    Code.KEY_COLUMNS_UNDECLARED,
    Code.ROW_MARKER_INVALID,
    Code.NO_ROW_TO_UPDATE,
    Code.APPLY_FAILED,
    Code.RESEED_INCOMPLETE,
    Code.TABLE_LOG_BROKEN,
    Code.TABLE_LOST,
    Code.OVERWRITE_IGNORED,
    Code.TABLE_SETTING_UNMET,
    Code.FRACTIONS_TRUNCATED,
)
"""Codes that come of what Spark reads or commits, or end by another kind of commit."""

IdsOf = Callable[[Path], Iterable[int | str]]
"""The ids in a table at this path; raises where there is none that can be read."""


class Story:
    """One root, and how each drain left every breach."""

    def __init__(
        self, ports: RootPorts, engine: TableEngine, root: Path, ids: IdsOf, breaches: list[Breach]
    ) -> None:
        self._ports = ports
        self._engine = engine
        self._root = root
        self._ids = ids
        self._breaches = breaches
        scenes = [(breach, Scene(ports, root, _name(breach))) for breach in breaches]
        for breach, scene in scenes:
            breach.before(scene)
        self._drain()
        for breach, scene in scenes:
            breach.breaks(scene)
        self._drain()
        self.broken = {b.code: self._seen(b, b.folder, b.stays) for b in breaches}
        for breach, scene in scenes:
            breach.remedy(scene)
        self._drain()
        self.mended = {b.code: self._seen(b, b.then_in, b.then) for b in breaches}

    def _drain(self) -> None:
        drain(self._ports, self._engine, [_name(breach) for breach in self._breaches], workers=4)

    def _seen(self, breach: Breach, folder: str, ids: tuple[int | str, ...]) -> Observation:
        words = ["status", "--json", "--root", str(self._root), "--mirror", _name(breach)]
        env = {"OPENMIRROR_METADATA_GRACE": "0"}
        shown = CliRunner().invoke(app, words, env=env)
        assert shown.exit_code == 0, shown.output
        table = self._root / "lake" / _name(breach) / "Tables" / "dbo" / folder.split("/")[-1]
        printed = json.loads(shown.stdout)
        return Observation(
            printed["data"],
            tuple(sorted(self._ids(table))) if ids else _none(table),
            printed["mirrors"],
        )


def _name(breach: Breach) -> str:
    """What its mirror is called."""
    return breach.code.value


def _in_delta(table: Path) -> list[int | str]:
    return [row["id"] for row in read_delta(table)]


def _none(table: Path) -> tuple[int | str, ...]:
    with pytest.raises((DeltaError, TableNotFoundError)):
        read_delta(table)
    return ()


def _drained_by_definition(root: Path, breaches: list[Breach]) -> Story:
    """By the engine that keeps rows itself; a table that it did not make is read from disk."""
    store = LocalStore(root)
    logs = LogReplay(store)
    ports = RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=logs,
        clock=lambda: datetime.now(UTC),
        limits=NO_WAITS,
        steps=no_steps,
        emit=discard,
    )
    engine = ReferenceEngine(store)

    def ids(table: Path) -> list[int | str]:
        log = logs.read(StorePath(table.relative_to(root).as_posix()))
        assert isinstance(log, TableLog)
        return [row["id"] for row in engine.rows(log)] if log.owners else _in_delta(table)

    return Story(ports, engine, root, ids, breaches)


def _drained_by_spark(root: Path, spark: SparkSession, breaches: list[Breach]) -> Story:
    zone = Zone(root)
    zone.landing.mkdir(parents=True)
    runner = Mirror(zone, spark)
    return Story(runner.ports, runner.engine, root, _in_delta, breaches)


SPARKS = [breach for breach in BREACHES if breach.code in IN_SPARK]
OTHERS = [breach for breach in BREACHES if breach.code not in IN_SPARK]


@pytest.fixture(scope="module")
def by_definition(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return _drained_by_definition(tmp_path_factory.mktemp("codes") / "root", OTHERS)


@pytest.fixture(scope="module")
def by_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Story:
    return _drained_by_spark(tmp_path_factory.mktemp("codes") / "root", spark, SPARKS)


def test_every_code_has_its_breach() -> None:
    assert {breach.code for breach in BREACHES} == set(Code)


@pytest.mark.parametrize("code", Code)
def test_every_code_has_its_row_in_operations_with_the_remedy(code: Code) -> None:
    text = OPERATIONS.read_text(encoding="utf-8").replace("`", "")
    row = next((line for line in text.splitlines() if line.startswith(f"| {code.value} |")), None)
    assert row, f"OPERATIONS.md says nothing of {code}"
    assert SOLUTIONS[code].replace("`", "")[:40] in row


@pytest.mark.parametrize("breach", OTHERS, ids=_name)
def test_every_code_says_whom_and_what_to_do_and_its_documented_remedy_ends_it(
    breach: Breach, by_definition: Story
) -> None:
    _is_shown_and_mended(breach, by_definition)


@pytest.mark.parametrize("breach", SPARKS, ids=_name)
def test_so_does_every_code_that_comes_of_what_spark_does(breach: Breach, by_spark: Story) -> None:
    _is_shown_and_mended(breach, by_spark)


@pytest.mark.soak
def test_so_does_every_code_where_spark_drains_all(tmp_path: Path, spark: SparkSession) -> None:
    story = _drained_by_spark(tmp_path / "root", spark, BREACHES)
    for breach in BREACHES:
        _is_shown_and_mended(breach, story)


def _is_shown_and_mended(breach: Breach, story: Story) -> None:
    broken, mended = story.broken[breach.code], story.mended[breach.code]
    if breach.code in WARNINGS:
        _warns_and_stops_nothing(breach, broken)
    else:
        _stops_its_table(breach, broken)
    assert broken.ids == breach.stays
    assert not mended.problems
    codes = [warning["code"] for warning in mended.warnings]
    assert (breach.code.value in codes) is (breach.code in WARNINGS and not breach.ends)
    assert mended.ids == breach.then


def _stops_its_table(breach: Breach, seen: Observation) -> None:
    (problem,) = seen.problems
    assert (problem["code"], problem["file"]) == (breach.code.value, breach.file)
    assert breach.names in problem["detail"]
    assert problem["solution"] == SOLUTIONS[breach.code]
    (failed,) = (table for table in seen.tables if table["status"] == "Failed")
    assert failed["error"]["errorCode"] == breach.code.value


def _warns_and_stops_nothing(breach: Breach, seen: Observation) -> None:
    (warning,) = seen.warnings
    assert (warning["code"], warning["file"]) == (breach.code.value, breach.warned_of)
    assert breach.names in warning["detail"]
    assert warning["solution"] == SOLUTIONS[breach.code]
    assert not seen.problems
