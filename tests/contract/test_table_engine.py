"""What every TableEngine promises: the product's, the one of tests without Spark, and the model.

Everything else that is tested over one of the two fakes is true of the product only as far as this.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openmirror.errors import NotThere
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.maintenance_steps import MIB, Compact, MaintenanceStep, Purge, Vacuum
from openmirror.plan.observed import TablePolicy
from openmirror.ports import BadFile, CommitResult, Prepared, Transaction
from openmirror.protocol.names import Incarnation
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import SchemaUnion
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.table import user_metadata
from openmirror.table.control import BatchKind, FrozenOptions
from openmirror.table.log import BatchRecord, Epoch
from tests.contract.engines import (
    AT,
    FOLDER,
    RECORD,
    SCHEMA,
    TABLE,
    Directly,
    EngineRig,
    InSpark,
    InTheModel,
    OnPaper,
)

WITH_SPARK = ("spark", "direct")


def _marked(*engines: str) -> list[Any]:
    return [pytest.param(e, marks=pytest.mark.spark) if e in WITH_SPARK else e for e in engines]


WHOEVER_WRITES = pytest.mark.parametrize("world", _marked("spark", "paper", "model"), indirect=True)
"""Of a test about commits without rows, or by a step of maintenance: they are the same engine's,
whichever wrote a batch's data files."""


@pytest.fixture(params=_marked("spark", "direct", "paper", "model"))
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> EngineRig:
    root = tmp_path / "root"
    root.mkdir()
    match request.param:
        case "spark":
            return InSpark(root, request.getfixturevalue("spark"), monkeypatch)
        case "direct":
            return Directly(root, request.getfixturevalue("spark"), monkeypatch)
        case "paper":
            return OnPaper(root)
        case _:
            return InTheModel()


def epoch(number: int) -> Epoch:
    return Epoch(FOLDER, Incarnation(RECORD), number)


def batch(
    files: Many[LandedFile],
    kind: BatchKind = BatchKind.EXTEND,
    *,
    under: int = 1,
    may_create: bool = False,
) -> Batch:
    return Batch(
        folder=FOLDER,
        table=TABLE,
        kind=kind,
        epoch=epoch(under),
        first=files[0].sequence,
        last=Position(files[-1].sequence),
        files=tuple(files),
        frozen=FrozenOptions(key_columns=("id",)),
        union=SchemaUnion(SCHEMA),
        policy=TablePolicy(),
        features=TableFeatures(),
        applied=Position(files[0].sequence - 1),
        may_create=may_create,
    )


def read(world: EngineRig, of: Batch) -> Prepared:
    prepared = world.engine.read(of)
    assert not isinstance(prepared, BadFile), prepared
    return prepared


def commit(world: EngineRig, of: Batch, prepared: Prepared | None = None) -> CommitResult:
    """Commit a batch as the product does, reading it first unless it was read before."""
    if of.kind is BatchKind.REPLACE:
        of = replace(of, features=world.features)
    held = prepared or read(world, of)
    batch_record = BatchRecord(
        operation=f"{of.epoch.number}-{of.last}",
        folder=str(FOLDER),
        kind=of.kind.value,
        first=of.first,
        last=of.last,
        files=len(of.files),
    )
    transaction = Transaction(of.epoch.app_id, of.last)
    try:
        return world.engine.commit(of, held, transaction, user_metadata.encode(batch_record))
    finally:
        held.release()


def begin(world: EngineRig, *numbers: int) -> None:
    """A table of these files, under the first epoch."""
    first = batch([world.land(n) for n in numbers], BatchKind.REPLACE, may_create=True)
    assert commit(world, first) is CommitResult.DONE


def commit_without_rows(world: EngineRig, under: int, position: Position) -> CommitResult:
    return world.engine.commit_without_rows(TABLE, Transaction(epoch(under).app_id, position))


def positions(world: EngineRig) -> dict[int, int]:
    log = world.log()
    return {e.number: int(at) for e, at in log.epochs.items()} if log else {}


def has(world: EngineRig, *numbers: int) -> bool:
    """Whether the table has the rows of these files and no others, for who keeps rows."""
    return world.files() in (None, list(numbers))


def version(world: EngineRig) -> int:
    log = world.log()
    return log.version if log else -1


def test_a_batch_that_was_read_counts_all_rows_of_its_files(world: EngineRig) -> None:
    held = read(world, batch([world.land(1), world.land(2), world.land(3)]))
    assert held.counts.operations == 3
    held.release()


def test_the_first_file_that_cannot_be_read_is_named(world: EngineRig) -> None:
    files = [world.land(n) for n in (1, 2, 3)]
    files[1] = world.damage(files[1])
    found = world.engine.read(batch(files))
    assert isinstance(found, BadFile)
    assert (found.name, found.broken.code) == (files[1].name, Code.FILE_UNREADABLE)


