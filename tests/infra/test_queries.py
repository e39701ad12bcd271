"""Every query is sound KQL, over columns and properties that our telemetry really has."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache

import pytest

from openmirror import letterevent, startevent, statusevent
from openmirror.lifecycle.words import Word
from openmirror.plan.decisions import WaitKind
from openmirror.protocol.rules import WARNINGS
from openmirror.tableoperation import OperationName
from tests.infra.day import day
from tests.infra.kql_scalars import Unsupported
from tests.infra.kql_tables import run
from tests.infra.kusto import Analysed, analyse
from tests.infra.queries import analysed, filled, texts
from tests.infra.recorded import names
from tests.infra.telemetry_tables import SCHEMAS
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


def test_a_property_that_nobody_sends_would_be_found() -> None:
    tables = day().workspace.tables
    sent = names(tables["AppEvents"])
    assert set(statusevent.FIELDS) == sent[statusevent.EVENT]
    assert set(letterevent.FIELDS) == sent[letterevent.EVENT]
    assert set(startevent.FIELDS) == sent[startevent.EVENT]


def test_words_in_queries_are_the_codes_own() -> None:
    words = {
        name: {found for pattern in patterns for found in re.findall(pattern, QUERIES[name])}
        for name, patterns in {
            "alerts/table-gap": (r'WaitingFor == "(\w+)"',),
            "alerts/table-lags": (r'WaitingFor in \("(\w+)", "', r', "(\w+)"\)'),
        }.items()
    }
    assert words["alerts/table-gap"] == {WaitKind.GAP.value}
    assert words["alerts/table-lags"] == {WaitKind.GAP.value, WaitKind.CONFIRMATION.value}
    warned = QUERIES["alerts/table-warning"].partition("has_any (")[2].partition(")")[0]
    told = {code.value for code in WARNINGS} | {Word.RETRYING.value}
    assert set(_WORD.findall(warned)) == told
    outcomes = {outcome.__name__ for outcome in startevent.TOLD}
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
    row = {"TimeGenerated": NOW, "Name": "x", "OperationId": "1"}
    with pytest.raises(Unsupported):
        run(known.tree, {"AppEvents": [row], "AppTraces": [row]}, SCHEMAS, NOW)
