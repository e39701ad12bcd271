"""A log says that keys are unique only where they are, whoever commits what, and whoever reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from openmirror.deltalog import LogReplay
from openmirror.plan import Batch
from openmirror.plan.features import TableFeatures
from openmirror.plan.maintenance_steps import LiveFile, TableFiles
from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.soft_deletes import MARKS
from openmirror.plan.unique_keys import check_is_due, unique_after, unique_at
from openmirror.protocol.names import Incarnation
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, apply_file, empty_table
from openmirror.protocol.schema import SchemaUnion, TableSchema
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.control import (
    BatchKind,
    FrozenOptions,
    KeysChecked,
    Maintenance,
    MaintenanceAsked,
)
from openmirror.table.layout import join
from openmirror.table.log import BatchRecord, Epoch, TableLog
from openmirror.table.user_metadata import encode
from tests.unit.test_delta_log_replay import (
    FOLDER,
    LOG,
    PROTOCOL,
    TABLE,
    Action,
    checkpoint,
    commit,
    metadata,
    name,
    txn,
)
from tests.unit.transitions.values import PATH, control, observed, record

OURS = (Marker.UPDATE, Marker.UPSERT, Marker.DELETE, Marker.INSERT)


def planned(kind: BatchKind, at: int | None) -> Batch:
    return Batch(
        folder=FOLDER,
        table=TABLE,
        kind=kind,
        epoch=Epoch(FOLDER, Incarnation("i1"), 1),
        first=Sequence(1),
        last=Position(1),
        files=(),
        frozen=FrozenOptions(key_columns=("k",)),
        union=SchemaUnion(TableSchema()),
        policy=TablePolicy(),
        features=TableFeatures(),
        applied=START,
        may_create=False,
        unique_at=at,
    )


def adds(**more: object) -> Action:
    return {"add": {"path": "f", "size": 1, "dataChange": True, **more}}


class World:
    """A table by the definition, and its log, to which ours and strangers commit."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.store = MemoryStore(lambda: datetime.now(UTC))
        self.table: Table = empty_table(["k"])
        self.version = -1
        self.kept = LogReplay(self.store)
        self.cleaned = self.claimed = 0

    def commit(self, *actions: Action) -> None:
        self.version += 1
        commit(self.store, self.version, *actions)

    def begin(self) -> None:
        """A table that its first batch makes: by upserts, or as a snapshot that only inserts."""
        marker = self.draw.choice([Marker.UPSERT, Marker.INSERT])
        self.commit(PROTOCOL, metadata(), *self.batch(BatchKind.REPLACE, None, [marker]))

    def batch(self, kind: BatchKind, at: int | None, markers: list[Marker]) -> list[Action]:
        changes = [Change(m, {"k": self.draw.randrange(4)}) for m in markers]
        apply_file(self.table, ChangeFile(("k",), changes))
        inserts = sum(m is Marker.INSERT for m in markers)
        record = BatchRecord(
            operation="o",
            folder="m/Orders",
            kind="extend",
            first=1,
            last=1,
            files=1,
            unique_after=unique_after(planned(kind, at), inserts),
        )
        info: Action = {"commitInfo": {"timestamp": 1, "userMetadata": encode(record)}}
        return [info, txn(1, self.version + 1), adds()]

    def step(self) -> None:
        """What anybody may do; a stranger may do it between our observation and our commit."""
        seen = self.read()
        for _ in range(self.draw.choice([0, 0, 0, 1, 2])):
            self.stranger()
        markers = self.draw.choices(OURS, weights=(5, 5, 3, 1), k=self.draw.randrange(1, 4))
        at = seen.version if seen.has_unique_keys else None
        self.commit(*self.batch(BatchKind.EXTEND, at, markers))

    def stranger(self) -> None:
        match self.draw.randrange(5):
            case 0:
                row = {"k": self.draw.randrange(4)}
                apply_file(self.table, ChangeFile(("k",), [Change(Marker.INSERT, row)]))
                self.commit({"commitInfo": {"operation": "WRITE"}}, adds())
            case 1:  # OPTIMIZE
                self.commit({"commitInfo": {}}, adds(dataChange=False))
            case 2:  # a fence, a property
                self.commit({"commitInfo": {}}, metadata())
            case 3:  # a writer that does not say whether it changed anything
                row = {"k": self.draw.randrange(4)}
                apply_file(self.table, ChangeFile(("k",), [Change(Marker.INSERT, row)]))
                self.commit({"remove": {"path": "f"}}, {"add": {"path": "g"}})

            case 4:  # a checkpoint, and a clean-up of what came before it
                file = f"{self.version:020d}.checkpoint.parquet"
                checkpoint(self.store, file, PROTOCOL, metadata(), txn(1, self.version))
                for version in range(self.cleaned, self.version):
                    self.store.delete_file(join(LOG, name(version)))
                self.cleaned = max(self.cleaned, self.version)

    def read(self) -> TableLog:
        """By a process that goes on, or by a new one."""
        log = self.draw.choice([self.kept, LogReplay(self.store)]).read(TABLE)
        assert isinstance(log, TableLog)
        keys = [row["k"] for row in self.table.rows]
        if log.has_unique_keys:
            self.claimed += 1
            assert len(keys) == len(set(keys)), (log.version, keys)
        return log