def test_a_file_that_has_gone_is_not_there(world: EngineRig) -> None:
    files = [world.land(1), world.land(2)]
    world.lose(files[1])
    with pytest.raises(NotThere):
        world.engine.read(batch(files))


def test_what_was_read_may_be_let_go_of_twice_and_after_its_commit(world: EngineRig) -> None:
    begin(world, 1)
    held = read(world, batch([world.land(2)]))
    assert commit(world, batch([world.land(2)]), held) is CommitResult.DONE
    held.release()
    assert has(world, 1, 2)


def test_a_batch_is_what_was_read_whatever_becomes_of_its_files(world: EngineRig) -> None:
    begin(world, 1)
    file = world.land(2)
    held = read(world, batch([file]))
    world.lose(file)
    assert commit(world, batch([file]), held) is CommitResult.DONE
    assert has(world, 1, 2)


def test_a_first_replace_makes_the_table_with_its_schema_transaction_and_batch_record(
    world: EngineRig,
) -> None:
    assert world.log() is None
    begin(world, 1, 2)
    log = world.log()
    assert log is not None
    assert log.schema == SCHEMA
    assert log.live == (epoch(1), 2)
    assert log.batch_record is not None
    assert (log.batch_record.operation, log.batch_record.kind) == ("1-2", "replace")
    assert has(world, 1, 2)


def test_only_a_replace_that_may_creates_a_table(world: EngineRig) -> None:
    files = [world.land(1)]
    for kind, may in (
        (BatchKind.EXTEND, False),
        (BatchKind.EXTEND, True),
        (BatchKind.REPLACE, False),
    ):
        assert commit(world, batch(files, kind, may_create=may)) is CommitResult.MISSING, (
            kind,
            may,
        )
        assert world.log() is None, (kind, may)
    assert commit_without_rows(world, 1, FENCED) is CommitResult.MISSING
    assert world.log() is None


@WHOEVER_WRITES
def test_a_record_makes_an_empty_table_of_the_schema_that_it_is_given(world: EngineRig) -> None:
    fence = Transaction(epoch(1).app_id, FENCED)
    assert world.engine.commit_without_rows(TABLE, fence, SCHEMA) is CommitResult.DONE
    log = world.log()
    assert log is not None
    assert (log.schema, log.live, positions(world)) == (SCHEMA, None, {1: FENCED})
    assert has(world)


def test_an_extend_adds_its_rows_and_moves_the_position_in_one_commit(world: EngineRig) -> None:
    begin(world, 1)
    assert commit(world, batch([world.land(2), world.land(3)])) is CommitResult.DONE
    assert (version(world), positions(world)) == (1, {1: 3})
    assert has(world, 1, 2, 3)
    assert not isinstance(world, Directly) or world.wrote == 1


@pytest.mark.parametrize("kind", [BatchKind.EXTEND, BatchKind.REPLACE])
def test_a_repeated_transaction_lands_once_and_only_the_log_says_so(
    world: EngineRig, kind: BatchKind
) -> None:
    begin(world, 1)
    again = batch([world.land(2)])
    assert commit(world, again) is CommitResult.DONE
    assert commit(world, replace(again, kind=kind)) is CommitResult.DONE
    assert (version(world), positions(world)) == (1, {1: 2})
    assert has(world, 1, 2)


def test_a_lower_version_is_passed_over(world: EngineRig) -> None:
    begin(world, 1)
    late = batch([world.land(2)])
    held = read(world, late)
    assert commit(world, batch([world.land(2), world.land(3)])) is CommitResult.DONE
    assert commit(world, late, held) is CommitResult.DONE
    assert (version(world), positions(world)) == (1, {1: 3})
    assert has(world, 1, 2, 3)


@WHOEVER_WRITES
def test_a_fence_ends_an_epoch_and_changes_no_row(world: EngineRig) -> None:
    begin(world, 1)
    late = batch([world.land(2)])
    held = read(world, late)
    assert commit_without_rows(world, 1, FENCED) is CommitResult.DONE
    assert commit_without_rows(world, 1, FENCED) is CommitResult.DONE
    assert commit(world, late, held) is CommitResult.DONE
    log = world.log()
    assert log is not None
    assert (log.version, log.live) == (1, None)
    assert has(world, 1)


@WHOEVER_WRITES
def test_the_log_still_says_where_an_epoch_was_before_its_fence(world: EngineRig) -> None:
    begin(world, 1)
    assert commit(world, batch([world.land(2)])) is CommitResult.DONE
    commit_without_rows(world, 1, FENCED)
    commit_without_rows(world, 2, FENCED)
    log = world.log()
    assert log is not None
    assert log.before_fence == {epoch(1).app_id: 2, epoch(2).app_id: START}
    assert log.last_fenced == (epoch(1), 2)


@WHOEVER_WRITES
def test_an_epoch_that_continues_keeps_the_rows(world: EngineRig) -> None:
    begin(world, 1)
    commit_without_rows(world, 1, FENCED)
    assert commit_without_rows(world, 2, Position(1)) is CommitResult.DONE
    assert commit(world, batch([world.land(2)], under=2)) is CommitResult.DONE
    log = world.log()
    assert log is not None
    assert log.live == (epoch(2), 2)
    assert has(world, 1, 2)


