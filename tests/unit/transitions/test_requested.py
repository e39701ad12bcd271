"""What an operator's word does to the document at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from openmirror.plan.transitions.history import MOST_ACTS, MOST_ENDED, with_act, with_end
from openmirror.plan.transitions.requested import (
    acted,
    asked,
    given_up,
    held,
    resumed,
    retried,
    skipped,
)
from openmirror.protocol.names import ETag
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import Act, Ended, Failures, Hold, Request, RequestKind, Skip
from tests.unit.transitions.values import (
    ACT,
    BEFORE,
    NOW,
    PARTITIONED,
    applied,
    batch,
    control,
    file,
    log,
    manifest,
    observed,
    problem,
    record,
)

FAILURES = Failures(2, (manifest(3),), BEFORE, "error")
STOPPED = control(applied=applied(2), problem=problem(), failures=FAILURES)


def test_a_hold_says_who_and_why_and_a_resume_lets_go() -> None:
    after = held(control(), ACT)
    assert after == control(hold=Hold(NOW, "ann", "because"))
    assert resumed(after) == control()


def test_a_hold_leaves_the_problem_that_is_there() -> None:
    assert held(STOPPED, ACT) == replace(STOPPED, hold=Hold(NOW, "ann", "because"))


def test_a_retry_forgets_the_problem_and_how_often_it_failed() -> None:
    assert retried(STOPPED) == control(applied=applied(2))


@pytest.mark.parametrize("kind", RequestKind)
def test_a_request_stays_until_it_is_done_and_takes_the_place_of_another(kind: RequestKind) -> None:
    before = control(request=Request(RequestKind.ADOPT, BEFORE, "bob"))
    assert asked(before, kind, ACT) == control(request=Request(kind, NOW, "ann", "because"))


def test_a_file_that_was_not_applied_is_passed_over_as_it_is_now() -> None:
    after = skipped(observed(STOPPED, file(3), log=log(2)), record(), file(3), ACT)
    skip = Skip(
        first=Sequence(3), last=Sequence(3), by="ann", at=NOW, why="because", etag=ETag("e3")
    )
    assert after == control(applied=applied(2), record=record(skips=(skip,)))
    assert after.record is not None
    assert after.record.skipped(Sequence(3), ETag("e3")) == skip
    assert after.record.skipped(Sequence(3), ETag("replaced")) is None


def test_a_file_of_a_ledger_is_passed_over_by_its_name() -> None:
    bad = file(3, called="A=1/x.parquet", partition="A=1")
    after = skipped(observed(STOPPED, bad, log=log(2), naming=PARTITIONED), record(), bad, ACT)
    assert after.record is not None
    assert after.record.skipped_file(bad.name, bad.etag) is not None
    assert after.record.skipped(Sequence(3), bad.etag) is None, "its number may become another's"


def test_of_an_applied_file_the_present_content_is_taken_for_the_one_that_was_read() -> None:
    known = record(batches=(batch(1, 2), batch(3, 3)))
    document = replace(STOPPED, record=known)
    after = skipped(observed(document, file(2, "new"), log=log(2)), known, file(2, "new"), ACT)
    accepted = batch(1, 2, files=[manifest(1), manifest(2, "new")])
    expected = record(batches=(accepted, batch(3, 3)), overwritten_through=Position(2))
    assert after == control(applied=applied(2), record=expected)


def test_numbers_are_given_up_from_the_first_on_and_only_while_they_are_missing() -> None:
    after = given_up(STOPPED, record(), Through(Sequence(5)), ACT)
    assert after.record is not None
    assert (after.problem, after.failures) == (None, FAILURES)
    assert [after.record.skipped(Sequence(n), None) is not None for n in (1, 5, 6)] == [
        True,
        True,
        False,
    ]
    assert after.record.skipped(Sequence(3), ETag("there")) is None


def test_numbers_of_a_partition_are_given_up_in_it_alone() -> None:
    after = given_up(control(), record(), Through(Sequence(5), "A=1"), ACT)
    assert after.record is not None
    assert after.record.skipped(Sequence(2), None, "A=1") is not None
    assert after.record.skipped(Sequence(2), None, "B=1") is None


def test_a_skip_leaves_those_before_it() -> None:
    first = given_up(control(), record(), Through(Sequence(5)), ACT).record
    assert first is not None
    second = given_up(control(record=first), first, Through(Sequence(9)), ACT).record
    assert second is not None
    assert [skip.last for skip in second.skips] == [5, 9]


def test_an_act_stands_in_the_history_with_the_problem_that_it_ended() -> None:
    after = acted(STOPPED, retried(STOPPED), ACT)
    assert after.acts == (ACT,)
    assert after.ended == (Ended(problem(), NOW, "an act, by ann"),)


@pytest.mark.parametrize("before", [control(), STOPPED], ids=["none there", "it is still there"])
def test_an_act_that_ended_no_problem_ends_none_in_the_history(before: object) -> None:
    after = acted(before, before, ACT)  # type: ignore[arg-type]
    assert (after.acts, after.ended) == ((ACT,), ())


def test_the_history_keeps_the_newest() -> None:
    document = control()
    for number in range(MOST_ACTS + 3):
        document = with_act(document, Act(NOW, "ann", str(number)))
        document = with_end(document, problem(), NOW + timedelta(seconds=number), "over")
    assert [act.what for act in document.acts] == [str(n) for n in range(3, MOST_ACTS + 3)]
    assert len(document.ended) == MOST_ENDED
    assert document.ended[-1].at == NOW + timedelta(seconds=MOST_ACTS + 2)