def test_whoever_reads_a_log_takes_keys_for_unique_only_where_they_are() -> None:
    claimed = 0
    for seed in range(100):
        world = World(seed)
        world.begin()
        for _ in range(12):
            world.step()
            try:
                world.read()
            except AssertionError as error:
                raise AssertionError(f"replay with: World({seed})") from error
        claimed += world.claimed
    assert claimed > 200, "hardly any log claimed it: this shows nothing"


AT = datetime(2026, 5, 1, tzinfo=UTC)
UPSERTED = BatchRecord(
    operation="o", folder="m/t", kind="extend", first=1, last=1, files=1, rows={"updates": 3}
)
LARGE = TableLog(
    path=PATH,
    table_id="t",
    version=7,
    transactions={},
    properties={"delta.enableDeletionVectors": "true"},
    batch_record=UPSERTED,
)
FILES = TableFiles(version=7, live=(LiveFile(1 << 30),))
CHECKED = KeysChecked(at=AT - timedelta(minutes=59), version=6, unique=False)


def seen(
    log: TableLog = LARGE, known: Maintenance | None = None, keys: tuple[str, ...] = ("k",)
) -> ObservedState:
    document = control(maintenance=known, record=record(frozen=FrozenOptions(key_columns=keys)))
    return observed(document, log=log, at=AT)


def test_a_check_holds_for_the_version_that_it_read_and_the_log_says_it_on() -> None:
    unique = replace(CHECKED, version=7, unique=True)
    assert unique_at(seen()) is None
    assert unique_at(seen(known=Maintenance(keys=unique))) == 7
    assert unique_at(seen(known=Maintenance(keys=replace(unique, version=6)))) is None
    assert unique_at(seen(known=Maintenance(keys=replace(unique, unique=False)))) is None
    assert unique_at(seen(replace(LARGE, has_unique_keys=True))) == 7


def rows(**counts: int) -> TableLog:
    return replace(LARGE, batch_record=replace(UPSERTED, rows=counts))


@pytest.mark.parametrize(
    ("observed", "files"),
    [
        (seen(replace(LARGE, version=8)), FILES),
        (seen(replace(LARGE, has_unique_keys=True)), FILES),
        (seen(replace(LARGE, properties={})), FILES),
        (seen(replace(LARGE, properties={**LARGE.properties, MARKS.property: "soft"})), FILES),
        (seen(rows(updates=3, inserts=1)), FILES),
        (seen(rows(updates=3, deletes=1)), FILES),
        (seen(rows(deletes=1)), FILES),
        (seen(replace(LARGE, batch_record=None)), FILES),
        (seen(keys=()), FILES),
        (seen(known=Maintenance(keys=CHECKED)), FILES),
        (seen(), TableFiles(version=7, live=(LiveFile((1 << 30) + 1),))),
    ],
)
def test_a_table_is_not_asked_where_nothing_comes_of_it_or_it_takes_long(
    observed: ObservedState, files: TableFiles
) -> None:
    assert not check_is_due(observed, files)


def test_a_table_of_upserts_is_asked_once_an_hour_and_when_an_operator_asks() -> None:
    assert check_is_due(seen(), FILES)
    earlier = replace(CHECKED, at=AT - timedelta(hours=1))
    assert check_is_due(seen(known=Maintenance(keys=earlier)), FILES)
    asked = MaintenanceAsked(at=AT, by="ann")
    larger = TableFiles(version=7, live=(LiveFile(1 << 40),))
    assert check_is_due(seen(known=Maintenance(keys=CHECKED, asked=asked)), larger)
