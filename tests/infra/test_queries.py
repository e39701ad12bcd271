"""Every query is sound KQL, over columns and properties that our telemetry really has."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from openmirror.plan.decisions import WaitKind
from openmirror.ports.telemetry import dead_letter_event, runner_start_event, table_status_event
from openmirror.ports.telemetry.table_operation import OperationName
from openmirror.protocol.rules import WARNINGS, Code
from openmirror.status.words import Word
from tests.infra.day import day
from tests.infra.kql_scalars import Unsupported
from tests.infra.kql_tables import run
from tests.infra.kusto import Analysed, analyse
from tests.infra.queries import analysed, filled, texts
from tests.infra.recorded import names
from tests.infra.telemetry_tables import SCHEMAS, Row, rows
from tests.statuspage.scene import NOW

QUERIES = {
    f"{folder}/{name}": text
    for folder in ("queries", "alerts")
    for name, text in texts(folder).items()
}
_PROPERTY = re.compile(r"\bProperties\.(\w+)")
_NAMED = re.compile(r'\bName (?:==|in) \(?("[^)\n]*")')
_WORD = re.compile(r'"(\w+)"')


@pytest.mark.parametrize("name", QUERIES)
def test_the_language_service_finds_nothing_wrong(name: str) -> None:
    assert analysed()[name].diagnostics == ()


SAMPLE = Path(__file__).with_name("sample_telemetry.json")


@cache
def captured() -> dict[str, list[Row]]:
    """What functions and runner sent in the chain, as it was recorded once."""
    return rows(json.loads(SAMPLE.read_text()))


MISTAKES = {
    "AppEvents | where Nam == 'x'": "'Nam'",
    "AppEvents | wher Name == 'x'": "Query operator expected",
    "AppEvnts | take 1": "'AppEvnts'",
    "AppEvents | where Name == 'x' | summarize count() by": "issing",
    "AppMetrics | summarize percentil(Sum, 50)": "'percentil'",
    "AppMetrics | where TimeGenerated {Range}": "Client parameters",
}
FABRICS = """
    AppEvents
    | where Name == "MirroredDatabaseTableExecution"
    | extend OperationId = tostring(Properties.OperationId)
    | summarize arg_max(TimeGenerated, Properties) by OperationId
    | extend OperationName = tostring(Properties.OperationName)
    | where OperationName == "Replicating"
    | project SourceTableName = tostring(Properties.SourceTableName),
        ProcessedRows = tolong(Properties.ProcessedRows),
        ReplicatorBatchLatency = todouble(Properties.ReplicatorBatchLatency),
        OperationEndTime = todatetime(Properties.OperationEndTime)
    | top 1 by OperationEndTime desc
"""
UNKNOWN = (
    "AppEvents | sample 3",
    "AppEvents | extend x = geo_point_to_geohash(1.0, 2.0)",
    "AppEvents | summarize x = stdev(ItemCount)",
    "AppEvents | join kind=fullouter AppTraces on OperationId",
    "AppEvents | where Name contains 'x'",
)
_BETWEEN = "between (datetime(2026-11-20T00:00:00Z) .. datetime(2026-11-21T00:00:00Z))"
PICKED = {
    name: filled(
        text.replace("{TimeRange}", _BETWEEN),
        mirror=("sales", "flights"),
        table=("Sales.Orders", "dbo.orders.2024"),
    )
    for name, text in QUERIES.items()
}


@cache
def others() -> dict[str, Analysed]:
    """Queries of these tests alone, in one process; a query that has no name is its own."""
    own = {query: query for query in (*MISTAKES, *UNKNOWN, FABRICS)}
    return analyse(own | PICKED, SCHEMAS)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_sound_with_several_picked_and_a_time_range_of_ones_own(name: str) -> None:
    assert others()[name].diagnostics == ()


@pytest.mark.parametrize("wrong", MISTAKES)
def test_a_mistake_is_found(wrong: str) -> None:
    found = others()[wrong].diagnostics
    assert any(MISTAKES[wrong] in one for one in found), found


def test_no_parameter_is_left_in_a_query() -> None:
    for name, text in QUERIES.items():
        assert not re.findall(r"\{[\w:]+\}", filled(text)), name


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_reads_only_what_our_code_sends(name: str) -> None:
    """Events and metrics by their names, and each property under one of these names."""
    tables = day().workspace.tables
    sent = {**names(tables["AppEvents"]), **names(tables["AppMetrics"])}
    asked = {word for one in _NAMED.findall(QUERIES[name]) for word in _WORD.findall(one)}
    assert asked <= sent.keys()
    properties = frozenset[str]().union(*(sent[one] for one in asked))
    assert set(_PROPERTY.findall(QUERIES[name])) <= properties


@pytest.mark.parametrize("name", QUERIES)
def test_the_chain_has_sent_what_a_query_reads(name: str) -> None:
    """The same of telemetry that was captured on its way to Azure, from functions and runner."""
    sent = {**names(captured()["AppEvents"]), **names(captured()["AppMetrics"])}
    asked = {word for one in _NAMED.findall(QUERIES[name]) for word in _WORD.findall(one)}
    assert asked <= sent.keys()
    properties = frozenset[str]().union(*(sent[one] for one in asked))
    assert set(_PROPERTY.findall(QUERIES[name])) <= properties


def test_columns_that_queries_read_are_filled_in_what_was_captured() -> None:
    for table, columns in {
        "AppEvents": ("TimeGenerated", "AppRoleName", "Name", "Properties"),
        "AppMetrics": ("TimeGenerated", "AppRoleName", "Name", "Properties", "Sum"),
        "AppTraces": ("TimeGenerated", "AppRoleName"),
    }.items():
        assert captured()[table]
        for row in captured()[table]:
            assert None not in {name: row[name] for name in columns}.values(), table


def test_the_preview_shows_telemetry_of_the_same_shape() -> None:
    """Nothing stands in the preview's rows that the chain does not send."""
    for table in ("AppEvents", "AppMetrics"):
        sent = names(captured()[table])
        for name, properties in names(day().workspace.tables[table]).items():
            assert properties <= sent[name], name


