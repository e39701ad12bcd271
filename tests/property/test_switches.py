"""Each switch of mirroring.json changes what it names, and nothing else, on random histories.

Every history becomes one table for each switch, side by side in one mirror, and beside them the
table without any. What differs from that one must be what the switch is for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from openmirror.plan.decisions import Idle
from openmirror.plan.lineage import ORIGIN
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.property.histories import History, random_history
from tests.property.test_histories import with_decided
from tests.zone import MIRROR, Mirror, bag

_SMALL = {"keys": 30, "files": 4, "rows": 40}
_SEEDS = {
    41: ("plain", "ntz", "upserts", "clustered", "all"),  # zone-less timestamps, column mapping
    44: ("plain", "feature", "vectors", "feed", "lineage"),  # types that grow after the first batch
}
"""Histories, and the switches that each goes through; the soak takes all of them with each."""
_LEGACY = {"appendOnly", "invariants"}
"""What every table can do; listed by name once another feature is."""


@dataclass(frozen=True)
class Observation:
    """What can be seen of a table."""

    rows: list[Any]
    schema: TableSchema
    properties: Mapping[str, str]
    features: frozenset[str]
    clustering: tuple[str, ...]

    def with_features(self, *names: str, **properties: str) -> Observation:
        given = {f"delta.{name}": value for name, value in properties.items()}
        return replace(
            self,
            features=self.features | set(names),
            properties={**self.properties, **given},
        )


def _same(plain: Observation, history: History) -> Observation:
    return plain


def _upserts(plain: Observation, history: History) -> Observation:
    """The rows that the interpreter leaves when each insert is an upsert."""
    files = [
        ChangeFile(
            file.columns,
            [
                Change(
                    Marker.UPSERT if change.marker is Marker.INSERT else change.marker, change.row
                )
                for change in file.changes
            ],
        )
        for file in history.changes
    ]
    return replace(plain, rows=bag(replace(history, changes=files).expected_rows()))


def _ntz(plain: Observation, history: History) -> Observation:
    """Another type for what files have without a zone; `bag` shows a moment either way alike."""
    zoneless = {
        fold_case(field.name)
        for file in history.files
        for field in file.schema
        if pa.types.is_timestamp(field.type) and field.type.tz is None
    }
    columns = tuple(
        Column(c.name, ColumnType("timestamp_ntz")) if fold_case(c.name) in zoneless else c
        for c in plain.schema.columns
    )
    seen = replace(plain, schema=TableSchema(columns))
    return seen.with_features("timestampNtz") if zoneless else seen


def _deletion_vectors(plain: Observation, history: History) -> Observation:
    return plain.with_features("deletionVectors", enableDeletionVectors="true")


def _feed(plain: Observation, history: History) -> Observation:
    # Delta feeds no column with a backquote: the feed ends before the first.
    on = not any("`" in name for name in plain.schema.names)
    return plain.with_features("changeDataFeed", enableChangeDataFeed=str(on).lower())


_BY = ("ID", "name", "VALUE", "c d")


def _clustered(plain: Observation, history: History) -> Observation:
    found = (plain.schema.find(name) for name in _BY)
    names = tuple(c.name for c in found if c and c.type not in ("boolean", "binary"))
    seen = replace(plain, clustering=names)
    return seen.with_features("clustering", "domainMetadata") if names else seen


def _lineage(plain: Observation, history: History) -> Observation:
    """Five more columns behind those of the first file, and the property that says so."""
    columns = plain.schema.columns
    first = next(len(file.columns) for file in history.changes if file.columns)
    return replace(
        plain,
        rows=bag(history.expected_rows(None, Lineage.WRITTEN)),
        schema=TableSchema((*columns[:first], *ORIGIN.columns, *columns[first:])),
        properties={**plain.properties, ORIGIN.property: ORIGIN.value},
    )


def _all(plain: Observation, history: History) -> Observation:
    for expected in (_lineage, _ntz, _deletion_vectors, _feed, _clustered):
        plain = expected(plain, history)
    return plain


_ON = {"deletionVectors": True}
_FEED = {"enableDeltaChangeDataFeed": True}
_NTZ = {"zonelessTimestamps": "ntz"}
_CLUSTERED = {"clustering": list(_BY)}
_LINEAGE = {"lineage": True}
SWITCHES: dict[str, tuple[dict[str, Any], Callable[[Observation, History], Observation]]] = {
    "plain": ({"dropGrace": "9d", "quietPeriod": "9d", "retentionInDays": 7}, _same),
    "upserts": ({"insert": "upsert"}, _upserts),
    "feature": ({"typeChange": "feature"}, _same),
    "ntz": (_NTZ, _ntz),
    "vectors": (_ON, _deletion_vectors),
    "feed": (_FEED, _feed),
    "clustered": (_CLUSTERED, _clustered),
    "lineage": (_LINEAGE, _lineage),
    "all": ({**_ON, **_FEED, **_NTZ, **_CLUSTERED, **_LINEAGE}, _all),
}


def _seen(mirror: Mirror, table: str) -> Observation:
    log = mirror.observed(table).log
    assert isinstance(log, TableLog)
    path = mirror.delta_path(table)
    protocol: dict[str, Any] = {}
    for commit in sorted((path / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            protocol = json.loads(line).get("protocol", protocol)
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    assert features or protocol["minWriterVersion"] == 2, protocol
    # deltalake opens no table that was widened in place.
    frame = mirror.spark.read.format("delta").load(str(path))
    rows = frame.toArrow().to_pylist() if "typeWidening" in features else mirror.rows(table)
    counted = "delta.columnMapping.maxColumnId"
    return Observation(
        bag(map(with_decided, rows)),
        log.schema,
        {name: value for name, value in log.properties.items() if name != counted},
        frozenset(features - _LEGACY),
        log.clustering,
    )


def _publish(
    mirror: Mirror, histories: Mapping[int, History], chosen: Mapping[int, Iterable[str]]
) -> dict[str, History]:
    policies = {}
    tables = {}
    for seed, history in histories.items():
        for switch in chosen[seed]:
            table = f"{switch}{seed}"
            policies[f"dbo.{table.upper()}"] = SWITCHES[switch][0]
            tables[table] = history
            mirror.zone.metadata(table, history.metadata)
            for number, file in enumerate(history.files, start=1):
                mirror.zone.put(table, number, file)
    path = mirror.zone.root / layout.mirror_settings(MIRROR)
    path.write_text(json.dumps({"openmirror": {"tables": policies}}))
    return tables


def test_a_switch_changes_what_it_names_and_nothing_else(mirror: Mirror) -> None:
    effects = _check(mirror, _SEEDS)
    assert effects == SWITCHES.keys() - {"plain"}, "these histories show every switch"


@pytest.mark.soak
def test_a_switch_changes_nothing_else_whatever_the_history(mirror: Mirror) -> None:
    start = int(os.environ.get("OPENMIRROR_SEED", "0"))
    sys.stdout.write(f"OPENMIRROR_SEED={start}\n")
    seeds = range(start, start + 3) if start else _SEEDS
    _check(mirror, dict.fromkeys(seeds, tuple(SWITCHES)))


def _check(mirror: Mirror, chosen: Mapping[int, Iterable[str]]) -> set[str]:
    """Drain every history with each of its switches, compare; the switches that showed."""
    histories = {seed: random_history(seed, **_SMALL) for seed in chosen}
    tables = _publish(mirror, histories, chosen)
    limits = replace(mirror.ports.limits, batch_files=2)

    def drain(table: str) -> None:
        worker = Mirror(mirror.zone, mirror.spark, limits)
        assert isinstance(worker.reconcile_until_idle(table), Idle), table
        if table.startswith(("clustered", "all")):
            # A column of the last batch is clustered by from the next one on.
            history = tables[table]
            worker.zone.put(table, len(history.files) + 1, history.files[-1].slice(0, 0))
            assert isinstance(worker.reconcile_until_idle(table), Idle), table

    with ThreadPoolExecutor(2) as workers:
        list(workers.map(drain, tables))

    effects: set[str] = set()
    for seed, history in histories.items():
        plain = _seen(mirror, f"plain{seed}")
        assert plain.rows == bag(history.expected_rows()), seed
        for switch in chosen[seed]:
            _, expected = SWITCHES[switch]
            seen, wanted = _seen(mirror, f"{switch}{seed}"), expected(plain, history)
            if switch == "feature" and "typeWidening" in seen.features:
                wanted = wanted.with_features("typeWidening", enableTypeWidening="true")
            if wanted.properties.get("delta.enableChangeDataFeed") == "false":
                seen = replace(seen, features=seen.features | {"changeDataFeed"})
            assert seen == wanted, f"{switch}, replay with OPENMIRROR_SEED={seed}"
            effects |= {switch} if seen != plain else set()
    return effects
