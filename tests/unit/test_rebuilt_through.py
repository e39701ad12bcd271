"""`reseed --through`: a table is as it was after a file and held there, whatever comes between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from openmirror.errors import Malformed, WrongRequest
from openmirror.operate import requests
from openmirror.operate.http_verbs import Ask, Verb, operate
from openmirror.plan.decisions import Held, Idle, Pause, Wait
from openmirror.ports import Step, Steps
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.status import table_status
from openmirror.table import layout
from openmirror.table.layout import join
from tests.harness.command_line import Root
from tests.harness.publishing import file_name, table
from tests.harness.world import NO_GRACE, World

T = table("m", "T")
ME = requests.Operator("ann", "before the return")


class Died(BaseException):
    """What nobody in a process hears of."""


def dies_at(wanted: Step) -> Steps:
    def steps(step: Step) -> None:
        if step is wanted:
            raise Died(step)

    return steps


class Rebuilding(World):
    """A table of five files, applied by batches of two."""

    def __init__(self) -> None:
        super().__init__(replace(NO_GRACE, batch_files=2))
        self.land(T, *range(1, 6))
        assert isinstance(self.reconcile_until_idle(T), Idle)

    def rebuild(self, through: int) -> None:
        requests.reseed(self.ports, T, ME, Sequence(through))

    def stands(self) -> tuple[str, int]:
        return type(self.reconcile_until_idle(T)).__name__, self.applied(T)

    def warned(self) -> list[str]:
        observed = observe(self.ports, T).observed
        found = table_status(observed, self.decision(T)).warnings
        return [f"{one.code}: {one.detail}" for one in found]

    def dies(self, step: Step) -> bool:
        """Whether a runner comes to this step, and dies there."""
        try:
            reconcile_until_idle(self.process(steps=dies_at(step)), self.engine, T)
        except Died:
            return True
        return False

    def read(self) -> list[int]:
        """Every file that was read since this was asked last."""
        found = [file.sequence for batch in self.engine.batches for file in batch.files]
        self.engine.batches.clear()
        return found


@pytest.fixture
def world() -> Rebuilding:
    made = Rebuilding()
    made.read()
    return made


@pytest.mark.parametrize("through", [1, 2, 3, 5])
def test_a_table_is_rebuilt_through_a_file_held_there_and_goes_on_when_it_is_resumed(
    world: Rebuilding, through: int
) -> None:
    world.rebuild(through)
    assert world.stands() == ("Held", through)
    assert world.read() == list(range(1, through + 1))
    hold = world.control(T).hold
    assert hold is not None
    assert (hold.by, hold.why) == ("ann", f"rebuilt through {through}: before the return")
    world.land(T, 6)
    assert world.stands() == ("Held", through)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Idle", 6)
    assert world.read() == list(range(through + 1, 7))


STEPS = [Step.DECIDED, Step.FENCED, Step.BEFORE_COMMIT, Step.COMMITTED]


@pytest.mark.parametrize("through", [2, 3])
@pytest.mark.parametrize("step", STEPS)
def test_a_runner_that_dies_on_the_way_leaves_the_next_one_to_stop_there(
    world: Rebuilding, step: Step, through: int
) -> None:
    world.rebuild(through)
    while world.dies(step):
        world.reconcile(T)
    assert world.stands() == ("Held", through)


def test_whoever_observes_the_table_before_its_hold_is_written_sees_that_it_is_held(
    world: Rebuilding,
) -> None:
    world.rebuild(2)
    assert world.dies(Step.COMMITTED)
    assert world.applied(T) == 2
    assert world.control(T).hold is None
    assert isinstance(world.decision(T), Held)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)


def test_nothing_goes_on_between_the_request_and_the_rebuilt_table(world: Rebuilding) -> None:
    world.land(T, 6)
    world.rebuild(3)
    assert world.stands() == ("Held", 3)
    assert world.read() == [1, 2, 3]


def test_status_says_what_is_asked_for_on_the_way_and_there(world: Rebuilding) -> None:
    world.rebuild(3)
    assert any("reseed through 3 asked for" in text for text in world.warned())
    world.reconcile(T)
    assert world.applied(T) == 2
    assert any("being rebuilt through 3" in text for text in world.warned())
    world.reconcile_until_idle(T)
    assert any("rebuilt through 3: before the return" in text for text in world.warned())


def test_a_pause_on_the_way_does_not_take_the_stop_away(world: Rebuilding) -> None:
    world.rebuild(3)
    world.reconcile(T)
    requests.hold(world.ports, T, ME)
    assert world.stands() == ("Held", 2)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Held", 3)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)


def test_a_pause_at_the_stop_is_ended_by_one_resume(world: Rebuilding) -> None:
    world.rebuild(2)
    assert world.dies(Step.COMMITTED)
    requests.hold(world.ports, T, ME)
    assert world.stands() == ("Held", 2)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)


def test_a_reseed_of_all_takes_the_stop_away_and_another_one_moves_it(world: Rebuilding) -> None:
    world.rebuild(2)
    requests.reseed(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)
    world.rebuild(2)
    assert world.stands() == ("Held", 2)
    # Numbers that the table had before count, though it stands before them now.
    world.rebuild(4)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Held", 4)


def test_another_request_gives_the_stop_up_with_the_reseed(world: Rebuilding) -> None:
    world.rebuild(2)
    requests.adopt(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)


def test_what_was_archived_is_read_and_kept_as_long_as_the_table_is_held(
    world: Rebuilding,
) -> None:
    clean_table(world.ports, T)
    world.rebuild(3)
    assert world.stands() == ("Held", 3)
    for days in (1, 30):
        world.clock.turn(timedelta(days=days))
        assert not clean_table(world.ports, T)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Idle", 5)


def test_what_was_purged_is_named_with_the_remedy(world: Rebuilding) -> None:
    clean_table(world.ports, T)
    world.store.delete_file(join(layout.archive_folder(T), file_name(2)))
    with pytest.raises(WrongRequest, match=rf"{file_name(2)[:-8]} is neither.*skip --through"):
        world.rebuild(3)
    world.rebuild(1)
    assert world.stands() == ("Held", 1)


def test_a_file_that_goes_after_the_request_pauses_the_table_over_it(world: Rebuilding) -> None:
    world.rebuild(3)
    world.store.delete_file(join(layout.table_folder(T), file_name(2)))
    decision = world.reconcile_until_idle(T)
    assert isinstance(decision, Pause)
    assert decision.problem.code is Code.RESEED_INCOMPLETE
    assert world.applied(T) == 5, "the old table stays as it is"


def test_numbers_that_were_given_up_are_not_waited_for(world: Rebuilding) -> None:
    world.land(T, 9)
    requests.skip_through(world.ports, T, Through.parse("8"), ME)
    assert world.stands() == ("Idle", 9)
    world.rebuild(7)
    assert world.stands() == ("Held", 5)


def test_a_folder_that_is_made_again_has_no_stop(world: Rebuilding) -> None:
    world.rebuild(2)
    world.delete_folder(T)
    world.land(T, 1, 2, 3)
    assert world.stands() == ("Idle", 3)


@pytest.mark.parametrize("through", [6, 2**62])
def test_what_the_table_never_was_is_refused(world: Rebuilding, through: int) -> None:
    world.land(T, 6)
    with pytest.raises(WrongRequest, match="it is applied up to 5"):
        world.rebuild(through)
    assert world.control(T).request is None


def test_a_table_of_which_nothing_is_applied_cannot_be_rebuilt() -> None:
    world = World(NO_GRACE)
    world.land(T, 1)
    with pytest.raises(WrongRequest, match="nothing of its folder is applied"):
        requests.reseed(world.ports, T, ME, Sequence(1))


def test_a_table_that_was_skipped_so_far_cannot_be_rebuilt() -> None:
    world = World(NO_GRACE)
    world.land(T, 3)
    assert isinstance(world.reconcile_until_idle(T), Wait)
    requests.skip_through(world.ports, T, Through.parse("2"), ME)
    world.reconcile_until_idle(T)
    with pytest.raises(WrongRequest, match="all of it was skipped"):
        requests.reseed(world.ports, T, ME, Sequence(2))


def asked(world: Rebuilding, through: Any) -> None:
    operate(world.ports, Verb.RESEED, Ask(table="dbo.T", through=through), ME)


def test_it_is_asked_over_http_with_a_number_or_its_text(world: Rebuilding) -> None:
    asked(world, "2")
    assert world.stands() == ("Held", 2)
    asked(world, 3)
    requests.resume(world.ports, T, ME)
    assert world.stands() == ("Held", 3)
    for wrong in ("0", "-1", "two", "Year=2024/2"):
        with pytest.raises(Malformed, match="through"):
            asked(world, wrong)


def test_it_is_asked_by_a_command(root: Root) -> None:
    root.land(T, 1, 2, 3)
    root.run("drain")
    assert root.run("reseed", "dbo.T", "--through", "0").exit_code == 2
    done = root.run("reseed", "dbo.T", "--through", "2", "--why", "audit")
    assert "will be rebuilt through 2, and held there" in " ".join(done.stderr.split())
    root.run("drain")
    status = root.table_status("T")
    assert status["openmirror"]["appliedSequence"] == "2"
    acts = [line["what"] for line in root.history("dbo.T") if line["event"] == "act"]
    assert acts == ["reseed --through 2"]
