"""What a policy comes to: Delta's properties, a timestamp's type, how long waits last."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from openmirror.plan import Limits
from openmirror.plan.decisions import Drop, Idle, Wait
from openmirror.plan.features import LARGE, TableFeatures, features_of, features_of_new, unmet
from openmirror.plan.maintenance_steps import MaintenanceMode, MaintenancePolicy
from openmirror.plan.observed import OnceLarge, TablePolicy
from openmirror.plan.retention import KEPT, OURS
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import Column, ColumnType, TableSchema, in_table, union_schema
from openmirror.reconcile.clean import clean_table
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.harness.publishing import table
from tests.harness.world import World

DV, FEED = "delta.enableDeletionVectors", "delta.enableChangeDataFeed"
NTZ = ("delta.feature.timestampNtz", "supported")


def schema(columns: str) -> TableSchema:
    pairs = (word.partition(":") for word in columns.split())
    return TableSchema(tuple(Column(name, ColumnType(kind or "long")) for name, _, kind in pairs))


def log(columns: str, clustering: tuple[str, ...] = (), **properties: str) -> TableLog:
    return TableLog(
        path=StorePath("t"),
        table_id="i",
        version=0,
        transactions={},
        schema=schema(columns),
        properties={f"delta.{name}": value for name, value in properties.items()},
        clustering=clustering,
    )


def due(policy: TablePolicy, there: TableLog, file: str = "id") -> TableFeatures:
    union = union_schema(there.schema, schema(file))
    assert not isinstance(union, Broken)
    return features_of(policy, union, there)


# --- Delta's properties ---------------------------------------------------------------------------


def test_a_policy_that_says_nothing_asks_nothing_of_delta() -> None:
    assert features_of_new(TablePolicy(), schema("id")) == TableFeatures()
    by_hand = log("id", ("id",), enableDeletionVectors="true", enableChangeDataFeed="true")
    asked = due(TablePolicy(), by_hand)
    assert (asked.is_due, asked.clustering) == (False, ("id",)), "a rewrite keeps clustering"


def test_a_new_table_is_created_with_what_is_set_for_it_true_or_false() -> None:
    policy = TablePolicy(deletion_vectors=True, change_data_feed=False, clustering=("B", "x", "id"))
    asked = features_of_new(policy, schema("id b:string at:timestamp_ntz"))
    assert dict(asked.properties) == {DV: "true", FEED: "false", NTZ[0]: NTZ[1]}
    assert asked.clustering == ("b", "id")


@pytest.mark.parametrize(
    ("policy", "there", "properties"),
    [
        (TablePolicy(deletion_vectors=True), log("id"), ((DV, "true"),)),
        (TablePolicy(deletion_vectors=True), log("id", enableDeletionVectors="TRUE"), ()),
        (TablePolicy(deletion_vectors=False), log("id"), ()),
        (
            TablePolicy(deletion_vectors=False),
            log("id", enableDeletionVectors="true"),
            ((DV, "false"),),
        ),
        (TablePolicy(change_data_feed=True), log("id"), ((FEED, "true"),)),
        (TablePolicy(change_data_feed=True), log("id", enableChangeDataFeed="true"), ()),
    ],
)
def test_only_properties_that_a_table_has_otherwise_are_set(
    policy: TablePolicy, there: TableLog, properties: tuple[tuple[str, str], ...]
) -> None:
    assert due(policy, there).properties == properties


def test_deletion_vectors_come_by_themselves_once_a_table_is_large_and_never_go() -> None:
    policy = TablePolicy(deletion_vectors=OnceLarge.AUTO)
    union = union_schema(schema("id"), schema("id"))
    assert not isinstance(union, Broken)
    assert features_of_new(policy, schema("id")).properties == ()
    for size, found in ((0, ()), (LARGE - 1, ()), (LARGE, ((DV, "true"),))):
        assert features_of(policy, union, log("id"), size).properties == found
    for size in (0, LARGE):
        there = log("id", enableDeletionVectors="true")
        assert features_of(policy, union, there, size).properties == ()


def test_a_longer_retention_by_somebody_else_is_a_warning_where_a_shorter_one_is_asked_for() -> (
    None
):
    asked = TablePolicy(retention=timedelta(days=7), asks_retention=True)
    there = log("id", deletedFileRetentionDuration="interval 30 days")
    [words] = unmet(asked, there)
    assert "30 days" in words
    assert "unset it to have 7 days" in words
    assert not list(unmet(replace(asked, retention=timedelta(days=30)), there))
    assert not list(unmet(replace(asked, asks_retention=False), there))
    ours = replace(there, properties={**there.properties, OURS: "interval 30 days"})
    assert not list(unmet(asked, ours))
    cut_off = log("id", logRetentionDuration="interval 5 days")
    assert ["interval 5 days" in words for words in unmet(asked, cut_off)] == [True]
    assert due(asked, ours).properties == ((KEPT, "interval 7 days"), (OURS, "interval 7 days"))


def test_vectors_that_wait_for_surveys_which_nobody_makes_are_a_warning() -> None:
    off = MaintenancePolicy(mode=MaintenanceMode.OFF)
    policy = TablePolicy(deletion_vectors=OnceLarge.AUTO, maintenance=off)
    [words] = unmet(policy, log("id"))
    assert "openmirror maintain" in words
    assert not list(unmet(policy, log("id", enableDeletionVectors="true")))
    assert not list(unmet(replace(policy, deletion_vectors=True), log("id")))
    assert not list(unmet(replace(policy, maintenance=MaintenancePolicy()), log("id")))


def test_zoneless_timestamps_are_enabled_once_with_the_first_such_column() -> None:
    assert due(TablePolicy(), log("id"), "at:timestamp_ntz").properties == (NTZ,)
    assert due(TablePolicy(), log("id at:timestamp_ntz"), "b:timestamp_ntz").properties == ()


def test_a_feed_ends_before_a_column_comes_that_delta_cannot_feed() -> None:
    policy, there = TablePolicy(change_data_feed=True), log("id", enableChangeDataFeed="true")
    for column in ("_Change_Type", "x`y"):
        assert due(policy, there, column).properties == ((FEED, "false"),)
        assert features_of_new(policy, schema(column)).properties == ((FEED, "false"),)
        assert column in "".join(unmet(policy, log(column)))


@pytest.mark.parametrize("asked", [True, OnceLarge.AUTO, None])
def test_deletion_vectors_end_before_a_column_comes_that_hides_where_rows_lie(
    asked: bool | OnceLarge | None,
) -> None:
    policy, there = TablePolicy(deletion_vectors=asked), log("id", enableDeletionVectors="true")
    for column in ("_metadata", "_Metadata"):
        assert due(policy, there, column).properties == ((DV, "false"),)
        assert features_of_new(policy, schema(column)).properties == ((DV, "false"),)
        assert bool(list(unmet(policy, log(column)))) is (asked is True)


def test_clustering_is_by_what_the_table_has_already_and_set_only_when_it_differs() -> None:
    policy = TablePolicy(clustering=("later", "ID"))
    first = due(policy, log("id"), "later")
    assert (first.clustering, first.reclusters) == (("id",), True)
    then = due(policy, log("id later", ("id",)))
    assert (then.clustering, then.reclusters) == (("later", "id"), True)
    assert not due(policy, log("id later", ("later", "id"))).is_due
    ended = due(TablePolicy(clustering=()), log("id", ("id",)))
    assert (ended.clustering, ended.reclusters) == ((), True)


@pytest.mark.parametrize(
    ("columns", "properties", "refused"),
    [
        ("id:boolean", {}, True),
        ("id:binary", {}, True),
        ("id:timestamp_ntz", {}, False),
        ("id:decimal(38,2)", {}, False),
        (" ".join(f"c{n}" for n in range(31)) + " id", {}, False),
        (" ".join(f"c{n}" for n in range(32)) + " id", {}, True),
        ("c id", {"dataSkippingNumIndexedCols": "1"}, True),
        (" ".join(f"c{n}" for n in range(32)) + " id", {"dataSkippingNumIndexedCols": "-1"}, False),
    ],
)
def test_delta_is_not_asked_to_cluster_by_what_it_would_refuse(
    columns: str, properties: dict[str, str], refused: bool
) -> None:
    policy, there = TablePolicy(clustering=("id",)), log(columns, **properties)
    assert due(policy, there, "new").clustering == (() if refused else ("id",))
    assert bool(list(unmet(policy, there))) is refused


# --- Timestamps without a zone --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "policy", "becomes"),
    [
        ("", "timestamp", "timestamp"),
        ("", "timestamp_ntz", "timestamp_ntz"),
        ("AT:timestamp", "timestamp_ntz", "timestamp"),
        ("At:timestamp_ntz", "timestamp", "timestamp_ntz"),
        ("at:date", "timestamp", "timestamp"),
        ("at:date", "timestamp_ntz", "timestamp_ntz"),
        ("at:string", "timestamp_ntz", "timestamp_ntz"),
    ],
)
def test_the_column_decides_and_the_policy_where_there_is_none(
    there: str, policy: str, becomes: str
) -> None:
    seen = in_table(schema("at:timestamp_ntz z:timestamp"), schema(there), ColumnType(policy))
    assert seen == schema(f"at:{becomes} z:timestamp")


# --- Waits and retention of one table -------------------------------------------------------------

ORDERS, ITEMS = table("m", "Orders"), table("m", "Items")


class WithoutFolders(World):
    """Two tables that were applied, and whose folders have just gone."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(Limits(drop_grace=timedelta(minutes=1)))
        content = json.dumps({"openmirror": {"tables": settings}}).encode()
        self.store.put(layout.mirror_settings("m"), content)
        for folder in (ORDERS, ITEMS):
            self.land(folder, 1)
            self.reconcile(folder)
            assert isinstance(self.reconcile(folder), Idle)
            self.delete_folder(folder)
            assert isinstance(self.reconcile(folder), Wait)

    def is_retained(self, folder: TableFolder) -> bool:
        return self.observed(folder).retained is not None


def test_drop_grace_and_retention_of_one_table_hold_for_it_alone() -> None:
    world = WithoutFolders(
        {"DBO.orders": {"dropGrace": "2h", "retentionInDays": 2, "shortRetention": True}}
    )
    world.clock.turn(timedelta(minutes=2))
    assert isinstance(world.reconcile(ITEMS), Drop)
    assert isinstance(world.reconcile(ORDERS), Wait)
    world.clock.turn(timedelta(hours=2))
    assert isinstance(world.reconcile(ORDERS), Drop)
    for days, left in ((1.5, (True, True)), (1, (False, True)), (5, (False, False))):
        world.clock.turn(timedelta(days=days))
        for folder in (ORDERS, ITEMS):
            clean_table(world.ports, folder)
        assert (world.is_retained(ORDERS), world.is_retained(ITEMS)) == left
