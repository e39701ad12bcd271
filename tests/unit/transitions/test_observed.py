"""What an observation teaches the control document: each rule by itself, then all in order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from openmirror.plan.decisions import Decision, Held, Idle, Pause, Wait, Waiting, WaitKind
from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.observed import (
    Planned,
    applied_caught_up,
    folder_came_back,
    folder_went_missing,
    learned_from,
    problem_began,
    problem_ended,
    undrop_came_too_late,
    undrop_carried_out,
)
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position
from openmirror.table.control import (
    Applied,
    ControlDocument,
    Ended,
    Failures,
    Hold,
    Request,
    RequestKind,
)
from openmirror.table.log import BrokenLog, TableLog, Totals
from tests.unit.transitions.values import (
    BEFORE,
    NOW,
    OTHER_INCARNATION,
    PATH,
    app,
    applied,
    batch_record,
    control,
    file,
    log,
    manifest,
    observed,
    problem,
)

FAILURES = Failures(2, (manifest(1),), BEFORE, "error")
UNDROP = Request(RequestKind.UNDROP, BEFORE, "ann")
RESEED = Request(RequestKind.RESEED, BEFORE, "ann")
HOLD = Hold(NOW, "ann", "brought back by undrop")
GRACE = Wait(Waiting(kind=WaitKind.GRACE, since=BEFORE, detail="the landing folder is gone"))
GAP = Wait(Waiting(kind=WaitKind.GAP, since=BEFORE, detail="2 is missing"))


def seen(at: ObservedState, decision: Decision | None = None) -> Planned:
    return Planned(at, decision or Idle())


@pytest.mark.parametrize(
    ("known", "found", "position"),
    [
        pytest.param(None, log(2), 2, id="the first commit is copied"),
        pytest.param(applied(1), log(2), 2, id="a later commit is copied"),
        pytest.param(applied(9), log(2, number=2), 2, id="another epoch is copied, however low"),
        pytest.param(applied(2), log(2), None, id="what is known teaches nothing"),
        pytest.param(applied(3), log(2), None, id="an older state of the log lowers nothing"),
        pytest.param(applied(2), log(None), None, id="a fenced log leaves the copy"),
        pytest.param(applied(2), None, None, id="a table that is gone leaves the copy"),
        pytest.param(applied(2), BrokenLog(PATH, "cut"), None, id="a broken log says nothing"),
    ],
)
def test_the_copy_of_what_is_applied_follows_the_log(
    known: Applied | None, found: TableLog | BrokenLog | None, position: int | None
) -> None:
    document = control(applied=known, failures=FAILURES)
    after = applied_caught_up(document, seen(observed(document, log=found)))
    if position is None:
        assert after == document
    else:
        assert after.applied is not None
        assert isinstance(found, TableLog)
        assert found.live
        assert (after.applied.app_id, after.applied.position) == (found.live[0].app_id, position)
        assert after.failures is None, "failures before a commit do not count any more"


@pytest.mark.parametrize(
    ("known", "with_note", "totals", "at"),
    [
        (applied(1), True, Totals(7, 70), NOW),
        (applied(1), False, Totals(4, 40), None),
        (None, False, Totals(), None),
    ],
    ids=["of the newest note", "as known, where no note is left", "none, where none is known"],
)
def test_totals_are(known: Applied | None, with_note: bool, totals: Totals, at: object) -> None:
    found = log(2, batch_record=batch_record(7) if with_note else None)
    after = applied_caught_up(control(applied=known), seen(observed(log=found)))
    assert after.applied == Applied(app(), Position(2), totals, at)  # type: ignore[arg-type]


def test_an_undrop_is_carried_out_where_the_plan_holds_the_table() -> None:
    after = undrop_carried_out(control(request=UNDROP), seen(observed(), Held(HOLD)))
    assert (after.hold, after.request) == (HOLD, None)


@pytest.mark.parametrize(
    ("document", "decision"),
    [
        pytest.param(control(request=UNDROP), Idle(), id="an undrop that has not been done"),
        pytest.param(control(request=RESEED), Held(HOLD), id="another request"),
        pytest.param(control(), Held(HOLD), id="a hold without a request"),
    ],
)
def test_no_undrop_is_carried_out_by(document: ControlDocument, decision: Decision) -> None:
    assert undrop_carried_out(document, seen(observed(document), decision)) == document


def test_an_undrop_ends_when_nothing_is_retained_any_more() -> None:
    after = undrop_came_too_late(control(request=UNDROP), seen(observed(incarnation=None)))
    assert after == control()


@pytest.mark.parametrize(
    "at",
    [
        observed(control(request=UNDROP), log=log(2)),
        observed(control(request=UNDROP), retained=log(2)),
        observed(control(request=RESEED)),
    ],
    ids=["the table is in its place", "the table is retained", "it is not an undrop"],
)
def test_a_request_stays_open_while(at: ObservedState) -> None:
    assert undrop_came_too_late(at.control, seen(at)) == at.control


def test_a_new_problem_is_remembered_from_this_observation_on() -> None:
    found = problem(since=None)
    after = problem_began(control(), seen(observed(), Pause(found)))
    assert after == control(problem=replace(found, since=NOW))


def test_a_problem_that_is_known_keeps_its_beginning() -> None:
    document = control(problem=problem())
    same = Pause(problem(since=None))
    assert problem_began(document, seen(observed(document), same)) == document


def test_a_file_that_is_bad_in_another_way_is_still_one_problem() -> None:
    document = control(problem=problem())
    other = problem(etag=ETag("again"), detail="worse", since=NOW)
    after = problem_began(document, seen(observed(document, file(3, "again")), Pause(other)))
    assert after == control(problem=other)


@pytest.mark.parametrize(
    "other",
    [problem(Code.VALUE_INVALID), problem(number=4)],
    ids=["another rule", "another file"],
)
def test_a_problem_ends_the_one_before_it_when_it_is_about(other: object) -> None:
    document = control(problem=problem())
    at = observed(document, file(3, "replaced"), file(4))
    after = problem_began(document, seen(at, Pause(other)))  # type: ignore[arg-type]
    assert after.problem == other
    assert after.ended == (Ended(problem(), NOW, "the file was replaced"),)


def test_a_problem_that_still_holds_ends_only_by_giving_way_to_one_before_it() -> None:
    document = control(problem=problem(number=4))
    at = observed(document, file(3), file(4))
    after = problem_began(document, seen(at, Pause(problem())))
    stays = "the table stops before it, at another problem"
    assert after.ended == (Ended(problem(number=4), NOW, stays),)


def test_a_pause_never_ends_the_problem_that_it_is_about() -> None:
    document = control(problem=problem(Code.KEY_COLUMNS_CHANGED))
    assert document.problem is not None
    assert problem_ended(document, seen(observed(), Pause(document.problem))) == document


@pytest.mark.parametrize(
    ("known", "at", "how"),
    [
        (problem(), observed(None, file(3, "e3b")), "the file was replaced"),
        (problem(), observed(None), "the file is gone"),
        (
            problem(),
            observed(None, file(3), incarnation=OTHER_INCARNATION),
            "the folder was made again",
        ),
        (problem(), observed(incarnation=None), "the folder is gone"),
        (problem(), observed(None, file(3), metadata_etag=ETag("m")), "_metadata.json was changed"),
        (problem(), observed(None, file(3), policy_etag=ETag("s")), "mirroring.json was changed"),
        (problem(Code.KEY_COLUMNS_CHANGED, None), observed(), "its cause is gone"),
    ],
)
def test_a_problem_that_no_plan_pauses_over_any_more_ends_and_history_says_why(
    known: object, at: ObservedState, how: str
) -> None:
    document = control(problem=known, failures=FAILURES)
    after = problem_ended(document, seen(at))
    assert (after.problem, after.failures) == (None, None)
    assert after.ended == (Ended(known, at.at, how),)  # type: ignore[arg-type]


def test_what_only_reading_shows_is_believed_while_nothing_has_changed() -> None:
    """Files before the bad one are applied, and the problem must not be forgotten meanwhile."""
    document = control(problem=problem(), failures=FAILURES)
    assert problem_ended(document, seen(observed(document, file(3)))) == document


def test_the_grace_begins_with_the_first_observation_that_misses_the_folder() -> None:
    gone = observed(incarnation=None)
    first = folder_went_missing(control(), seen(gone, GRACE))
    assert first == control(missing_since=NOW)
    later = replace(gone, at=NOW + timedelta(seconds=30))
    assert folder_went_missing(first, seen(later, GRACE)) == first


def test_other_waits_do_not_say_that_the_folder_is_missing() -> None:
    assert folder_went_missing(control(), seen(observed(), GAP)) == control()


def test_a_folder_that_is_back_is_not_missing() -> None:
    assert folder_came_back(control(missing_since=BEFORE), seen(observed())) == control()


def test_a_folder_that_is_still_gone_stays_missing() -> None:
    document = control(missing_since=BEFORE)
    assert folder_came_back(document, seen(observed(document, incarnation=None))) == document


TAUGHT = [
    (observed(control(failures=FAILURES), log=log(2, batch_record=batch_record(7))), Idle()),
    (observed(control(request=UNDROP), log=log(2), incarnation=None), Held(HOLD)),
    (observed(control(request=UNDROP), incarnation=None), Idle()),
    (observed(control(problem=problem()), file(4)), Pause(problem(number=4, since=None))),
    (observed(control(problem=problem()), log=log(2)), GAP),
    (observed(incarnation=None, log=log(2)), GRACE),
    (observed(control(missing_since=BEFORE)), Idle()),
]


@pytest.mark.parametrize(("at", "decision"), TAUGHT)
def test_what_was_written_down_teaches_nothing_the_second_time(
    at: ObservedState, decision: Decision
) -> None:
    after = learned_from(at, decision)
    assert after != at.control
    assert learned_from(replace(at, control=after), decision) == after


def test_one_observation_can_teach_several_things() -> None:
    document = control(missing_since=BEFORE, problem=problem(), applied=applied(1))
    after = learned_from(observed(document, file(3, "e3b"), log=log(3)), Idle())
    assert after.applied is not None
    assert after.applied.position == 3
    assert (after.problem, after.missing_since) == (None, None)
    assert [over.how for over in after.ended] == ["the file was replaced"]


def test_an_observation_that_found_what_is_known_leaves_an_equal_document() -> None:
    document = control(applied=applied(2), epoch=1, epochs=(app(),))
    assert learned_from(observed(document, file(1), file(2), log=log(2)), Idle()) == document
