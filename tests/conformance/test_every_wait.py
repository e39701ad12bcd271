"""Every wait of OPERATIONS.md comes of real bytes, is shown, and ends as the documents say.

What is applied is only written into the books here: a wait is over before Spark has to be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate import requests
from openmirror.plan import Decision, Limits
from openmirror.plan.decisions import Idle, Wait, WaitKind
from openmirror.ports import no_steps
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.isolation import UnreadableTable, reconcile_isolated
from openmirror.status import leaves_undone
from tests.conformance.breaches import ME, TABLE, Deed, Scene, first, nothing
from tests.harness.clock import Clock
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name
from tests.zone import MIRROR, AheadStore

OPERATIONS = Path(__file__).parent.parent.parent / "docs" / "OPERATIONS.md"


_MINUTE = timedelta(minutes=1)
_PATIENT = Limits(metadata_grace=_MINUTE, quiet_period=_MINUTE, drop_grace=_MINUTE)
"""However slow the machine, no wait ends before it was seen."""


@dataclass
class Stage:
    """One mirror with a clock that tests may push, and a runner that only keeps the books."""

    root: Path
    clock: Clock = field(default_factory=lambda: Clock(None))

    def __post_init__(self) -> None:
        store = AheadStore(self.root, no_steps, self.clock)
        inspector = ChangeFileInspector(store)
        self.ports = RootPorts(
            store=store,
            inspector=inspector,
            logs=LogReplay(store),
            clock=self.clock,
            limits=_PATIENT,
        )
        self.scene = Scene(self.ports, self.root, MIRROR)
        self.scene.zone.mkdir(parents=True)
        open_mirror(store, MIRROR)
        self._engine = PaperEngine(store)

    def reconcile_until_idle(self) -> Decision | UnreadableTable | None:
        """Every table is reconciled until nothing is left to do; what became of the first one."""
        outcomes: dict[TableFolder, Decision | UnreadableTable] = {}
        for folder in discover(self.ports.store, MIRROR):
            again = True
            while again:
                done = reconcile_isolated(self.ports, self._engine, folder)
                again, outcomes[folder] = done.reschedule, done.outcome
        return outcomes.get(self.scene.table)


@dataclass(frozen=True, kw_only=True)
class Case:
    """How one wait comes to be, and how it ends."""

    kind: WaitKind
    begins: Callable[[Stage], object]
    ends: Callable[[Stage], object]
    before: Deed = first
    names: dict[str, str] = field(default_factory=dict)
    """What `waitingFor` says besides kind and times."""
    ends_by_itself: bool = False
    counts: bool = True
    """Whether `drain` ends with exit code 3 because of it."""
    applied: str = "2"


_AWAY = "_away"


def _minutes_pass(stage: Stage) -> None:
    stage.clock.turn(timedelta(minutes=2))


def _text(scene: Scene) -> None:
    scene.metadata({"FileFormat": "CSV", "keyColumns": ["id"]})
    scene.bytes(f"{1:020d}.csv", b"id,v\r\n1,x\r\n")


def _five_tables(scene: Scene) -> None:
    for folder in (TABLE, "u", "v", "w", "x"):
        scene.rows(1, 1, folder=folder)
        scene.metadata({"keyColumns": ["id"]}, folder=folder)


def _four_go(stage: Stage) -> None:
    for folder in (TABLE, "u", "v", "w"):
        (stage.scene.zone / folder).rename(stage.scene.zone / f"_{folder}")
    stage.reconcile_until_idle()
    _minutes_pass(stage)


CASES = [
    Case(
        kind=WaitKind.GAP,
        begins=lambda stage: stage.scene.rows(3, 3),
        names={"sequence": "2"},
        ends=lambda stage: stage.scene.rows(2, 2),
        applied="3",
    ),
    Case(
        kind=WaitKind.INCOMPLETE,
        begins=lambda stage: stage.scene.bytes(file_name(2), b""),
        names={"sequence": "2", "file": file_name(2)},
        ends=lambda stage: stage.scene.rows(2, 2),
        ends_by_itself=True,
    ),
    Case(
        kind=WaitKind.QUIET_PERIOD,
        before=nothing,
        begins=lambda stage: _text(stage.scene),
        names={"sequence": "1", "file": f"{1:020d}.csv"},
        ends=_minutes_pass,
        ends_by_itself=True,
        applied="1",
    ),
    Case(
        kind=WaitKind.METADATA,
        before=nothing,
        begins=lambda stage: stage.scene.rows(1, 1),
        ends=lambda stage: stage.scene.metadata({"keyColumns": ["id"]}),
        ends_by_itself=True,
        applied="1",
    ),
    Case(
        kind=WaitKind.SCHEMA,
        before=lambda scene: scene.metadata({}),
        begins=lambda stage: stage.scene.put(1, pa.table({"id": pa.nulls(1)})),
        ends=lambda stage: stage.scene.rows(2, 2),
        counts=False,
    ),
    Case(
        kind=WaitKind.GRACE,
        begins=lambda stage: stage.scene.folder.rename(stage.scene.zone / _AWAY),
        ends=lambda stage: (stage.scene.zone / _AWAY).rename(stage.scene.folder),
        ends_by_itself=True,
        counts=False,
        applied="1",
    ),
    Case(
        kind=WaitKind.CONFIRMATION,
        before=_five_tables,
        begins=_four_go,
        ends=lambda stage: requests.confirm_drops(stage.ports, MIRROR, ME),
        applied="1",
    ),
]


def test_every_wait_has_its_case() -> None:
    assert {case.kind for case in CASES} == set(WaitKind)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.value)
def test_a_wait_is_shown_and_ends_as_operations_says(case: Case, tmp_path: Path) -> None:
    stage = Stage(tmp_path / "root")
    case.before(stage.scene)
    stage.reconcile_until_idle()
    case.begins(stage)
    waits = stage.reconcile_until_idle()
    assert isinstance(waits, Wait)
    assert waits.waiting.kind is case.kind
    assert (waits.waiting.until is not None) is case.ends_by_itself
    assert waits.waiting.detail
    assert leaves_undone(waits) is case.counts
    shown = _shown(stage)
    assert (shown["kind"], shown["since"] <= shown.get("until", "9")) == (case.kind.value, True)
    assert {key: shown[key] for key in shown if key in ("sequence", "file")} == case.names
    row = next(
        line
        for line in OPERATIONS.read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| `{case.kind.value}` |")
    )
    assert row.rstrip("| ").count(" | ") == 3, "its row says what, whether it ends, what to do"

    case.ends(stage)
    assert isinstance(stage.reconcile_until_idle(), Idle)
    assert _entry(stage)["openmirror"]["waitingFor"] is None
    assert _entry(stage)["openmirror"]["appliedSequence"] == case.applied


def _entry(stage: Stage) -> dict[str, Any]:
    # What only the test's clock has brought about is not there yet for a process with its own.
    grace = "0" if stage.clock.ahead else "1h"
    names = ("OPENMIRROR_METADATA_GRACE", "OPENMIRROR_QUIET_PERIOD", "OPENMIRROR_DROP_GRACE")
    env = dict(zip(names, ("1h", "1h", grace), strict=True))
    shown = CliRunner().invoke(app, ["status", "--json", "--root", str(stage.root)], env=env)
    assert shown.exit_code == 0, shown.output
    tables = json.loads(shown.stdout)["data"]
    return next(table for table in tables if table["sourceTableName"] == TABLE)


def _shown(stage: Stage) -> dict[str, Any]:
    waiting = _entry(stage)["openmirror"]["waitingFor"]
    assert waiting
    return waiting
