"""What captured telemetry looks like in a Log Analytics workspace: tables, columns and rows.

A workspace-based Application Insights resource puts each kind of item into a table of its own.
What ingestion alone adds (billing, resource, place of the client) stays empty in these rows, and so
does what nobody sent; so a query that needs it finds nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

Schema = Mapping[str, str]
"""The columns of a table, each with its type in KQL."""
Row = dict[str, Any]

_COMMON: Schema = {
    "AppRoleInstance": "string",
    "AppRoleName": "string",
    "AppVersion": "string",
    "ClientBrowser": "string",
    "ClientCity": "string",
    "ClientCountryOrRegion": "string",
    "ClientIP": "string",
    "ClientModel": "string",
    "ClientOS": "string",
    "ClientStateOrProvince": "string",
    "ClientType": "string",
    "IKey": "string",
    "ItemCount": "int",
    "OperationId": "string",
    "OperationName": "string",
    "ParentId": "string",
    "Properties": "dynamic",
    "ResourceGUID": "string",
    "SDKVersion": "string",
    "SessionId": "string",
    "SourceSystem": "string",
    "SyntheticSource": "string",
    "TenantId": "string",
    "TimeGenerated": "datetime",
    "Type": "string",
    "UserAccountId": "string",
    "UserAuthenticatedId": "string",
    "UserId": "string",
    "_BilledSize": "real",
    "_IsBillable": "string",
    "_ResourceId": "string",
    "_SubscriptionId": "string",
}
_REFERENCES: Schema = {"ReferencedItemId": "string", "ReferencedType": "string"}
_CALL: Schema = {
    "DurationMs": "real",
    "Id": "string",
    "Name": "string",
    "ResultCode": "string",
    "Success": "bool",
}
_MEASURED: Schema = {"Measurements": "dynamic"}

SCHEMAS: Mapping[str, Schema] = {
    "AppEvents": {**_COMMON, **_MEASURED, "Name": "string"},
    "AppMetrics": {**_COMMON, "Max": "real", "Min": "real", "Name": "string", "Sum": "real"},
    "AppTraces": {
        **_COMMON,
        **_MEASURED,
        **_REFERENCES,
        "Message": "string",
        "SeverityLevel": "int",
    },
    "AppExceptions": {
        **_COMMON,
        **_MEASURED,
        "Assembly": "string",
        "Details": "dynamic",
        "ExceptionType": "string",
        "HandledAt": "string",
        "InnermostAssembly": "string",
        "InnermostMessage": "string",
        "InnermostMethod": "string",
        "InnermostType": "string",
        "Message": "string",
        "Method": "string",
        "OuterAssembly": "string",
        "OuterMessage": "string",
        "OuterMethod": "string",
        "OuterType": "string",
        "ProblemId": "string",
        "SeverityLevel": "int",
    },
    "AppRequests": {
        **_COMMON,
        **_MEASURED,
        **_REFERENCES,
        **_CALL,
        "Source": "string",
        "Url": "string",
    },
    "AppDependencies": {
        **_COMMON,
        **_MEASURED,
        **_REFERENCES,
        **_CALL,
        "Data": "string",
        "DependencyType": "string",
        "Target": "string",
    },
    "AzureMetrics": {
        "Average": "real",
        "CallerIpAddress": "string",
        "Category": "string",
        "Confidence": "string",
        "CorrelationId": "string",
        "Count": "real",
        "Description": "string",
        "DurationMs": "long",
        "FirstReportedDateTime": "string",
        "IndicatorThreatType": "string",
        "IsActive": "string",
        "LastReportedDateTime": "string",
        "MaliciousIP": "string",
        "Maximum": "real",
        "MetricName": "string",
        "Minimum": "real",
        "OperationName": "string",
        "OperationVersion": "string",
        "RemoteIPCountry": "string",
        "RemoteIPLatitude": "real",
        "RemoteIPLongitude": "real",
        "Resource": "string",
        "ResourceGroup": "string",
        "ResourceId": "string",
        "ResourceProvider": "string",
        "ResultDescription": "string",
        "ResultSignature": "string",
        "ResultType": "string",
        "Severity": "int",
        "SourceSystem": "string",
        "SubscriptionId": "string",
        "TLPLevel": "string",
        "TimeGenerated": "datetime",
        "TimeGrain": "string",
        "Total": "real",
        "Type": "string",
        "UnitName": "string",
        "_BilledSize": "real",
        "_IsBillable": "string",
        "_ResourceId": "string",
        "_SubscriptionId": "string",
    },
}
"""The tables that openmirror's queries may use, with every column that is documented of them."""