def test_a_replace_makes_the_table_its_batch_and_nothing_else_and_keeps_every_fence(
    world: EngineRig,
) -> None:
    begin(world, 1, 2)
    before = world.log()
    commit_without_rows(world, 1, FENCED)
    assert commit(world, batch([world.land(1)], BatchKind.REPLACE, under=2)) is CommitResult.DONE
    log = world.log()
    assert before is not None
    assert log is not None
    assert positions(world) == {1: FENCED, 2: 1}
    assert log.table_id != before.table_id
    assert has(world, 1)


def test_an_extend_of_a_table_that_was_taken_away_makes_no_other(world: EngineRig) -> None:
    begin(world, 1)
    held = read(world, late := batch([world.land(2)]))
    world.take_away()
    assert commit(world, late, held) is CommitResult.MISSING
    assert world.log() is None


def test_a_table_that_is_replaced_meanwhile_is_a_conflict_and_nothing_is_written(
    world: EngineRig,
) -> None:
    begin(world, 1)
    assert commit_without_rows(world, 1, FENCED) is CommitResult.DONE
    late = batch([world.land(2)], under=3)
    other = batch([world.land(1)], BatchKind.REPLACE, under=2)
    others = read(world, other)

    def replaced() -> None:
        assert commit(world, other, others) is CommitResult.DONE

    # Under an epoch that nobody has fenced: it is the conflict alone that is asked for.
    held = read(world, late)
    world.meanwhile(replaced)
    assert commit(world, late, held) is CommitResult.CONFLICT
    assert (version(world), positions(world)) == (2, {1: FENCED, 2: 1})
    assert has(world, 1)


def test_of_two_commits_of_one_epoch_that_overlap_one_lands(world: EngineRig) -> None:
    begin(world, 1)
    mine = batch([world.land(2)])
    held, others = read(world, mine), read(world, mine)

    def the_same() -> None:
        assert commit(world, mine, others) is CommitResult.DONE

    world.meanwhile(the_same)
    # Or nothing is left to do, where its transaction begins behind the other's end.
    assert commit(world, mine, held) in (CommitResult.CONFLICT, CommitResult.DONE)
    assert (version(world), positions(world)) == (1, {1: 2})
    assert has(world, 1, 2)


COMPACT = Compact(below=64 * MIB, written=128 * MIB, files=2, bytes=10)
VACUUM = Vacuum(hours=168, through=AT, full=False, files=0, bytes=0)
STEPS = [COMPACT, Purge(files=1, bytes=1, written=128 * MIB), VACUUM, replace(VACUUM, full=True)]


@WHOEVER_WRITES
@pytest.mark.parametrize("step", STEPS[::2])
def test_maintenance_of_no_table_makes_none(world: EngineRig, step: MaintenanceStep) -> None:
    assert world.engine.maintain(TABLE, step) is CommitResult.MISSING
    assert world.log() is None


@WHOEVER_WRITES
def test_maintenance_changes_no_row_no_position_and_no_batch_record(world: EngineRig) -> None:
    begin(world, 1)
    for number in (2, 3):
        assert commit(world, batch([world.land(number)])) is CommitResult.DONE
    before = world.log()
    for step in STEPS:
        assert world.engine.maintain(TABLE, step) is CommitResult.DONE, step
    log = world.log()
    assert log is not None
    assert before is not None
    assert log.version > before.version
    assert log == replace(before, version=log.version)
    assert has(world, 1, 2, 3)
    # And the epoch goes on.
    assert commit(world, batch([world.land(4)])) is CommitResult.DONE
    assert has(world, 1, 2, 3, 4)


def test_a_batch_that_is_repeated_after_maintenance_still_lands_once(world: EngineRig) -> None:
    begin(world, 1)
    again = batch([world.land(2)])
    assert commit(world, again) is CommitResult.DONE
    assert world.engine.maintain(TABLE, COMPACT) is CommitResult.DONE
    assert commit(world, again) is CommitResult.DONE
    assert positions(world) == {1: 2}
    assert has(world, 1, 2)


def test_a_batch_and_a_compaction_that_overlap_both_hold(world: EngineRig) -> None:
    """Rows that are only added do not conflict with files that become one."""
    begin(world, 1)
    assert commit(world, batch([world.land(2)])) is CommitResult.DONE
    late = batch([world.land(3)])
    held = read(world, late)

    def compacted() -> None:
        assert world.engine.maintain(TABLE, COMPACT) is CommitResult.DONE

    world.meanwhile(compacted)
    result = commit(world, late, held)
    if result is CommitResult.CONFLICT:
        assert has(world, 1, 2)
        assert commit(world, late) is CommitResult.DONE
    assert positions(world) == {1: 3}
    assert has(world, 1, 2, 3)