def test_queries_report_the_story_of_the_chain() -> None:
    """One table was damaged, one lacks a file, one is held, one dropped; messages were given up."""
    now = max(row["TimeGenerated"] for table in captured().values() for row in table)
    found = {
        name: run(known.tree, captured(), SCHEMAS, now + timedelta(seconds=1))
        for name, known in analysed().items()
    }
    states = [row["State"] for row in found["queries/table-grid"]]
    assert states[:2] == ["Paused", "Waiting"]
    assert {row["Stage"] for row in found["queries/table-grid"]} >= {"Held", "Dropped"}
    assert states[-1] == "Running"
    (problem,) = found["queries/problems"]
    (alert,) = found["alerts/table-paused"]
    assert problem["ErrorCode"] == alert["ErrorCode"] == "FileUnreadable"
    assert problem["Remedy"] == alert["Remedy"] == found["queries/table-grid"][0]["WhatToDo"]
    assert (
        len(found["queries/dead-letters"]) == found["alerts/dead-letters-waiting"][0]["DeadLetters"]
    )
    assert {row["Outcome"] for row in found["alerts/runner-fails"]} == {"Failed", "Refused"}
    assert any(row["RunPage"] for row in found["queries/runner-starts"])
    applied = sum(row["Rows"] for row in found["queries/table-grid"])
    assert applied == sum(row["Rows"] for row in found["queries/throughput"]) > 0
    assert found["queries/figures"][0]["Value"] == str(applied)
    quiet = {"table-gap", "table-lags", "mirror-silent", "functions-silent", "functions-fail"}
    assert {name for name in quiet if found[f"alerts/{name}"]} == set()


def test_a_property_that_nobody_sends_would_be_found() -> None:
    tables = day().workspace.tables
    sent = names(tables["AppEvents"])
    assert set(table_status_event.FIELDS) == sent[table_status_event.EVENT]
    assert set(dead_letter_event.FIELDS) == sent[dead_letter_event.EVENT]
    assert set(runner_start_event.FIELDS) == sent[runner_start_event.EVENT]


def test_words_in_queries_are_the_codes_own() -> None:
    gap = re.findall(r'WaitingFor == "(\w+)"', QUERIES["alerts/table-gap"])
    assert gap == [WaitKind.GAP.value]
    explained = QUERIES["alerts/table-lags"].partition("WaitingFor in (")[2].partition(")")[0]
    waits = {WaitKind.GAP, WaitKind.CONFIRMATION, WaitKind.SCHEMA}
    assert set(_WORD.findall(explained)) == {kind.value for kind in waits}
    warned = QUERIES["alerts/table-warning"].partition("has_any (")[2].partition(")")[0]
    lags = [Code.STREAM_RETENTION_SHORT.value, Code.STREAM_SLOT_GROWS.value]
    of_streams = {Code.STREAM_DOWN, *map(Code, lags)}
    reported = {code.value for code in WARNINGS - of_streams} | {
        Word.RETRYING.value,
        Word.MAINTENANCE_BEHIND.value,
        Word.HISTORY_BEGUN_ANEW.value,
    }
    assert set(_WORD.findall(warned)) == reported
    lagging = QUERIES["alerts/stream-lags"].partition("has_any (")[2].partition(")")[0]
    assert _WORD.findall(lagging) == lags
    outcomes = {outcome.__name__ for outcome in runner_start_event.REPORTED}
    failing = QUERIES["alerts/runner-fails"].partition("Outcome in (")[2].partition(")")[0]
    assert {"Failed", "Refused"} == set(_WORD.findall(failing)) <= outcomes
    operations = {operation.value for operation in OperationName}
    for name, text in QUERIES.items():
        for one in re.findall(r"OperationName (?:==|in) ([^\n]*)", text):
            assert set(_WORD.findall(one)) <= operations, name


def test_fabrics_fields_carry_over() -> None:
    """A query made for Fabric's log needs only another table, and finds its columns."""
    found = others()[FABRICS]
    assert found.diagnostics == ()
    (row,) = run(found.tree, day().workspace.tables, SCHEMAS, NOW)
    assert row["SourceTableName"] in {"Orders", "Customers", "airlines", "flights", "planes"}
    assert row["OperationEndTime"] > NOW - timedelta(minutes=15)
    assert row["ProcessedRows"] > 0
    assert row["ReplicatorBatchLatency"] > 0


@pytest.mark.parametrize("query", UNKNOWN)
def test_the_interpreter_runs_nothing_that_it_does_not_know(query: str) -> None:
    known = others()[query]
    assert known.diagnostics == ()
    event = {"TimeGenerated": NOW, "Name": "x", "OperationId": "1"}
    tables = {"AppEvents": [event], "AppTraces": [{"TimeGenerated": NOW, "OperationId": "1"}]}
    with pytest.raises(Unsupported):
        run(known.tree, tables, SCHEMAS, NOW)
