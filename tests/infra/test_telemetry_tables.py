"""Captured items become the rows that a workspace would have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.infra.telemetry_tables import SCHEMAS, TABLE_OF, rows

TAGS = {
    "ai.cloud.role": "openmirror.runner",
    "ai.cloud.roleInstance": "one",
    "ai.operation.id": "0af7651916cd43dd8448eb211c80319c",
    "ai.operation.parentId": "b7ad6b7169203331",
    "ai.operation.name": "Replicating m/T",
}


def item(kind: str, **data: Any) -> dict[str, Any]:
    return {
        "name": "Microsoft.ApplicationInsights",
        "iKey": "key",
        "tags": TAGS,
        "time": "2026-11-21T09:30:00.5Z",
        "data": {"baseType": kind, "baseData": {"ver": 2, "properties": {"a": "1"}, **data}},
    }


CALL: dict[str, Any] = {"id": "i", "name": "n", "duration": "1.02:03:04.005", "success": True}
ONE_OF_EACH = {
    "EventData": {"name": "OpenmirrorDeadLetter"},
    "MetricData": {"metrics": [{"name": "heartbeat", "value": 2, "count": 1}]},
    "MessageData": {"message": "paused m/T", "severityLevel": 2},
    "ExceptionData": {"exceptions": [{"typeName": "ValueError", "message": "no"}]},
    "RequestData": {**CALL, "responseCode": "500"},
    "RemoteDependencyData": {**CALL, "resultCode": "0", "type": "InProc"},
}


@pytest.mark.parametrize("kind", TABLE_OF)
def test_a_row_has_every_documented_column_and_what_all_items_share(kind: str) -> None:
    (row,) = rows([item(kind, **ONE_OF_EACH[kind])])[TABLE_OF[kind]]
    assert set(row) == set(SCHEMAS[TABLE_OF[kind]])
    assert (row["Type"], row["AppRoleName"]) == (TABLE_OF[kind], "openmirror.runner")
    assert row["TimeGenerated"] == datetime(2026, 11, 21, 9, 30, 0, 500_000, UTC)
    assert (row["OperationId"], row["Properties"]) == (TAGS["ai.operation.id"], {"a": "1"})
    assert row["ItemCount"] == 1
    assert row["TenantId"] is None


def test_a_metric_has_what_was_aggregated_and_nothing_that_was_not_sent() -> None:
    several = {"name": "batch_duration_seconds", "value": 6.0, "count": 3, "min": 1.0, "max": 3.0}
    one = {"name": "pending_files", "value": 4, "count": 1}
    histogram, gauge = rows([item("MetricData", metrics=[m]) for m in (several, one)])["AppMetrics"]
    assert [histogram[c] for c in ("Sum", "ItemCount", "Min", "Max")] == [6.0, 3, 1.0, 3.0]
    assert [gauge[c] for c in ("Sum", "ItemCount", "Min", "Max")] == [4, 1, None, None]


def test_the_machines_own_counters_are_in_a_table_that_no_query_uses() -> None:
    counter = {"name": "\\Memory\\Available Bytes", "value": 1, "count": 1}
    assert rows([item("MetricData", metrics=[counter])])["AppMetrics"] == []


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("0.00:00:01.561", 1561.0), ("00:00:00.5", 500.0), ("1.02:03:04.005", 93_784_005.0)],
)
def test_a_duration_is_milliseconds(text: str, milliseconds: float) -> None:
    (row,) = rows([item("RequestData", **{**CALL, "duration": text})])["AppRequests"]
    assert row["DurationMs"] == pytest.approx(milliseconds)


def test_a_sampled_item_stands_for_several() -> None:
    sampled = {**item("RequestData", **CALL), "sampleRate": 25.0}
    (row,) = rows([sampled])["AppRequests"]
    assert row["ItemCount"] == 4
