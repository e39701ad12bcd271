"""What an observation teaches the control document: each rule by itself, then all in order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from openmirror.plan.decisions import Decision, Held, Idle, Pause, Wait, Waiting, WaitKind
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.observed import ObservedState, OverwrittenFiles, TablePolicy
from openmirror.plan.times import MOST_FIRST_SEEN
from openmirror.plan.transitions.observed import (
    Planned,
    applied_caught_up,
    files_ahead_of_the_clock,
    folder_came_back,
    folder_went_missing,
    learned_from,
    overwrites_accepted,
    problem_began,
    problem_ended,
    undrop_came_too_late,
    undrop_carried_out,
)
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position
from openmirror.table.control import (
    Applied,
    ControlDocument,
    Ended,
    Failures,
    FirstSeen,
    FrozenOptions,
    Hold,
    Overwrites,
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
    batch,
    batch_record,
    control,
    file,
    log,
    manifest,
    observed,
    problem,
    record,
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


SOON = NOW + timedelta(hours=1)
TEXT = FileFacts(etag=ETag("e3"), completeness=Completeness.COMPLETE, needs_quiet_period=True)
HALF = FileFacts(etag=ETag("e3"), completeness=Completeness.INCOMPLETE)
WHOLE = FileFacts(etag=ETag("e3"), completeness=Completeness.COMPLETE)
FROZEN = record(frozen=FrozenOptions())


def of_the_future(number: int = 3, facts: FileFacts | None = TEXT) -> LandedFile:
    return replace(file(number, facts=facts), modified=SOON)


@pytest.mark.parametrize(
    ("there", "document", "is_noted"),
    [
        pytest.param(of_the_future(), control(record=FROZEN), True, id="text waits by its time"),
        pytest.param(
            of_the_future(facts=HALF), control(record=FROZEN), True, id="so does half a file"
        ),
        pytest.param(
            of_the_future(facts=WHOLE), control(record=FROZEN), False, id="Parquet does not"
        ),
        pytest.param(
            of_the_future(facts=None), control(), True, id="a new folder waits for its metadata"
        ),
        pytest.param(
            of_the_future(facts=None), control(record=FROZEN), False, id="a frozen one does not"
        ),
        pytest.param(
            replace(of_the_future(), modified=NOW + timedelta(minutes=1)),
            control(record=FROZEN),
            False,
            id="clocks may differ by a minute",
        ),
        pytest.param(of_the_future(2, facts=None), control(), False, id="what is applied is over"),
    ],
)
def test_the_first_observation_at_a_file_of_the_future_is_noted_where_something_waits_by_it(
    there: LandedFile, document: ControlDocument, is_noted: bool
) -> None:
    after = files_ahead_of_the_clock(document, seen(observed(document, there, log=log(2))))
    known = {there.name: FirstSeen(there.etag, NOW)} if is_noted else {}
    assert after == replace(document, first_seen=known)


def test_a_later_observation_changes_nothing_and_another_content_is_seen_anew() -> None:
    known = {f"{n:020d}.parquet": FirstSeen(ETag(f"e{n}"), BEFORE) for n in (3, 4, 5)}
    document = control(record=FROZEN, first_seen=known)
    other = replace(of_the_future(4), etag=ETag("other"))
    at = observed(document, of_the_future(), other, log=log(2))
    after = files_ahead_of_the_clock(document, seen(at))
    assert after.first_seen == {
        of_the_future().name: FirstSeen(ETag("e3"), BEFORE),
        other.name: FirstSeen(ETag("other"), NOW),
    }


def test_an_observation_without_a_listing_and_a_held_table_forget_nothing_that_was_seen() -> None:
    known = {f"{3:020d}.parquet": FirstSeen(ETag("e3"), BEFORE)}
    document = control(record=FROZEN, first_seen=known)
    partly = observed(document, file(4), log=log(2), landed=())
    assert files_ahead_of_the_clock(document, seen(partly)) == document
    held = seen(observed(document, file(4), log=log(2)), Held(HOLD))
    assert files_ahead_of_the_clock(document, held) == document


def test_the_document_keeps_only_so_many_first_seen() -> None:
    files = [of_the_future(n) for n in range(3, 3 + MOST_FIRST_SEEN + 10)]
    document = control(record=FROZEN)
    after = files_ahead_of_the_clock(document, seen(observed(document, *files, log=log(2))))
    assert list(after.first_seen) == [one.name for one in files[:MOST_FIRST_SEEN]]


CHECKSUM, ELSE = Checksum("sha256:a"), Checksum("sha256:b")
READ = batch(1, 2, files=[manifest(1), replace(manifest(2), checksum=CHECKSUM)])
IGNORING = TablePolicy(overwritten=OverwrittenFiles.IGNORE)


def written_over(checksum: Checksum | None, **more: Any) -> ObservedState:
    document = control(record=record(batches=(READ,)), applied=applied(2))
    return observed(document, file(1), file(2, "new", checksum=checksum), log=log(2), **more)


def test_the_same_bytes_count_as_what_was_read() -> None:
    at = written_over(CHECKSUM)
    after = overwrites_accepted(at.control, seen(at))
    assert after.record is not None
    [one, two] = after.record.batches[0].files
    assert (one, two) == (manifest(1), manifest(2, "new"))
    assert two.checksum == CHECKSUM
    assert after.record.rewritten == Overwrites(1, file(2).name, NOW)
    assert after.record.ignored is None


@pytest.mark.parametrize("checksum", [None, ELSE])
def test_other_bytes_and_unknown_ones_are_left_to_whoever_pauses_over_them(
    checksum: Checksum | None,
) -> None:
    at = written_over(checksum)
    assert overwrites_accepted(at.control, seen(at)) == at.control


@pytest.mark.parametrize("checksum", [None, ELSE])
def test_what_the_policy_ignores_counts_as_what_was_read_and_is_remembered(
    checksum: Checksum | None,
) -> None:
    at = written_over(checksum, policy=IGNORING)
    after = overwrites_accepted(at.control, seen(at))
    assert after.record is not None
    assert after.record.batches[0].files[1] == manifest(2, "new")
    assert after.record.batches[0].files[1].checksum == CHECKSUM, "that of what was applied"
    assert (after.record.rewritten, after.record.ignored) == (
        None,
        Overwrites(1, file(2).name, NOW),
    )


def test_nothing_is_accepted_while_the_table_is_held() -> None:
    at = written_over(CHECKSUM)
    assert overwrites_accepted(at.control, seen(at, Held(HOLD))) == at.control


def test_an_observation_without_a_listing_accepts_nothing() -> None:
    at = written_over(None, policy=IGNORING, landed=())
    assert overwrites_accepted(at.control, seen(at)) == at.control


def test_overwrites_are_counted() -> None:
    at = written_over(CHECKSUM)
    known = replace(record(batches=(READ,)), rewritten=Overwrites(6, "before", BEFORE))
    at = replace(at, control=replace(at.control, record=known))
    after = overwrites_accepted(at.control, seen(at))
    assert after.record is not None
    assert after.record.rewritten == Overwrites(7, file(2).name, NOW)


TAUGHT = [
    (observed(control(record=FROZEN), of_the_future(), log=log(2)), GAP),
    (written_over(CHECKSUM), Idle()),
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
