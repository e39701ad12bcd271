"""What a decision makes of a document: what is void, what must be fenced, what is remembered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from openmirror.errors import Problem
from openmirror.plan.transitions.decided import decide, to_fence
from openmirror.plan.transitions.incarnations import MOST_FORMER_RECORDS, with_record
from openmirror.protocol.names import Incarnation
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.table.control import (
    Archived,
    BatchKind,
    ControlDocument,
    DecidedBatch,
    FrozenOptions,
    IncarnationRecord,
    Request,
    RequestKind,
    Skip,
    Truncated,
)
from tests.unit.transitions.values import (
    BEFORE,
    NOW,
    OTHER_INCARNATION,
    RECORD,
    app,
    batch,
    control,
    problem,
    record,
)

EXTEND, REPLACE, CONTINUE = BatchKind.EXTEND, BatchKind.REPLACE, BatchKind.CONTINUE
KEYED = FrozenOptions(key_columns=("id",))
SKIP = Skip(first=Sequence(1), last=Sequence(2), by="ann", at=BEFORE, why="lost")


def record_after(
    before: IncarnationRecord | None,
    decided: DecidedBatch,
    applied: int = 0,
    reread_through: int = 0,
) -> IncarnationRecord:
    document = decide(
        control(record=before), decided, None, Position(applied), Position(reread_through)
    )
    assert document.record is not None
    return document.record


@pytest.mark.parametrize(
    ("decided", "applied", "left"),
    [
        pytest.param(
            batch(5, 6), 4, (batch(1, 2), batch(3, 4), batch(5, 6)), id="an extend follows them"
        ),
        pytest.param(
            batch(3, 3),
            2,
            (batch(1, 2), batch(3, 3)),
            id="an extend drops those above the live position: they were never applied",
        ),
        pytest.param(
            batch(1, 2, REPLACE, 2), 4, (batch(1, 2, REPLACE, 2),), id="a replace drops all"
        ),
        pytest.param(
            batch(1, 0, CONTINUE, 2), 4, (batch(1, 2), batch(3, 4)), id="a continue keeps all"
        ),
    ],
)
def test_of_the_batches_that_were_decided_before(
    decided: DecidedBatch, applied: int, left: tuple[DecidedBatch, ...]
) -> None:
    before = record(batches=(batch(1, 2), batch(3, 4)))
    assert record_after(before, decided, applied).batches == left


def test_a_continue_is_no_batch_with_files_and_is_never_kept_as_one() -> None:
    before = record(batches=(batch(1, 2), batch(1, 2, CONTINUE, 2)))
    assert record_after(before, batch(3, 4, number=2), 2).batches == (
        batch(1, 2),
        batch(3, 4, number=2),
    )


@pytest.mark.parametrize(
    ("decided", "applied", "reread_through", "until"),
    [
        pytest.param(batch(5, 6), 4, 0, 3, id="an extend leaves it"),
        pytest.param(batch(5, 6), 4, 9, 9, id="files of a ledger that are read again put it off"),
        pytest.param(batch(1, 1, REPLACE, 2), 8, 0, 8, id="a replace reads to where it had come"),
        pytest.param(batch(1, 1, REPLACE, 2), 0, 0, 7, id="a replace reads what is archived"),
        pytest.param(batch(1, 0, CONTINUE, 2), 8, 0, 3, id="a continue leaves it"),
    ],
)
def test_nothing_is_purged_until_it_was_read_again(
    decided: DecidedBatch, applied: int, reread_through: int, until: int
) -> None:
    before = record(reseeding_until=Position(3), archived=(Archived(BEFORE, Sequence(7)),))
    assert record_after(before, decided, applied, reread_through).reseeding_until == until


@pytest.mark.parametrize(
    ("kind", "left"), [(EXTEND, {"A=1": 5}), (REPLACE, {}), (CONTINUE, {"A=1": 5})]
)
def test_only_a_replace_counts_the_numbers_of_partitions_anew(
    kind: BatchKind, left: dict[str, int]
) -> None:
    before = record(partitions={"A=1": Sequence(5)})
    assert record_after(before, batch(1, 1, kind, 2)).partitions == left


def test_rules_are_frozen_by_the_batch_that_says_them() -> None:
    before = control(record=record(frozen=KEYED, skips=(SKIP,)))
    kept = decide(before, batch(1, 1), None, START).record
    changed = decide(before, batch(1, 1), FrozenOptions(), START).record
    assert kept is not None
    assert (kept.frozen, kept.skips) == (KEYED, (SKIP,))
    assert changed is not None
    assert changed.frozen == FrozenOptions()


@pytest.mark.parametrize(
    ("asked", "kind", "is_open"),
    [
        (RequestKind.RESEED, REPLACE, False),
        (RequestKind.RESEED, EXTEND, True),
        (RequestKind.RESEED, CONTINUE, True),
        (RequestKind.ADOPT, CONTINUE, False),
        (RequestKind.ADOPT, REPLACE, True),
        (RequestKind.UNDROP, REPLACE, True),
        (RequestKind.UNDROP, CONTINUE, True),
    ],
)
def test_a_request_is_carried_out_by_the_kind_of_batch_that_it_asks_for(
    asked: RequestKind, kind: BatchKind, is_open: bool
) -> None:
    before = control(request=Request(asked, BEFORE, "ann"))
    assert (decide(before, batch(1, 1, kind, 2), None, START).request is not None) == is_open


def test_the_first_time_that_lost_digits_is_kept_until_a_replace_begins_anew() -> None:
    first, later = Truncated("1.csv", "line 2"), Truncated("2.csv", "line 9")

    def after(before: Truncated | None, found: Truncated | None, kind: BatchKind) -> object:
        known = control(record=replace(record(), truncated=before))
        left = decide(known, batch(1, 1, kind), None, START, truncated=found).record
        return left and left.truncated

    assert after(None, None, EXTEND) is None
    assert after(None, later, EXTEND) == later
    assert after(first, later, EXTEND) == first
    assert after(first, None, CONTINUE) == first
    assert after(first, later, REPLACE) == later
    assert after(first, None, REPLACE) is None


@pytest.mark.parametrize(
    ("known", "stays"),
    [
        pytest.param(problem(number=3), True, id="a pending file behind the batch"),
        pytest.param(problem(number=2), False, id="a file of the batch"),
        pytest.param(problem(Code.KEY_COLUMNS_CHANGED, None), False, id="the whole table"),
        pytest.param(problem(Code.APPLIED_FILE_CHANGED, 3), False, id="a file applied before"),
    ],
)
def test_of_the_problems_only_one_further_on_outlives_a_decision(
    known: Problem, stays: bool
) -> None:
    after = decide(control(problem=known, missing_since=BEFORE), batch(1, 2), None, START)
    assert (after.problem == known) == stays
    assert stays or after.problem is None
    assert (after.missing_since, after.decided) == (None, batch(1, 2))


@pytest.mark.parametrize(
    ("number", "highest", "epochs"),
    [(1, 3, (app(1), app(3))), (3, 3, (app(1), app(3))), (4, 4, (app(1), app(3), app(4)))],
    ids=["an older epoch", "the newest again", "the next"],
)
def test_epochs_are_remembered_to_be_fenced_and_numbers_never_go_back(
    number: int, highest: int, epochs: tuple[str, ...]
) -> None:
    before = control(epoch=3, epochs=(app(1), app(3)))
    after = decide(before, batch(1, 1, number=number), None, START)
    assert (after.epoch, after.epochs) == (highest, epochs)


def test_no_epoch_is_to_be_fenced_twice() -> None:
    assert to_fence((app(1), app(2)), (app(2), app(3))) == (app(1), app(2), app(3))


def test_another_incarnation_begins_with_nothing_and_the_one_before_can_come_back() -> None:
    known = IncarnationRecord(
        incarnation=OTHER_INCARNATION, frozen=KEYED, skips=(SKIP,), batches=(batch(1, 2),)
    )
    first = decide(control(record=known), batch(1, 1, REPLACE, 2), None, START)
    assert first.record == record(batches=(batch(1, 1, REPLACE, 2),))
    assert first.former == (known,)

    back = batch(3, 3, number=3, record=OTHER_INCARNATION)
    again = decide(first, back, None, Position(2))
    assert again.record is not None
    assert first.record is not None
    assert (again.record.frozen, again.record.batches) == (KEYED, (batch(1, 2), back))
    assert again.former == (first.record,)


def test_the_last_incarnations_are_kept_newest_first_and_none_twice() -> None:
    document = control()
    for number in (0, 1, 2, 3, 1, 4, 5, 6, 7):
        document = with_record(document, IncarnationRecord(incarnation=Incarnation(f"i{number}")))
    assert document.record == IncarnationRecord(incarnation=Incarnation("i7"))
    former = [one.incarnation for one in document.former]
    assert former == ["i6", "i5", "i4", "i1", "i3"]
    assert len(former) == MOST_FORMER_RECORDS


def test_an_incarnation_that_goes_on_leaves_the_former_ones_alone() -> None:
    former = (IncarnationRecord(incarnation=OTHER_INCARNATION),)
    before = ControlDocument(folder="m/T", record=record(), former=former)
    after = with_record(before, record(archived=(Archived(NOW - timedelta(days=1), Sequence(1)),)))
    assert (after.former, after.record_of(RECORD).archived_through) == (former, 1)
