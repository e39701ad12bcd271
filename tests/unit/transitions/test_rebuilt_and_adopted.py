"""Documents that are made of what others remember: a log, a ledger, an incarnation before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.adopted import adopted, adopted_record, before_adoption
from openmirror.plan.transitions.maintained import with_compaction_unknown
from openmirror.plan.transitions.rebuilt import (
    has_forgotten,
    made_anew,
    rebuilt_from_log,
    remembered,
)
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import Incarnation
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.table.control import BatchKind, IncarnationRecord, Maintenance, ManifestEntry
from openmirror.table.ledger import LedgerEntry
from tests.unit.transitions.values import (
    NOW,
    OTHER_INCARNATION,
    PARTITIONED,
    RECORD,
    app,
    batch,
    control,
    epoch,
    file,
    log,
    manifest,
    observed,
    record,
)


def entry(first: int, last: int, number: int = 1) -> LedgerEntry:
    files = tuple(manifest(n, called=f"A=1/{n}.parquet") for n in range(first, last + 1))
    return LedgerEntry(
        epoch=number,
        kind=BatchKind.EXTEND,
        naming=PARTITIONED,
        first=Sequence(first),
        last=Position(last),
        files=files,
    )


CHECKSUM = Checksum("sha256:a")
UNKNOWN = with_compaction_unknown(Maintenance(), NOW)
"""A compaction that the lost document may have known, and that no fence stops."""


def test_a_lost_document_goes_on_behind_every_epoch_that_is_known() -> None:
    """What was decided last is forgotten with it: one epoch more is fenced, and never used."""
    after = made_anew(observed(log=log(4, number=3)), ())
    assert after == control(epoch=4, epochs=(app(3), app(4)), rebuilt=NOW, maintenance=UNKNOWN)


def test_a_ledger_knows_of_epochs_that_never_reached_the_log() -> None:
    after = made_anew(observed(log=log(4, number=3), naming=PARTITIONED), [entry(1, 2, 5)])
    epochs = (app(3), app(5), app(6))
    assert after == control(epoch=6, epochs=epochs, rebuilt=NOW, maintenance=UNKNOWN)


def test_a_retained_table_is_remembered_as_well() -> None:
    after = made_anew(observed(retained=log(4, number=3), incarnation=None), ())
    assert after == control(epoch=3, epochs=(app(3),), rebuilt=NOW, maintenance=UNKNOWN)


@pytest.mark.parametrize("at", [observed(), observed(incarnation=None)])
def test_without_a_log_or_a_ledger_of_ours_nothing_was_lost(at: ObservedState) -> None:
    assert made_anew(at, ()) == at.control


def test_epochs_are_taken_in_the_order_of_their_numbers() -> None:
    after = rebuilt_from_log(control(), [epoch(7), epoch(2), epoch(5)], None, NOW)
    assert (after.epoch, after.epochs) == (7, (app(2), app(5), app(7)))


def of_ledger(applied: int, **known: object) -> ObservedState:
    document = control(epoch=1, record=IncarnationRecord(incarnation=RECORD, **known))  # type: ignore[arg-type]
    return observed(document, log=log(applied), naming=PARTITIONED)


def with_a_replace(
    at: ObservedState, number: int = 2, incarnation: Incarnation = RECORD
) -> ObservedState:
    """The same once a replace by files 1 and 2 is decided, by this or another incarnation."""
    decided = batch(1, 2, BatchKind.REPLACE, number, incarnation)
    return replace(at, control=replace(at.control, decided=decided))


@pytest.mark.parametrize(
    ("at", "is_forgotten"),
    [
        pytest.param(of_ledger(4), True, id="nothing is known of applied files"),
        pytest.param(of_ledger(4, batches=(batch(1, 4),)), False, id="a batch names them"),
        pytest.param(
            observed(control(), log=log(4)), False, id="names suffice, where there is no ledger"
        ),
        pytest.param(with_a_replace(of_ledger(4)), False, id="a replace of them is decided"),
        pytest.param(with_a_replace(of_ledger(4), 1), True, id="the replace is in the log"),
        pytest.param(
            with_a_replace(of_ledger(4), 2, OTHER_INCARNATION),
            True,
            id="another incarnation's replace",
        ),
    ],
)
def test_the_order_is_forgotten_where(at: ObservedState, is_forgotten: bool) -> None:
    assert has_forgotten(at) == is_forgotten


def test_the_ledger_gives_applied_files_their_order_back() -> None:
    after = remembered(of_ledger(3), [entry(1, 2), entry(3, 3), entry(4, 5)])
    assert after is not None
    assert after.record is not None
    called = [f"A=1/{n}.parquet" for n in (1, 2, 3)]
    one_each = [batch(n, n, files=[manifest(n, called=called[n - 1])]) for n in (1, 2, 3)]
    assert list(after.record.batches) == one_each, "a replace may land that has only some of them"
    assert after.record.reseeding_until == 5, "it may have been lost in the middle of a reseed"


@pytest.mark.parametrize("entries", [[], [entry(1, 2)]], ids=["no ledger", "one that ends before"])
def test_without_the_whole_ledger_nobody_guesses(entries: list[LedgerEntry]) -> None:
    assert remembered(of_ledger(3), entries) is None


def test_an_adopted_table_goes_on_with_the_files_that_lie_there_as_they_are_now() -> None:
    known = batch(1, 9).with_checksums({Sequence(3): CHECKSUM})
    former = IncarnationRecord(
        incarnation=OTHER_INCARNATION, partitions={"A=1": Sequence(1)}, batches=(known,)
    )
    at = observed(
        control(record=former),
        file(1, "x1", archived=True),
        file(2, "x2"),
        file(3, "x3"),
        file(4, "x4"),
        log=log(3, record=OTHER_INCARNATION),
    )
    after = adopted(at, epoch(2))
    assert after.record is not None
    assert [file.checksum for file in after.record.batches[0].files] == [None, CHECKSUM]
    there = batch(2, 3, number=2, files=[manifest(2, "x2"), manifest(3, "x3")])
    assert after.record == record(partitions={"A=1": Sequence(1)}, batches=(there,))
    assert after.former == (former,)


@pytest.mark.parametrize(
    ("at", "before"),
    [
        (
            observed(log=log(3, record=OTHER_INCARNATION)),
            (epoch(1, OTHER_INCARNATION), Position(3)),
        ),
        (observed(log=log(None, before_fence=2)), (epoch(1), Position(2))),
        (observed(log=log(None)), None),
    ],
    ids=["from the live epoch", "from before its fence", "from nothing that was applied"],
)
def test_an_adoption_goes_on(at: ObservedState, before: object) -> None:
    assert before_adoption(at) == before


def test_a_ledger_that_was_copied_says_where_the_files_belong() -> None:
    at = observed(
        control(),
        *(file(n, f"x{n}", called=f"A=1/{n}.parquet") for n in (2, 3, 4)),
        log=log(3, record=OTHER_INCARNATION),
        naming=PARTITIONED,
    )
    after = adopted(at, epoch(2), [entry(1, 2), entry(3, 4)])
    assert after.record is not None
    (known,) = after.record.batches
    assert known.last == 3
    assert known.files == tuple(manifest(n, f"x{n}", f"A=1/{n}.parquet") for n in (2, 3))


def test_without_a_ledger_the_incarnation_before_says_where_they_belong() -> None:
    names = {number: f"A=1/{number}.parquet" for number in (1, 2)}
    decided = batch(1, 2, files=[manifest(n, called=called) for n, called in names.items()])
    at = observed(
        control(record=IncarnationRecord(incarnation=OTHER_INCARNATION, batches=(decided,))),
        file(7, "x2", called=names[2]),
        log=log(2, record=OTHER_INCARNATION),
        naming=PARTITIONED,
    )
    after = adopted(at, epoch(2))
    assert after.record is not None
    assert after.record.batches[0].files == (manifest(2, "x2", names[2]),)


@pytest.mark.parametrize(
    ("files", "first"), [([manifest(4), manifest(5)], 4), ([], 1)], ids=["some left", "none left"]
)
def test_the_batch_says_how_far_it_goes_also_without_any_file(
    files: list[ManifestEntry], first: int
) -> None:
    after = adopted_record(None, epoch(2), Position(6), files)
    (known,) = after.batches
    assert (known.first, known.last, known.files) == (first, 6, tuple(files))
    assert adopted_record(None, epoch(2), START, files).batches[0].files == ()
