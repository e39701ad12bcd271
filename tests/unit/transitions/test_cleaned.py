"""What a cleanup pass leaves in the document: batches, hours of the archive, numbers known."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.cleaned import CleanupPass, archived_by, cleaned, hours_kept
from openmirror.protocol.sequence import Sequence
from openmirror.table.control import Archived, DecidedBatch, Dropped, IncarnationRecord
from tests.unit.transitions.values import (
    NOW,
    OTHER_INCARNATION,
    PARTITIONED,
    RECORD,
    batch,
    control,
    file,
    log,
    manifest,
    name,
    observed,
    record,
)

HOUR = NOW.replace(minute=0)


def hour(ago: int, through: int) -> Archived:
    return Archived(HOUR - timedelta(hours=ago), Sequence(through))


def record_after(at: ObservedState, done: CleanupPass) -> IncarnationRecord:
    after = cleaned(at, done).record
    assert after is not None
    return after


def test_a_pass_that_found_nothing_to_do_leaves_an_equal_document() -> None:
    document = control(record=record(batches=(batch(1, 2),), archived=(hour(2, 0),)))
    assert cleaned(observed(document, file(1), file(2), log=log(2)), CleanupPass(NOW)) == document


@pytest.mark.parametrize(
    ("moved", "left"),
    [
        pytest.param((1, 2), (batch(3, 4), batch(5, 5)), id="one of which nothing is left goes"),
        pytest.param((1, 2, 3), (batch(3, 4), batch(5, 5)), id="one of which a file is left stays"),
        pytest.param((1, 2, 3, 4), (batch(5, 5),), id="one that is not applied stays"),
    ],
)
def test_of_batches(moved: tuple[int, ...], left: tuple[DecidedBatch, ...]) -> None:
    document = control(record=record(batches=(batch(1, 2), batch(3, 4), batch(5, 5))))
    files = [file(number) for number in range(1, 5)]
    done = CleanupPass(NOW, tuple(name(number) for number in moved))
    after = record_after(observed(document, *files, log=log(4)), done)
    assert after.batches == left
    assert after.archived == (hour(0, moved[-1]),)


def test_what_a_pass_moved_before_it_died_is_counted_by_the_next_one() -> None:
    document = control(record=record(batches=(batch(1, 2), batch(3, 3))))
    after = record_after(observed(document, file(3), log=log(3)), CleanupPass(NOW))
    assert (after.batches, after.archived) == ((batch(3, 3),), (hour(0, 2),))


def test_a_file_in_the_archive_is_not_one_in_the_folder() -> None:
    document = control(record=record(batches=(batch(1, 1), batch(2, 2))))
    at = observed(document, file(1, archived=True), file(2), log=log(2))
    assert record_after(at, CleanupPass(NOW)).batches == (batch(2, 2),)


@pytest.mark.parametrize(
    "more",
    [
        {"log": log(None)},
        {"log": None},
        {"log": log(2, record=OTHER_INCARNATION)},
        {"incarnation": None},
    ],
    ids=["between two epochs", "without a table", "another incarnation has the table", "no folder"],
)
def test_nothing_of_an_incarnation_is_forgotten(more: dict[str, object]) -> None:
    document = control(record=record(batches=(batch(1, 2),)))
    at = observed(document, **{"log": log(2), **more})
    assert cleaned(at, CleanupPass(NOW, purged_through=9)) == document


@pytest.mark.parametrize(
    ("known", "through", "at", "after"),
    [
        ((), 2, NOW, (hour(0, 2),)),
        ((hour(1, 2),), 4, NOW, (hour(1, 2), hour(0, 4))),
        ((hour(1, 2), hour(0, 3)), 4, NOW, (hour(1, 2), hour(0, 4))),
        ((hour(1, 4),), 4, NOW, (hour(1, 4),)),
        ((hour(1, 4),), 0, NOW, (hour(1, 4),)),
    ],
    ids=[
        "the first hour begins",
        "another hour begins",
        "an hour keeps its highest number only",
        "a number that is known begins no hour",
        "a pass without a move begins no hour",
    ],
)
def test_hour_by_hour(
    known: tuple[Archived, ...], through: int, at: datetime, after: tuple[Archived, ...]
) -> None:
    assert archived_by(record(archived=known), through, at) == after


@pytest.mark.parametrize(
    ("purged_through", "left"),
    [
        (0, (hour(9, 2), hour(5, 4), hour(1, 6))),
        (3, (hour(5, 4), hour(1, 6))),
        (4, (hour(1, 6),)),
        (6, (hour(1, 6),)),
        (99, (hour(1, 6),)),
    ],
)
def test_the_highest_archived_number_is_known_for_good(
    purged_through: int, left: tuple[Archived, ...]
) -> None:
    """Only this distinguishes a number that comes again from one that is missing."""
    assert hours_kept((hour(9, 2), hour(5, 4), hour(1, 6)), purged_through) == left


def test_purged_hours_go_and_this_pass_counts() -> None:
    document = control(record=record(batches=(batch(7, 8),), archived=(hour(99, 2), hour(9, 6))))
    at = observed(document, file(7), file(8), log=log(8))
    after = record_after(at, CleanupPass(NOW, (name(7),), purged_through=2))
    assert after.archived == (hour(9, 6), hour(0, 7))


def test_a_dropped_table_that_was_removed_is_forgotten_and_nothing_else() -> None:
    dropped, known = Dropped(RECORD, NOW), record(batches=(batch(1, 2),))
    at = observed(control(dropped=dropped, record=known), incarnation=None)
    assert cleaned(at, CleanupPass(NOW, dropped_removed=True)) == control(record=known)
    assert cleaned(at, CleanupPass(NOW)) == at.control


A1, A2, B1 = (f"{where}/{name(number)}" for where, number in (("A=1", 1), ("A=1", 2), ("B=1", 1)))
OF_LEDGER = batch(
    1, 3, files=[manifest(1, called=A1), manifest(2, called=A2), manifest(3, called=B1)]
)


def test_of_a_ledger_only_the_files_that_left_go_and_their_own_numbers_stay_known() -> None:
    at = observed(
        control(record=record(batches=(OF_LEDGER,))),
        file(1, called=A1, partition="A=1"),
        file(2, called=A2, partition="A=1"),
        file(3, called=B1, partition="B=1"),
        log=log(3),
        naming=PARTITIONED,
    )
    after = record_after(at, CleanupPass(NOW, (A1,)))
    assert [manifest.name for batch in after.batches for manifest in batch.files] == [A2, B1]
    assert after.partitions == {"A=1": 1}
    assert after.archived == (hour(0, 1),)


def test_of_an_adopted_ledger_without_any_file_the_batch_says_how_far_it_came() -> None:
    empty = batch(1, 6, files=[])
    at = observed(control(record=record(batches=(empty,))), log=log(6), naming=PARTITIONED)
    after = record_after(at, CleanupPass(NOW))
    assert (after.batches, after.archived) == ((), (hour(0, 6),))