TABLE_OF: Mapping[str, str] = {
    "EventData": "AppEvents",
    "MetricData": "AppMetrics",
    "MessageData": "AppTraces",
    "ExceptionData": "AppExceptions",
    "RequestData": "AppRequests",
    "RemoteDependencyData": "AppDependencies",
}
"""Where an item of each type goes."""


def rows(items: Iterable[Mapping[str, Any]]) -> dict[str, list[Row]]:
    """Captured items as rows, by table; a row has every column, `None` where nothing is known.

    Counters of the machine are left out: they have a table of their own, which no query uses.
    """
    found: dict[str, list[Row]] = {table: [] for table in SCHEMAS}
    for item in items:
        table = TABLE_OF[item["data"]["baseType"]]
        if table == "AppMetrics" and _is_of_the_machine(item):
            continue
        row: Row = dict.fromkeys(SCHEMAS[table])
        filled = _common(item, table) | _own(item["data"]["baseData"], table)
        if strange := filled.keys() - row.keys():
            raise KeyError(f"{table} has no columns {sorted(strange)}")
        found[table].append(row | filled)
    return found


def _is_of_the_machine(item: Mapping[str, Any]) -> bool:
    return bool(item["data"]["baseData"]["metrics"][0]["name"].startswith("\\"))


def _common(item: Mapping[str, Any], table: str) -> Row:
    tags = item.get("tags", {})
    sample_rate = float(item.get("sampleRate") or 100)
    return {
        "TimeGenerated": datetime.fromisoformat(item["time"]),
        "Type": table,
        "IKey": item["iKey"],
        "AppRoleName": tags.get("ai.cloud.role"),
        "AppRoleInstance": tags.get("ai.cloud.roleInstance"),
        "AppVersion": tags.get("ai.application.ver"),
        "OperationId": tags.get("ai.operation.id"),
        "OperationName": tags.get("ai.operation.name"),
        "ParentId": tags.get("ai.operation.parentId"),
        "SDKVersion": tags.get("ai.internal.sdkVersion"),
        "ItemCount": round(100 / sample_rate),
    }


def _own(data: Mapping[str, Any], table: str) -> Row:
    row: Row = {"Properties": data.get("properties") or {}}
    if table != "AppMetrics":
        row["Measurements"] = data.get("measurements") or {}
    match table:
        case "AppEvents":
            row["Name"] = data["name"]
        case "AppMetrics":
            (point,) = data["metrics"]
            row |= {
                "Name": point["name"],
                "Sum": point["value"],
                "Min": point.get("min"),
                "Max": point.get("max"),
                "ItemCount": point.get("count", 1),
            }
        case "AppTraces":
            row |= {"Message": data["message"], "SeverityLevel": data.get("severityLevel")}
        case "AppExceptions":
            outer, inner = data["exceptions"][0], data["exceptions"][-1]
            row |= {
                "ExceptionType": outer["typeName"],
                "OuterType": outer["typeName"],
                "OuterMessage": outer["message"],
                "InnermostType": inner["typeName"],
                "InnermostMessage": inner["message"],
                "Details": data["exceptions"],
                "SeverityLevel": data.get("severityLevel"),
            }
        case "AppRequests":
            row |= _call(data) | {
                "ResultCode": data.get("responseCode"),
                "Source": data.get("source"),
                "Url": data.get("url"),
            }
        case "AppDependencies":
            row |= _call(data) | {
                "ResultCode": data.get("resultCode"),
                "Data": data.get("data"),
                "DependencyType": data.get("type"),
                "Target": data.get("target"),
            }
    return row


def _call(data: Mapping[str, Any]) -> Row:
    return {
        "Id": data["id"],
        "Name": data["name"],
        "Success": data.get("success"),
        "DurationMs": _duration(data["duration"]) / timedelta(milliseconds=1),
    }


def _duration(text: str) -> timedelta:
    """Of the form `days.hours:minutes:seconds.fraction`, where the days may be missing."""
    clock = text.split(":")
    days, _, hours = clock[0].rpartition(".")
    return timedelta(
        days=int(days or 0), hours=int(hours), minutes=int(clock[1]), seconds=float(clock[2])
    )
