"""Failures are counted on the same files, and the third in a row pauses the table."""

from __future__ import annotations

import pytest

from openmirror.errors import (
    AccessDenied,
    CannotStart,
    ConditionFailed,
    Disposition,
    DocumentUnreadable,
    NotThere,
    RootLocked,
)
from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.failed import MOST_KEPT, FailedAttempt, failed
from openmirror.plan.transitions.refused import refused
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.table.control import Ended, Failures
from tests.unit.transitions.values import (
    BEFORE,
    NOW,
    RECORD,
    applied,
    control,
    file,
    manifest,
    observed,
    problem,
)

FILES = (manifest(3), manifest(4))


def earlier(count: int) -> Failures:
    return Failures(count, FILES, BEFORE, "ValueError: once more")


@pytest.mark.parametrize(
    ("before", "attempt", "disposition"),
    [
        pytest.param(None, 1, Disposition.RETRY, id="the first is tried again"),
        pytest.param(earlier(1), 2, Disposition.RETRY, id="the second is tried again"),
        pytest.param(earlier(2), 3, Disposition.PAUSE, id="the third pauses the table"),
        pytest.param(
            Failures(2, (manifest(3),), BEFORE, "other"),
            1,
            Disposition.RETRY,
            id="failures on other files start the count anew",
        ),
        pytest.param(
            Failures(2, (manifest(3, "old"), manifest(4)), BEFORE, "other"),
            1,
            Disposition.RETRY,
            id="failures on another content start the count anew",
        ),
    ],
)
def test_of_failures_in_a_row(
    before: Failures | None, attempt: int, disposition: Disposition
) -> None:
    document = control(failures=before, applied=applied(2))
    counted = failed(
        observed(document, file(3), file(4)), FailedAttempt(FILES, ValueError("no"), NOW)
    )
    assert (counted.attempt, counted.disposition) == (attempt, disposition)
    assert counted.control.failures == Failures(attempt, FILES, NOW, "ValueError: no")
    assert (counted.control.problem is not None) == (disposition is Disposition.PAUSE)
    assert counted.control.applied == document.applied


def test_the_pause_is_bound_to_the_first_file_and_what_it_was_checked_by() -> None:
    at = observed(control(failures=earlier(2)), file(3), file(4), metadata_etag=ETag("m"))
    found = failed(at, FailedAttempt(FILES, ValueError("no"), NOW)).control.problem
    assert found is not None
    assert (found.code, found.file, found.etag) == (Code.APPLY_FAILED, FILES[0].name, "e3")
    assert (found.incarnation, found.metadata_etag, found.since) == (RECORD, "m", NOW)
    assert found.detail == "failed 3 times in a row: ValueError: no"


def test_the_pause_is_one_of_the_table_where_the_file_has_gone_meanwhile() -> None:
    at = observed(control(failures=earlier(2)))
    found = failed(at, FailedAttempt(FILES, ValueError("no"), NOW)).control.problem
    assert found is not None
    assert (found.code, found.file) == (Code.APPLY_FAILED, None)


def test_what_is_no_batch_is_counted_and_never_pauses() -> None:
    document = control(failures=Failures(8, (), BEFORE, "ValueError: no"))
    counted = failed(observed(document), FailedAttempt((), ValueError("no"), NOW))
    assert counted.disposition is Disposition.PAUSE
    assert counted.control == control(failures=Failures(9, (), NOW, "ValueError: no"))


@pytest.mark.parametrize("error", [ConditionFailed("lost"), NotThere("gone")])
def test_a_lost_race_never_pauses(error: Exception) -> None:
    counted = failed(
        observed(control(failures=earlier(7)), file(3)), FailedAttempt(FILES, error, NOW)
    )
    assert (counted.attempt, counted.disposition) == (8, Disposition.RETRY)
    assert counted.control.problem is None


def test_an_unreadable_document_pauses_at_once() -> None:
    counted = failed(
        observed(control(), file(3)), FailedAttempt(FILES, DocumentUnreadable("newer"), NOW)
    )
    assert (counted.attempt, counted.disposition) == (1, Disposition.PAUSE)
    assert counted.control.problem is not None


def test_one_place_that_is_refused_pauses_its_table_as_any_other_failure_does() -> None:
    before = control(failures=earlier(2))
    error = AccessDenied("lake/m/Tables/dbo/T: access is denied", "lake/m/Tables/dbo/T")
    counted = failed(observed(before, file(3)), FailedAttempt(FILES, error, NOW))
    assert (counted.attempt, counted.disposition) == (3, Disposition.PAUSE)
    assert counted.control.problem is not None
    assert "access is denied" in counted.control.problem.detail


@pytest.mark.parametrize(
    "error", [MemoryError(), RootLocked("other"), CannotStart("no"), AccessDenied("role")]
)
def test_an_error_of_the_whole_program_leaves_the_document_as_it_is(error: Exception) -> None:
    document = control(failures=earlier(2))
    counted = failed(observed(document, file(3)), FailedAttempt(FILES, error, NOW))
    assert (counted.disposition, counted.control) == (Disposition.FAIL, document)


def test_of_a_long_error_the_document_keeps_its_beginning() -> None:
    at = observed(control(failures=earlier(2)), file(3))
    after = failed(at, FailedAttempt(FILES, ValueError("x" * 10_000), NOW)).control
    assert after.failures is not None
    assert after.problem is not None
    assert len(after.failures.error) == MOST_KEPT
    assert len(after.problem.detail) < MOST_KEPT


def test_refused_data_is_remembered_from_when_it_was_read() -> None:
    document = control(applied=applied(2), failures=earlier(1))
    after = refused(observed(document, file(3)), problem(since=None), NOW)
    assert after == control(applied=applied(2), failures=earlier(1), problem=problem(since=NOW))


LATER = problem(number=5)


@pytest.mark.parametrize(
    ("at", "how"),
    [
        pytest.param(
            observed(control(problem=LATER), file(3), file(5)),
            "the table stops before it, at another problem",
            id="it is as bad as before",
        ),
        pytest.param(
            observed(control(problem=LATER), file(3), file(5, "new")),
            "the file was replaced",
            id="it was replaced meanwhile",
        ),
    ],
)
def test_history_keeps_the_end_of_a_later_files_problem_that_refused_data_takes_the_place_of(
    at: ObservedState, how: str
) -> None:
    after = refused(at, problem(since=None), NOW)
    assert after == control(problem=problem(since=NOW), ended=(Ended(LATER, NOW, how),))


def test_history_keeps_the_end_of_a_problem_that_the_third_failure_takes_the_place_of() -> None:
    at = observed(control(failures=earlier(2), problem=LATER), file(3), file(4), file(5))
    after = failed(at, FailedAttempt(FILES, ValueError("no"), NOW)).control
    assert after.problem is not None
    assert after.problem.code is Code.APPLY_FAILED
    assert after.ended == (Ended(LATER, NOW, "the table stops before it, at another problem"),)


def test_a_failure_that_is_tried_again_ends_no_problem() -> None:
    at = observed(control(failures=earlier(1), problem=LATER), file(3), file(4), file(5))
    after = failed(at, FailedAttempt(FILES, ValueError("no"), NOW)).control
    assert (after.problem, after.ended) == (LATER, ())


def test_refused_data_of_the_same_file_is_still_the_same_problem() -> None:
    document = control(problem=problem(detail="row 1"))
    after = refused(observed(document, file(3)), problem(detail="row 2"), NOW)
    assert after == control(problem=problem(detail="row 2", since=NOW))
