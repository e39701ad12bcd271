"""The replayed log says what Delta would say, and says so when it cannot."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from openmirror.deltalog import LogReplay
from openmirror.errors import ConditionFailed
from openmirror.ports import FileStore
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.sequence import FENCED
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join
from openmirror.table.log import AppId, BatchRecord, BrokenLog, Epoch, TableLog
from openmirror.table.user_metadata import encode
from tests.harness.stores import Call, WatchedStore

TABLE = StorePath("lake/m/Tables/dbo/orders")
LOG = join(TABLE, "_delta_log")
FOLDER = TableFolder("m", TablePath("", "Orders"))
Action = dict[str, object]


def app(number: int) -> AppId:
    return Epoch(FOLDER, Incarnation("i1"), number).app_id


def metadata(table_id: str = "t1", fields: list[Action] | None = None, **more: object) -> Action:
    schema = {"type": "struct", "fields": fields or [field("id", "long")]}
    about = {"id": table_id, "schemaString": json.dumps(schema), "partitionColumns": []}
    return {"metaData": {**about, "format": {"provider": "parquet"}, "configuration": {}, **more}}


def field(name: str, kind: object, **more: object) -> Action:
    return {"name": name, "type": kind, "nullable": True, "metadata": more}


PROTOCOL: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def txn(number: int, version: int) -> Action:
    return {"txn": {"appId": app(number), "version": version}}


def batch_record(last: int) -> BatchRecord:
    return BatchRecord(
        operation="o", folder="m/Orders", kind="append", first=last, last=last, files=1
    )


def info(last: int, **more: object) -> Action:
    return {
        "commitInfo": {"timestamp": 1000 * last, "userMetadata": encode(batch_record(last)), **more}
    }


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore(MemoryStore(lambda: datetime.now(UTC)))


def reads(store: WatchedStore) -> list[str]:
    """The names of the files of the log that were read, in order."""
    names = (path.rpartition("/")[2] for path in store.asked("read"))
    return [name for name in names if name != "_last_checkpoint"]


def name(version: int) -> str:
    return f"{version:020d}.json"


def lines(*actions: Action) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def commit(store: FileStore, version: int, *actions: Action) -> None:
    store.write(join(LOG, name(version)), lines(*actions))


def begin(store: FileStore, *actions: Action, **about: object) -> None:
    commit(store, 0, {"commitInfo": {}}, PROTOCOL, metadata(**about), *actions)  # type: ignore[arg-type]


def checkpoint(store: FileStore, file: str, *actions: Action) -> None:
    """A checkpoint as Delta lays it out: one row an action, one struct column a kind."""
    pairs = pa.map_(pa.string(), pa.string())
    kinds = {
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64()}),
        "metaData": pa.struct(
            {"id": pa.string(), "schemaString": pa.string(), "configuration": pairs}
        ),
        "protocol": pa.struct(
            {"minReaderVersion": pa.int32(), "readerFeatures": pa.list_(pa.string())}
        ),
        "add": pa.struct({"path": pa.string()}),
    }
    columns = {
        kind: pa.array([action.get(kind) for action in actions], shape)
        for kind, shape in kinds.items()
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    store.write(join(LOG, file), buffer.getvalue())


def whole(*transactions: Action) -> tuple[Action, ...]:
    about = metadata()["metaData"]
    assert isinstance(about, dict)
    return (
        {"add": {"path": "a"}},
        PROTOCOL,
        {"metaData": {**about, "configuration": None}},
        *transactions,
    )


def read(store: FileStore) -> TableLog:
    log = LogReplay(store).read(TABLE)
    assert isinstance(log, TableLog), log
    return log


def broken(store: FileStore) -> str:
    log = LogReplay(store).read(TABLE)
    assert isinstance(log, BrokenLog), log
    assert log.path == TABLE
    return log.reason


# No table at all


def test_there_is_no_table_without_a_log_folder(store: WatchedStore) -> None:
    assert LogReplay(store).read(TABLE) is None


def test_there_is_no_table_in_a_log_folder_that_holds_no_commit(store: WatchedStore) -> None:
    # What a writer leaves that died before its first commit.
    store.write(join(LOG, f".{name(0)}.1234.tmp"), b"")
    assert LogReplay(store).read(TABLE) is None


# What a log says


def test_commits_are_replayed_in_order(store: WatchedStore) -> None:
    begin(store, txn(1, 3))
    commit(store, 1, txn(1, 5), {"txn": {"appId": "a stranger", "version": 9}})
    log = read(store)
    assert log.version == 1
    assert log.transactions == {app(1): 5, "a stranger": 9}
    assert log.table_id == "t1"
    assert log.live == (Epoch(FOLDER, Incarnation("i1"), 1), 5)


def test_the_newest_metadata_counts(store: WatchedStore) -> None:
    begin(store)
    fields = [
        field("Id", "long", **{"delta.columnMapping.physicalName": "col-1"}),
        field("price", "decimal(10, 2)"),
        field("at", "timestamp"),
        field("s", {"type": "struct", "fields": [field("x", "long")]}),
        field("l", {"type": "array", "elementType": "long", "containsNull": True}),
        field("m", {"type": "map", "keyType": "string", "valueType": "long"}),
    ]
    commit(store, 1, metadata("t2", fields, configuration={"delta.columnMapping.mode": "name"}))
    log = read(store)
    assert log.table_id == "t2"
    assert log.properties == {"delta.columnMapping.mode": "name"}
    assert [(c.name, c.type) for c in log.schema.columns] == [
        ("Id", "long"),  # the logical name
        ("price", "decimal(10,2)"),
        ("at", "timestamp"),
        ("s", "struct"),
        ("l", "array"),
        ("m", "map"),
    ]


def test_files_that_are_no_commits_are_passed_over(store: WatchedStore) -> None:
    begin(store)
    for stray in (
        f"{0:020d}.{0:020d}.compacted.json",
        f"{0:020d}.crc",
        "_last_checkpoint",
        "x.json",
    ):
        store.write(join(LOG, stray), b"?")
    store.write(join(LOG, "_sidecars", "s.parquet"), b"?")
    assert read(store).version == 0


# Checkpoints

V2 = "3f2c1a00-0000-4000-8000-000000000000"


@pytest.mark.parametrize("kind", ["classic", "multi-part", "v2 parquet", "v2 json"])
def test_every_kind_of_checkpoint_stands_for_the_commits_before_it(
    store: WatchedStore, kind: str
) -> None:
    everything = whole(txn(1, 7), txn(2, FENCED))
    prefix = f"{4:020d}.checkpoint"
    if kind == "classic":
        checkpoint(store, f"{prefix}.parquet", *everything)
    elif kind == "multi-part":
        checkpoint(store, f"{prefix}.{1:010d}.{2:010d}.parquet", *everything[:2])
        checkpoint(store, f"{prefix}.{2:010d}.{2:010d}.parquet", *everything[2:])
    elif kind == "v2 parquet":
        checkpoint(store, f"{prefix}.{V2}.parquet", *everything)
    else:
        store.write(join(LOG, f"{prefix}.{V2}.json"), lines(*everything))
    assert (read(store).version, read(store).transactions) == (4, {app(1): 7, app(2): FENCED})
    commit(store, 5, txn(1, 8))
    assert (read(store).version, read(store).transactions[app(1)]) == (5, 8)
    assert read(store).schema.names == ("id",)


def test_a_checkpoint_that_lacks_a_part_is_not_one(store: WatchedStore) -> None:
    begin(store, txn(1, 1))
    commit(store, 1, txn(1, 2))
    checkpoint(store, f"{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet", *whole())
    assert read(store).transactions == {app(1): 2}


def test_a_damaged_checkpoint_is_replaced_by_the_commits_when_they_are_there(
    store: WatchedStore,
) -> None:
    begin(store, txn(1, 1))
    commit(store, 1, txn(1, 2))
    store.write(join(LOG, f"{1:020d}.checkpoint.parquet"), b"PAR1 damaged PAR1")
    assert read(store).transactions == {app(1): 2}


def test_a_large_checkpoint_is_read_in_parts(store: WatchedStore) -> None:
    paths = [f"{i * 0x9E3779B97F4A7C15 % 2**64:x}" for i in range(300_000)]
    adds: list[Action] = [{"add": {"path": path}} for path in paths]
    checkpoint(store, f"{1:020d}.checkpoint.parquet", *adds, *whole(txn(1, 7)))
    size = next(e.size for e in store.list_folder(LOG).entries)
    assert read(store).transactions == {app(1): 7}
    assert len(reads(store)) < size // (1 << 20)


# What deltalake writes


def append(root: Path, last: int) -> None:
    at = pa.array([last], pa.timestamp("us", "UTC"))
    properties = CommitProperties(
        app_transactions=[Transaction(app(1), last)],
        custom_metadata={"userMetadata": encode(batch_record(last))},
    )
    table = pa.table({"id": [last], "when": at})
    write_deltalake(root, table, mode="append", commit_properties=properties)


def take(root: Path, store: FileStore, taken: dict[str, bytes]) -> None:
    """Copy what is new in a real log, so that what is old keeps its ETag."""
    for file in (root / "_delta_log").iterdir():
        data = file.read_bytes()
        if taken.get(file.name) != data:
            store.write(join(LOG, file.name), data)
            taken[file.name] = data


def agree(log: TableLog | BrokenLog | None, root: Path, last: int) -> None:
    table = DeltaTable(root)
    assert isinstance(log, TableLog)
    assert (log.version, log.table_id) == (table.version(), str(table.metadata().id))
    assert log.transactions == {app(1): table.transaction_version(app(1))} == {app(1): last}
    assert [(c.name, c.type) for c in log.schema.columns] == [("id", "long"), ("when", "timestamp")]
    assert log.batch_record is not None
    assert log.batch_record.last == last
    assert log.batch_record.committed_at is not None
    assert abs(log.batch_record.committed_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_it_agrees_with_deltalake_commit_by_commit(tmp_path: Path, store: WatchedStore) -> None:
    replay, taken = LogReplay(store), dict[str, bytes]()
    for last in range(1, 6):
        append(tmp_path, last)
        take(tmp_path, store, taken)
        agree(replay.read(TABLE), tmp_path, last)
    assert sorted(reads(store)) == [name(version) for version in range(5)]
    assert [n.last for n in replay.history(TABLE, 3)] == [5, 4, 3]


def test_it_agrees_with_deltalake_from_a_checkpoint_on(tmp_path: Path, store: WatchedStore) -> None:
    for last in range(1, 6):
        append(tmp_path, last)
    DeltaTable(tmp_path).create_checkpoint()
    for old in range(4):
        (tmp_path / "_delta_log" / name(old)).unlink()
    append(tmp_path, 6)
    take(tmp_path, store, {})
    agree(LogReplay(store).read(TABLE), tmp_path, 6)
    assert f"{4:020d}.checkpoint.parquet" in reads(store)


# The notes of our commits


def test_the_batch_record_is_the_newest_one_of_ours(store: WatchedStore) -> None:
    begin(store, txn(1, 1), info(1))
    commit(store, 1, txn(1, 2), info(2))
    commit(store, 2, {"commitInfo": {"timestamp": 5, "userMetadata": "OPTIMIZE"}})
    found = read(store).batch_record
    assert found is not None
    assert (found.last, found.committed_at) == (2, datetime.fromtimestamp(2, UTC))


def test_the_in_commit_time_goes_before_the_writers_clock(store: WatchedStore) -> None:
    begin(store, txn(1, 1), info(1, inCommitTimestamp=9000))
    found = read(store).batch_record
    assert found is not None
    assert found.committed_at == datetime.fromtimestamp(9, UTC)


def test_the_batch_record_is_searched_behind_the_checkpoint(store: WatchedStore) -> None:
    commit(store, 3, txn(1, 3), info(3))
    commit(store, 4, {"commitInfo": {}})
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole(txn(1, 3)))
    found = read(store).batch_record
    assert found is not None
    assert found.last == 3


def test_a_damaged_commit_before_the_checkpoint_costs_the_batch_record_only(
    store: WatchedStore,
) -> None:
    store.write(join(LOG, name(3)), b"{damaged")
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole(txn(1, 3)))
    assert read(store).batch_record is None


def test_history_is_newest_first_and_leaves_out_strangers(store: WatchedStore) -> None:
    begin(store, info(1))
    commit(store, 1, info(2))
    commit(store, 2, {"commitInfo": {"userMetadata": "OPTIMIZE"}})
    commit(store, 3, info(3))
    replay = LogReplay(store)
    assert [n.last for n in replay.history(TABLE, 10)] == [3, 2, 1]
    assert [n.last for n in replay.history(TABLE, 2)] == [3, 2]
    assert replay.history(StorePath("lake/m/Tables/dbo/none"), 2) == []


# Where a fenced epoch was


def test_a_fenced_epoch_keeps_the_position_it_had(store: WatchedStore) -> None:
    begin(store, txn(1, 3))
    commit(store, 1, txn(1, 6))
    commit(store, 2, txn(1, FENCED), txn(2, FENCED))
    log = read(store)
    assert log.live is None
    assert log.before_fence == {app(1): 6, app(2): 0}  # the second never applied anything
    assert log.last_fenced == (Epoch(FOLDER, Incarnation("i1"), 1), 6)


def test_before_fence_is_not_read_while_an_epoch_is_live(store: WatchedStore) -> None:
    begin(store, txn(1, 3))
    commit(store, 1, txn(1, FENCED))
    commit(store, 2, txn(2, 3))
    assert read(store).before_fence == {}


def test_before_fence_is_found_in_commits_that_a_checkpoint_covers(store: WatchedStore) -> None:
    commit(store, 3, txn(1, 6))
    commit(store, 4, txn(1, FENCED))
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole(txn(1, FENCED)))
    assert read(store).before_fence == {app(1): 6}


def test_before_fence_is_found_in_a_checkpoint_when_the_commit_is_gone(
    store: WatchedStore,
) -> None:
    checkpoint(store, f"{3:020d}.checkpoint.parquet", *whole(txn(1, 6)))
    commit(store, 4, txn(1, FENCED))
    assert read(store).before_fence == {app(1): 6}
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole(txn(1, FENCED)))
    assert read(store).before_fence == {app(1): 6}


def test_a_damaged_commit_on_the_way_to_the_fenced_position_breaks_the_log(
    store: WatchedStore,
) -> None:
    # Passing over it would find 3, and apply 4 to 6 twice.
    commit(store, 2, txn(1, 3))
    store.write(join(LOG, name(3)), b"{damaged")
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole(txn(1, FENCED)))
    assert f"{name(3)}, line 1 is not JSON" in broken(store)


# Logs that cannot be read


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({0: lines(PROTOCOL, metadata()), 2: lines(txn(1, 2))}, "version 1 is missing"),
        ({1: lines(PROTOCOL, metadata())}, "version 0 is missing"),
        # A version that nobody could count up to.
        ({0: lines(PROTOCOL, metadata()), 10**19: b""}, "version 1 is missing"),
        ({0: lines(PROTOCOL, metadata()) + b'{"txn": {'}, "line 3 is not JSON"),
        ({0: b"\xff\xfe\x00"}, "line 1 is not JSON"),
        ({0: b"[1]\n"}, "line 1 is not an action"),
        ({0: b""}, "is empty"),
        ({0: lines(PROTOCOL)}, "no metaData action"),
        ({0: lines(metadata())}, "no protocol action"),
        ({0: lines(PROTOCOL, metadata(schemaString="{"))}, "bad metaData action"),
        ({0: lines(PROTOCOL, metadata(), {"txn": {"appId": "a"}})}, "bad txn action"),
        ({0: lines(PROTOCOL, metadata(), {"txn": 5})}, "bad txn action"),
        ({0: lines({"protocol": {"readerFeatures": ["catalogManaged"]}})}, "catalog"),
    ],
)
def test_a_log_that_cannot_be_read_says_why(
    store: WatchedStore, files: dict[int, bytes], reason: str
) -> None:
    for version, data in files.items():
        store.write(join(LOG, name(version)), data)
    assert reason in broken(store)


def test_versions_that_lack_after_a_checkpoint_break_the_log(store: WatchedStore) -> None:
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole())
    commit(store, 6, txn(1, 2))
    assert "version 5 is missing" in broken(store)


def test_a_damaged_checkpoint_without_the_commits_breaks_the_log(store: WatchedStore) -> None:
    store.write(join(LOG, f"{4:020d}.checkpoint.parquet"), b"PAR1 damaged PAR1")
    commit(store, 5, txn(1, 2))
    assert f"{4:020d}.checkpoint.parquet cannot be read" in broken(store)


@pytest.mark.parametrize(
    "left", [f"{4:020d}.crc", "_last_checkpoint", f"{4:020d}.checkpoint.{1:010d}.{2:010d}.parquet"]
)
def test_the_remains_of_a_log_are_not_taken_for_no_table(store: WatchedStore, left: str) -> None:
    store.write(join(LOG, left), b"?")
    assert left in broken(store)


def test_a_store_that_fails_is_not_a_broken_log(store: WatchedStore) -> None:
    checkpoint(store, f"{4:020d}.checkpoint.parquet", *whole())

    def fail(call: Call) -> None:
        if call.method == "read":
            raise OSError("no route to host")

    store.before = fail
    with pytest.raises(OSError, match="no route"):
        LogReplay(store).read(TABLE)


# Reading again


def test_an_unchanged_log_is_not_read_again(store: WatchedStore) -> None:
    begin(store, txn(1, 1), info(1))
    replay = LogReplay(store)
    first = replay.read(TABLE)
    store.calls.clear()
    assert replay.read(TABLE) is first
    assert reads(store) == []


def test_only_new_commits_are_read(store: WatchedStore) -> None:
    begin(store, txn(1, 1), info(1))
    commit(store, 1, txn(1, 2))
    replay = LogReplay(store)
    replay.read(TABLE)
    store.calls.clear()
    commit(store, 2, {"commitInfo": {"timestamp": 5}}, txn(1, 3))
    log = replay.read(TABLE)
    assert isinstance(log, TableLog)
    assert reads(store) == [name(2)]
    assert log.transactions == {app(1): 3}
    assert log.batch_record is not None
    assert log.batch_record.last == 1  # carried on


def test_what_was_read_before_does_not_change_with_the_log(store: WatchedStore) -> None:
    begin(store, txn(1, 1))
    replay = LogReplay(store)
    first = replay.read(TABLE)
    assert isinstance(first, TableLog)
    commit(store, 1, txn(1, 2))
    replay.read(TABLE)
    assert first.transactions == {app(1): 1}


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_a_replaced_log_is_not_served_from_memory(store: WatchedStore, versions: int) -> None:
    begin(store, txn(1, 1))
    commit(store, 1, txn(1, 9))
    replay = LogReplay(store)
    replay.read(TABLE)
    store.move_folder(TABLE, StorePath("lake/m/_openmirror/dropped/dbo/orders/i1"))
    begin(store, txn(2, 1), table_id="other")
    for version in range(1, versions):
        commit(store, version, txn(2, version))
    log = replay.read(TABLE)
    assert isinstance(log, TableLog)
    assert (log.table_id, set(log.transactions)) == ("other", {app(2)})


def test_a_log_that_is_gone_is_not_served_from_memory(store: WatchedStore) -> None:
    begin(store)
    replay = LogReplay(store)
    replay.read(TABLE)
    store.move_folder(TABLE, StorePath("lake/elsewhere"))
    assert replay.read(TABLE) is None


def test_a_log_that_was_cut_back_is_not_served_from_memory(store: WatchedStore) -> None:
    begin(store, txn(1, 1))
    commit(store, 1, txn(1, 2))
    replay = LogReplay(store)
    replay.read(TABLE)
    store.delete_file(join(LOG, name(1)))
    log = replay.read(TABLE)
    assert isinstance(log, TableLog)
    assert (log.version, log.transactions) == (0, {app(1): 1})


def test_a_gap_that_is_filled_by_a_checkpoint_later_is_passed(store: WatchedStore) -> None:
    begin(store, txn(1, 1))
    replay = LogReplay(store)
    replay.read(TABLE)
    checkpoint(store, f"{2:020d}.checkpoint.parquet", *whole(txn(1, 3)))
    commit(store, 3, txn(1, 4))
    log = replay.read(TABLE)
    assert isinstance(log, TableLog)
    assert (log.version, log.transactions) == (3, {app(1): 4})


def test_a_second_pass_over_a_thousand_tables_reads_no_commit_again(store: WatchedStore) -> None:
    tables = [StorePath(f"lake/m/Tables/dbo/t{number}") for number in range(1000)]
    for table in tables:
        store.write(join(table, "_delta_log", name(0)), lines(PROTOCOL, metadata()))
    replay = LogReplay(store)
    for table in tables:
        replay.read(table)
    store.calls.clear()
    for table in tables:
        replay.read(table)
    assert reads(store) == []


def test_only_so_many_tables_are_remembered(store: WatchedStore) -> None:
    begin(store)
    other = StorePath("lake/m/Tables/dbo/other")
    store.write(join(other, "_delta_log", name(0)), lines(PROTOCOL, metadata()))
    replay = LogReplay(store, remember=1)
    for table in (TABLE, other, TABLE):
        store.calls.clear()
        replay.read(table)
        assert reads(store) == [name(0)]


# Logs that change while they are read


def overwritten_after_listing(store: WatchedStore, *table_ids: str) -> None:
    """After each listing of the log, its first commit becomes that of another table."""
    left = iter(table_ids)

    def overwrite(call: Call) -> None:
        if (
            call.method in ("list_folder", "list_from")
            and call.path == LOG
            and (table_id := next(left, None))
        ):
            store.write(join(LOG, name(0)), lines(PROTOCOL, metadata(table_id)))

    store.after = overwrite


def test_a_log_replaced_between_listing_and_reading_is_listed_again(store: WatchedStore) -> None:
    begin(store, txn(1, 1))
    overwritten_after_listing(store, "other")
    assert read(store).table_id == "other"


def test_a_log_that_never_stands_still_is_a_lost_race(store: WatchedStore) -> None:
    begin(store)
    overwritten_after_listing(store, *(str(i) for i in range(10)))
    with pytest.raises(ConditionFailed):
        LogReplay(store).read(TABLE)


# Logs of many commits


def many(store: FileStore, commits: int) -> None:
    """So many commits of ours, with the checkpoints and checksums that Delta leaves beside them."""
    begin(store, txn(1, 1), info(1))
    for version in range(1, commits):
        commit(store, version, info(version + 1), txn(1, version + 1))
        store.write(join(LOG, f"{version:020d}.crc"), b"{}")
    newest = (commits - 1) // 10 * 10
    for version in (newest - 10, newest):
        checkpoint(store, f"{version:020d}.checkpoint.parquet", *whole(txn(1, version + 1)))
    store.write(join(LOG, "_last_checkpoint"), json.dumps({"version": newest}).encode())


def costs(store: WatchedStore, replay: LogReplay) -> tuple[int, int, int]:
    """What a reading asks: all calls, files that are read, entries that are listed."""
    listed: list[int] = []
    inner = store._inner
    store.calls.clear()

    def after(call: Call) -> None:
        if call.method == "list_folder":
            listed.append(len(inner.list_folder(call.path).entries))

    store.after = after
    log = replay.read(TABLE)
    assert isinstance(log, TableLog), log
    assert log.batch_record is not None
    assert log.live is not None
    assert log.batch_record.last == log.live[1] == log.version + 1
    return len(store.calls), len({*store.asked("read")}), sum(listed)


def test_a_log_of_5000_commits_costs_what_one_of_50_does() -> None:
    found = []
    for commits in (54, 5_004):
        store = WatchedStore(MemoryStore(lambda: datetime.now(UTC)))
        many(store, commits)
        replay = LogReplay(store)
        first = costs(store, replay)
        again = costs(store, replay)
        commit(store, commits, info(commits + 1), txn(1, commits + 1))
        after_a_commit = costs(store, replay)
        found.append((first, again, after_a_commit))
    of_few, of_many = found
    assert of_few == of_many
    assert of_few[1:] == ((1, 0, 0), (2, 1, 0))


@pytest.mark.parametrize("ours", [1, 40])
def test_the_newest_commits_of_a_long_log_are_found_without_listing_it_whole(ours: int) -> None:
    store = WatchedStore(MemoryStore(lambda: datetime.now(UTC)))
    many(store, 1_204)
    for version in range(1_204, 1_204 + ours):
        commit(store, version, info(version + 1), txn(1, version + 1))
    for version in range(1_204 + ours, 1_210 + ours):
        commit(store, version, {"commitInfo": {"operation": "OPTIMIZE"}})
    store.calls.clear()
    found = LogReplay(store).history(TABLE, 5)
    assert [record.last for record in found] == list(range(1_204 + ours, 1_199 + ours, -1))
    assert not store.asked("list_folder")


def test_commits_of_ours_that_lie_far_behind_others_are_found_all_the_same() -> None:
    store = WatchedStore(MemoryStore(lambda: datetime.now(UTC)))
    many(store, 1_204)
    for version in range(1_204, 1_260):
        commit(store, version, {"commitInfo": {"operation": "OPTIMIZE"}})
    found = LogReplay(store).history(TABLE, 2)
    assert [record.last for record in found] == [1_204, 1_203]


def test_a_long_log_whose_note_of_its_checkpoint_is_wrong_is_read_all_the_same() -> None:
    for noted in (b"{", b"[]", b'{"version": "x"}', b'{"version": 7}', b'{"version": 99999999}'):
        store = WatchedStore(MemoryStore(lambda: datetime.now(UTC)))
        many(store, 1_204)
        store.write(join(LOG, "_last_checkpoint"), noted)
        assert read(store).version == 1_203


def test_what_is_known_is_not_gone_on_with_where_another_log_took_its_place(
    store: WatchedStore,
) -> None:
    many(store, 34)
    replay = LogReplay(store)
    replay.read(TABLE)
    store.delete_folder(LOG)
    assert replay.read(TABLE) is None
    begin(store, table_id="t2")
    for version in range(1, 60):
        commit(store, version, {"commitInfo": {}})
    log = replay.read(TABLE)
    assert isinstance(log, TableLog)
    assert (log.table_id, log.version, log.live) == ("t2", 59, None)


def test_a_process_that_was_away_goes_on_from_a_newer_checkpoint(store: WatchedStore) -> None:
    many(store, 34)
    replay = LogReplay(store)
    replay.read(TABLE)
    many(store, 404)  # the files that were known are those of before but for their ETags
    replay.read(TABLE)
    for version in range(404, 504):
        commit(store, version, info(version + 1), txn(1, version + 1))
    checkpoint(store, f"{500:020d}.checkpoint.parquet", *whole(txn(1, 501)))
    # The checkpoint, the commit that it was made of, and what came after it.
    assert costs(store, replay)[1] == 5


def test_a_gap_behind_what_is_known_is_damage(store: WatchedStore) -> None:
    many(store, 34)
    replay = LogReplay(store)
    replay.read(TABLE)
    commit(store, 35, info(36), txn(1, 36))
    log = replay.read(TABLE)
    assert isinstance(log, BrokenLog)
    assert "version 34 is missing" in log.reason
