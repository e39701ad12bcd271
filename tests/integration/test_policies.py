"""What each switch of mirroring.json does to a table that is there, by Spark and Delta."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from openmirror.plan import Decision, plan
from openmirror.plan.decisions import Idle, Pause, Wait, WaitKind
from openmirror.plan.features import CHANGE_DATA_FEED
from openmirror.ports import BadFile, CommitResult, Step
from openmirror.protocol.rules import Code
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark import committing
from openmirror.spark.transacting import activate, fresh_session
from openmirror.status import table_status
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.harness.publishing import file_name
from tests.zone import MIRROR, Mirror, Zone, bag


def settings(zone: Zone, table: str | None = None, feed: bool | None = None, **ours: Any) -> None:
    """Write mirroring.json, for all tables or for one."""
    section = {"tables": {table: ours}} if table else ours
    target = {} if feed is None else {"enableDeltaChangeDataFeed": feed}
    document = {"properties": {"target": {"typeProperties": target}}, "openmirror": section}
    (zone.root / layout.mirror_settings(MIRROR)).write_text(json.dumps(document))


def log_of(mirror: Mirror, path: str) -> TableLog:
    log = mirror.observed(path).log
    assert isinstance(log, TableLog)
    return log


def is_on(log: TableLog, name: str) -> bool:
    return log.properties.get(f"delta.enable{name}") == "true"


def feed(mirror: Mirror, path: str, first: int, last: int) -> Counter[tuple[int, str]]:
    """Rows of the change data feed, by version and kind of change."""
    reader = mirror.spark.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", first).option("endingVersion", last)
    rows = reader.load(str(mirror.delta_path(path))).collect()
    return Counter((row["_commit_version"], row["_change_type"]) for row in rows)


def rows_for_spark(mirror: Mirror, path: str) -> list[dict[str, Any]]:
    frame = mirror.spark.read.format("delta").load(str(mirror.delta_path(path)))
    return frame.toArrow().to_pylist()


def change(marker: int, *ids: int, **more: Any) -> dict[str, Any]:
    rows: dict[str, Any] = {"id": list(ids), **{k: [v] * len(ids) for k, v in more.items()}}
    return rows | {"__rowMarker__": [marker] * len(ids)}


def test_a_switch_reaches_a_table_with_its_next_batch_by_one_commit_of_its_own(
    zone: Zone, mirror: Mirror
) -> None:
    zone.metadata("t", {"keyColumns": ["id"]})
    zone.put("t", 1, change(0, 1, 2, 3, v="a"))
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    before = log_of(mirror, "t")

    settings(zone, "DBO.T", deletionVectors=True, clustering=["ID", "later"])
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert log_of(mirror, "t") == before, "a table without anything to apply is left alone"

    zone.put("t", 2, change(1, 2, v="b", later=1))
    mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert (is_on(log, "DeletionVectors"), log.clustering) == (True, ("id",))
    assert log.version == before.version + 3, "properties, clustering and the batch"
    assert log.table_id == before.table_id

    zone.put("t", 3, change(2, 3))
    mirror.reconcile_until_idle("t")
    assert log_of(mirror, "t").clustering == ("id", "later"), "it came with the batch before"
    assert log_of(mirror, "t").version == log.version + 2

    settings(zone, deletionVectors=False, clustering=[])
    zone.put("t", 4, change(4, 4, v="d", later=2))
    mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert (is_on(log, "DeletionVectors"), log.clustering) == (False, ())
    assert bag(mirror.rows("t")) == bag(
        [
            {"id": 1, "v": "a", "later": None},
            {"id": 2, "v": "b", "later": 1},
            {"id": 4, "v": "d", "later": 2},
        ]
    )

    settings(zone)
    zone.put("t", 5, change(2, 4))
    mirror.reconcile_until_idle("t")
    assert log_of(mirror, "t").version == log.version + 1, "what is not set is left alone"


def test_a_change_data_feed_has_every_change_of_a_batch_and_a_rewrite_as_all_rows(
    zone: Zone, mirror: Mirror
) -> None:
    settings(zone, feed=True, deletionVectors=True, clustering=["id"])
    zone.metadata("t", {"keyColumns": ["id"]})
    narrow = pa.array([1, 2], pa.int32())
    zone.put("t", 1, pa.table({"id": [1, 2], "n": narrow}))
    mirror.reconcile_until_idle("t")
    zone.put("t", 2, pa.table({"id": [3, 4], "n": narrow}))
    mirror.reconcile_until_idle("t")
    zone.put("t", 3, change(1, 1, 5, n=9) | {"n": pa.array([9, 9], pa.int32())})
    mirror.reconcile_until_idle("t")
    zone.put("t", 4, pa.table({"id": [4], "__rowMarker__": [2]}))
    mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert (is_on(log, "ChangeDataFeed"), log.clustering) == (True, ("id",))
    assert feed(mirror, "t", 0, log.version) == {
        (0, "insert"): 2,
        (1, "insert"): 2,
        (2, "update_preimage"): 1,
        (2, "update_postimage"): 1,
        (2, "insert"): 1,
        (3, "delete"): 1,
    }

    zone.put("t", 5, pa.table({"id": [6], "n": [2**40]}))  # a type grows
    mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert (is_on(log, "ChangeDataFeed"), is_on(log, "DeletionVectors")) == (True, True)
    assert (log.clustering, log.schema.find("n").type) == (("id",), "long")
    assert feed(mirror, "t", 4, 4) == {(4, "delete"): 4, (4, "insert"): 5}
    with pytest.raises(PySparkException, match="INCOMPATIBLE_DATA_SCHEMA"):
        feed(mirror, "t", 0, 4)

    zone.put("t", 6, pa.table({"id": [7], "a name": [1]}))  # column mapping
    committed, commit = [], mirror.engine.commit

    def watched(*given: Any) -> CommitResult:
        committed.append(given)
        return commit(*given)

    mirror.engine.commit = watched  # type: ignore[method-assign]
    mirror.reconcile_until_idle("t")
    mirror.engine.commit = commit  # type: ignore[method-assign]
    after = log_of(mirror, "t")
    assert is_on(after, "ChangeDataFeed")
    assert after.properties["delta.columnMapping.mode"] == "name"
    assert after.version == log.version + 2, "the feed is back right after the rewrite"
    zone.put("t", 7, pa.table({"id": [7], "__rowMarker__": [2]}))
    mirror.reconcile_until_idle("t")
    assert feed(mirror, "t", after.version, after.version + 1) == {(after.version + 1, "delete"): 1}
    assert len(rows_for_spark(mirror, "t")) == 5

    # Whoever stalled before that rewrite wakes to a table that is another's by now.
    [(batch, _, transaction, record)] = committed
    table = f"delta.`{mirror.delta_path('t')}`"
    mirror.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{CHANGE_DATA_FEED}' = 'false')")
    prepared = mirror.engine.read(batch)
    assert not isinstance(prepared, BadFile)
    mirror.engine.commit(batch, prepared, transaction, record)
    prepared.release()
    assert not is_on(log_of(mirror, "t"), "ChangeDataFeed")


def test_a_new_table_with_everything_on_is_dropped_and_made_again_without(
    zone: Zone, mirror: Mirror
) -> None:
    settings(
        zone,
        feed=True,
        deletionVectors=True,
        clustering=["a.b", "x=y", "missing"],
        zonelessTimestamps="ntz",
        insert="upsert",
    )
    moment = datetime(1850, 1, 2, 3, 4, 5, 600, tzinfo=UTC).replace(tzinfo=None)
    zone.metadata("t", {"keyColumns": ["a.b"]})
    for number in (1, 2):
        rows = {"a.b": [1, 1], "x=y": ["p", "q"], "c d": [number] * 2, "at": [moment] * 2}
        zone.put("t", number, rows)
        mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert log.clustering == ("a.b", "x=y")
    assert is_on(log, "ChangeDataFeed")
    assert is_on(log, "DeletionVectors")
    assert [c.type for c in log.schema.columns][-1] == "timestamp_ntz"
    assert rows_for_spark(mirror, "t") == [{"a.b": 1, "x=y": "q", "c d": 2, "at": moment}]

    settings(zone)
    for file in zone.folder("t").iterdir():
        file.unlink()
    zone.folder("t").rename(zone.landing / "_gone")
    zone.put("t", 1, {"id": [1]})
    mirror.reconcile_until_idle("t")
    log = log_of(mirror, "t")
    assert log.clustering == ()
    assert not is_on(log, "ChangeDataFeed")
    assert not is_on(log, "DeletionVectors")
    assert rows_for_spark(mirror, "t") == [{"id": 1}]
    zone.folder("t").rename(zone.landing / "_gone too")
    mirror.reconcile_until_idle("t")
    mirror.reconcile_until_idle("t")
    assert not mirror.delta_path("t").exists()


def test_a_clustered_rewrite_loses_no_commit_that_lands_after_it_has_begun(
    zone: Zone, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(zone, clustering=["id"])
    zone.put("t", 1, pa.table({"id": [1], "n": pa.array([1], pa.int32())}))
    mirror.reconcile_until_idle("t")
    write = committing._create_or_replace_clustered
    others = iter([2, 3])

    def interrupted(*args: Any, **more: Any) -> None:
        for number in others:
            row = fresh_session(mirror.spark).sql(f"SELECT {number}L AS id, {number} AS n")
            row.writeTo(f"delta.`{mirror.delta_path('t')}`").append()
        activate(args[0].sparkSession)
        write(*args, **more)

    monkeypatch.setattr(committing, "_create_or_replace_clustered", interrupted)
    zone.put("t", 2, {"id": [4], "n": [2**40]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    log = log_of(mirror, "t")
    assert (log.clustering, log.schema.find("n").type) == (("id",), "long")
    assert sorted(row["id"] for row in mirror.rows("t")) == [1, 2, 3, 4]


def test_a_late_runner_sets_nothing_of_a_table_that_was_made_anew_meanwhile(
    zone: Zone, mirror: Mirror
) -> None:
    zone.metadata("t", {"keyColumns": ["id"]})
    zone.put("t", 1, {"id": [1], "k": [1]})
    mirror.reconcile_until_idle("t")
    settings(zone, clustering=["k"], deletionVectors=True)
    zone.put("t", 2, change(1, 1, k=2))
    others = iter([mirror])

    def made_anew(step: Step) -> None:
        for other in others if step is Step.BEFORE_COMMIT else ():
            settings(zone)
            shutil.rmtree(zone.folder("t"))
            zone.put("t", 1, {"id": [7]})
            other.reconcile_until_idle("t")

    late = mirror.with_steps(made_anew)
    assert reconcile(late.ports, late.engine, late.table("t")).reschedule
    assert mirror.rows("t") == [{"id": 7}]
    log = log_of(mirror, "t")
    assert (is_on(log, "DeletionVectors"), log.clustering) == (False, ())
    assert mirror.control("t").failures is None


def test_what_delta_cannot_do_for_a_table_is_a_warning_and_the_table_goes_on(
    zone: Zone, mirror: Mirror
) -> None:
    many = {f"c{number}": [number] for number in range(40)}
    settings(zone, feed=True, clustering=["flag", "c39", "id", "bytes"])
    columns = {"flag": [True], "bytes": [b"x"], "id": [1], "_change_type": ["mine"], **many}
    zone.metadata("quoted", {"keyColumns": ["id"]})
    for number in (1, 2):
        zone.put("t", number, columns)
        zone.put("quoted", number, change(4, 1, **({"x`y": 1} if number > 1 else {})))
        assert isinstance(mirror.reconcile_until_idle("t"), Idle)
        assert isinstance(mirror.reconcile_until_idle("quoted"), Idle)
        assert is_on(log_of(mirror, "quoted"), "ChangeDataFeed") is (number == 1)
    observed = mirror.observed("t")
    log = log_of(mirror, "t")
    assert (log.clustering, is_on(log, "ChangeDataFeed")) == (("id",), False)
    assert len(mirror.rows("t")) == 2
    warned = table_status(observed, plan(observed, mirror.ports.limits, observed.at)).warnings
    assert [warning.code for warning in warned] == [Code.TABLE_SETTING_UNMET.value] * 4
    details = "\n".join(warning.detail for warning in warned)
    for what in ("'flag'", "'c39'", "'bytes'", "'_change_type'", "boolean", "first 32"):
        assert what in details


def test_a_column_keeps_its_kind_of_timestamp_when_the_switch_changes(
    zone: Zone, mirror: Mirror
) -> None:
    moment = datetime(2026, 3, 29, 2, 30, tzinfo=UTC).replace(tzinfo=None)
    zoned = pa.array([moment], pa.timestamp("us", tz="UTC"))
    zone.put("t", 1, {"id": [1], "utc": [moment]})
    mirror.reconcile_until_idle("t")
    settings(zone, zonelessTimestamps="ntz")
    zone.put("t", 2, {"id": [2], "utc": [moment], "ntz": [moment]})
    mirror.reconcile_until_idle("t")
    settings(zone)
    zone.put("t", 3, {"id": [3], "utc": zoned, "ntz": [moment], "new": [moment]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    types = {c.name: c.type for c in log_of(mirror, "t").schema.columns}
    assert types == {
        "id": "long",
        "utc": "timestamp",
        "ntz": "timestamp_ntz",
        "new": "timestamp",
    }
    aware = moment.replace(tzinfo=UTC)
    last = max(rows_for_spark(mirror, "t"), key=lambda row: row["id"])
    assert last == {"id": 3, "utc": aware, "ntz": moment, "new": aware}

    zone.put("t", 4, {"id": [4], "ntz": zoned})
    stopped: Decision = mirror.reconcile_until_idle("t")
    assert isinstance(stopped, Pause)
    assert stopped.problem.code is Code.SCHEMA_MERGE_FAILURE
    assert "'ntz'" in stopped.problem.detail


def test_a_table_of_text_has_the_quiet_period_that_is_set_for_it_and_keeps_times_without_a_zone(
    zone: Zone, mirror: Mirror
) -> None:
    columns = [{"Name": "id", "DataType": "Int64"}, {"Name": "at", "DataType": "DateTime"}]
    zone.metadata("t", {"FileFormat": "CSV", "SchemaDefinition": {"Columns": columns}})
    rows = b"id,at\n1,2026-03-29 02:30:00.5\n2,2026-03-29T02:30:00+02:00\n3,\n"
    settings(zone, "dbo.t", zonelessTimestamps="ntz", quietPeriod="9d")
    zone.put_bytes("t", file_name(1, "csv"), rows)
    waits = mirror.reconcile_until_idle("t")
    assert isinstance(waits, Wait)
    assert waits.waiting.kind is WaitKind.QUIET_PERIOD
    settings(zone, zonelessTimestamps="ntz")
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert log_of(mirror, "t").schema.columns[1].type == "timestamp_ntz"
    first = datetime(2026, 3, 29, 2, 30, 0, 500_000, tzinfo=UTC).replace(tzinfo=None)
    second = datetime(2026, 3, 29, 0, 30, tzinfo=UTC).replace(tzinfo=None)
    assert [row["at"] for row in mirror.rows("t")] == [first, second, None]


def test_upserting_inserts_make_no_second_row_and_tables_without_keys_grow(
    zone: Zone, mirror: Mirror
) -> None:
    settings(zone, insert="upsert")
    zone.metadata("keyed", {"keyColumns": ["id"]})
    for table in ("keyed", "keyless"):
        for number in (1, 2):
            zone.put(table, number, {"id": [1, 1, 2], "v": [number, number + 1, number + 2]})
            mirror.reconcile_until_idle(table)
    assert bag(mirror.rows("keyed")) == bag([{"id": 1, "v": 3}, {"id": 2, "v": 4}])
    assert len(mirror.rows("keyless")) == 6
    batch_record = log_of(mirror, "keyed").batch_record
    assert batch_record is not None
    assert batch_record.rows == {"inserts": 0, "updates": 3, "deletes": 0}
    zone.put("keyed", 3, change(0, 3, 3, v=9))
    mirror.reconcile_until_idle("keyed")
    assert bag(mirror.rows("keyed"))[-1:] == bag([{"id": 3, "v": 9}])
