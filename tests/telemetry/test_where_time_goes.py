"""Each commit says where its time went: in its event, in telemetry and in history."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from openmirror.cli.event_lines import committed
from openmirror.cli.history_lines import history_json, history_lines
from openmirror.operate.report import history
from openmirror.ports import Step
from openmirror.ports.telemetry.table_operation import fields
from openmirror.progress.tables import BatchCommitted
from openmirror.reconcile.laps import Laps
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.table import layout
from openmirror.table.phases import Phase
from tests.harness.clock import Clock
from tests.harness.publishing import file_name
from tests.harness.stores import Call
from tests.telemetry.rig import ORDERS, Emitter, Heard

WAIT = 64.0
TOOK = {
    Phase.LIST: 1.0,
    Phase.INSPECT: 2.0,
    Phase.PLAN: 4.0,
    Phase.READ: 8.0,
    Phase.FOLD: 0.0,
    Phase.COMMIT: 32.0,
}
FOLDER = layout.table_folder(ORDERS)


@dataclass
class Slowly:
    """Lets a clock go on once in each phase, at the places where the phase is at work."""

    clock: Clock
    left: set[Phase] = field(default_factory=lambda: set(TOOK))

    def take(self, phase: Phase) -> None:
        if phase in self.left:
            self.left.remove(phase)
            self.clock.turn(timedelta(seconds=TOOK[phase]))

    def step(self, step: Step) -> None:
        if step is Step.OBSERVED:
            self.take(Phase.PLAN)
        if step is Step.BEFORE_COMMIT:
            self.take(Phase.COMMIT)

    def call(self, call: Call) -> None:
        if call.path == FOLDER and call.method == "list_folder":
            self.take(Phase.LIST)
        if call.path.startswith(f"{FOLDER}/{file_name(2)}") and call.method == "read":
            self.take(Phase.INSPECT)


@pytest.fixture
def world() -> Emitter:
    """A table whose second file was applied slowly."""
    made = Emitter()
    made.land(ORDERS, 1)
    made.run(made.process())
    made.land(ORDERS, 2)
    made.clock.turn(timedelta(seconds=WAIT))
    return made


def apply_slowly(world: Emitter, heard: Heard) -> BatchCommitted:
    slowly = Slowly(world.clock)
    world.watched.before = slowly.call
    world.reading = lambda batch: slowly.take(Phase.READ)
    reconcile_until_idle(world.process(heard, slowly.step), world.engine, ORDERS)
    assert slowly.left == {Phase.FOLD}
    (event,) = (one for one in world.reported[-1:] if isinstance(one, BatchCommitted))
    return event


def test_the_event_of_a_commit_has_every_phase_and_together_they_are_its_lag(
    world: Emitter,
) -> None:
    event = apply_slowly(world, Heard())
    assert event.phases == TOOK
    assert event.wait_seconds == WAIT
    assert event.lag_seconds == WAIT + sum(TOOK.values())
    assert committed(event).endswith(
        "(wait 64 s, list 1 s, inspect 2 s, plan 4 s, read 8 s, commit 32 s)"
    )


def test_telemetry_and_history_have_the_same_from_the_log_alone(world: Emitter) -> None:
    heard = Heard()
    apply_slowly(world, heard)
    sent = fields(heard.operations[-1])
    assert sent["WaitSeconds"] == WAIT
    assert {phase: sent[f"{phase.capitalize()}Seconds"] for phase in TOOK} == TOOK
    lines = history(world.process(), world.process().logs, ORDERS, 1)  # type: ignore[arg-type]
    (line,) = history_json(lines)["data"]  # type: ignore[misc]
    assert (line["waitSeconds"], line["seconds"]) == (WAIT, TOOK)
    assert next(iter(history_lines(lines))).endswith("read 8 s, commit 32 s)")


def test_no_second_is_lost_or_counted_twice() -> None:
    clock = Clock()
    laps = Laps(clock, lambda: clock().timestamp())
    clock.turn(timedelta(seconds=5))
    laps.end(Phase.READ, within={Phase.READ: 1.0, Phase.FOLD: 1.5})
    assert (laps.phases[Phase.READ], laps.phases[Phase.FOLD]) == (3.5, 1.5)
    clock.turn(timedelta(seconds=1))
    laps.end(Phase.COMMIT)
    laps.end(Phase.LIST)
    assert sum(laps.phases.values()) == 6
