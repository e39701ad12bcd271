"""What the queries of the workbook answer, of a system that has every trouble and of others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from openmirror.ports.telemetry.table_operation import (
    ErrorType,
    OperationError,
    OperationName,
    TableOperation,
)
from openmirror.ports.telemetry.table_status_event import Health, TableStatusEvent
from openmirror.protocol.names import TableFolder, TableName
from tests.harness.publishing import table
from tests.infra.day import day
from tests.infra.kql_tables import run
from tests.infra.kusto import analyse
from tests.infra.living import PRICES, System
from tests.infra.queries import analysed, filled, texts
from tests.infra.recorded import FUNCTIONS, RUNNER, Row, Workspace
from tests.infra.telemetry_tables import SCHEMAS
from tests.statuspage.scene import NOW


def ask(name: str, workspace: Workspace) -> list[Row]:
    return run(analysed()[f"queries/{name}"].tree, workspace.tables, SCHEMAS, workspace.now)


def test_the_grid_puts_first_what_needs_somebody_and_says_why_and_what_to_do() -> None:
    paused, waiting, warned, held, *running = ask("table-grid", day().workspace)
    assert (paused["State"], paused["Table"]) == ("Paused", "Finance.Invoices")
    assert paused["Why"].startswith("RowMarkerInvalid: ")
    assert "openmirror skip" in paused["WhatToDo"]
    assert paused["Since"] == NOW - timedelta(minutes=40)
    assert (waiting["State"], waiting["Table"]) == ("Waiting", "Sales.Shipments")
    assert waiting["Why"].startswith("gap: ")
    assert waiting["WhatToDo"].startswith("Publish the missing file")
    assert (waiting["Lag"], waiting["Pending"]) == (70 * 60.0, 2)
    assert (warned["State"], warned["Table"]) == ("Warning", "Sales.Customers")
    assert (held["State"], held["Lag"]) == ("Stopped", None)
    assert "ann@contoso.com" in held["Why"]
    assert {one["State"] for one in running} == {"Running"}
    assert {one["Why"] + one["WhatToDo"] for one in running} == {""}
    assert min(one["Rows"] for one in running) > 0


def test_tables_are_counted_by_state_and_no_state_is_left_out() -> None:
    counts = {one["State"]: one["Tables"] for one in ask("tables-by-state", day().workspace)}
    assert counts == {
        "Paused": 1,
        "Silent": 0,
        "Waiting": 1,
        "Warning": 1,
        "Stopped": 1,
        "Running": 5,
    }


def test_streams_that_need_somebody_come_first_with_what_is_wrong() -> None:
    (crm,) = ask("streams", day().workspace)
    assert (crm["Level"], crm["Stream"], crm["State"]) == ("Landed", "crm", "Landing")
    assert (crm["Records"], crm["Warnings"]) == (30, "")
    system = System()
    system.stream = {"health": Health.ERROR, "warnings": ("StreamDown: gone",)}
    system.live(2)
    (down,) = ask("streams", system.workspace)
    assert (down["Level"], down["Warnings"]) == ("Down", "StreamDown: gone")


def test_figures_say_what_is_wrong_and_nothing_where_all_is_well() -> None:
    reported = {
        one["Figure"]: (one["Value"], one["Level"]) for one in ask("figures", day().workspace)
    }
    assert reported["Worst lag"] == ("70 min", 2), "a held table does not count"
    assert reported["Poison and dead letters"] == ("1", 1)
    assert reported["Silent mirrors"] == ("0 of 2", 0)
    assert reported["Rows today (UTC)"][0].endswith(" M")
    system = System()
    system.live(40)
    assert {one["Level"] for one in ask("figures", system.workspace)} == {0}
    system.workspace.now += timedelta(minutes=21)
    reported = {
        one["Figure"]: (one["Value"], one["Level"]) for one in ask("figures", system.workspace)
    }
    assert reported["Silent mirrors"] == ("2 of 2", 2)


def test_rows_of_yesterday_are_not_rows_of_today_and_a_repeat_counts_once() -> None:
    workspace = Workspace(NOW.replace(hour=0, minute=5))
    properties = {
        "OperationName": "Replicating",
        "OperationId": "one",
        "Mirror": "sales",
        "SourceSchemaName": "dbo",
        "SourceTableName": "orders",
        "ProcessedRows": "70",
    }
    event = {"Name": "MirroredDatabaseTableExecution", "AppRoleName": FUNCTIONS}
    workspace.add("AppEvents", **event, Properties=properties)
    workspace.add("AppEvents", **event, Properties=properties)
    workspace.add("AppEvents", **event, Properties=properties | {"OperationId": "two"})
    assert ask("figures", workspace)[0]["Value"] == "140"
    workspace.now += timedelta(days=1)
    assert ask("figures", workspace)[0]["Value"] == "0"


def test_a_table_that_nobody_reports_of_is_silent_and_one_that_was_dropped_is_not_shown() -> None:
    system = System()
    system.live(5)
    system.workspace.now += timedelta(minutes=50)
    counts = {one["State"]: one["Tables"] for one in ask("tables-by-state", system.workspace)}
    assert (counts["Silent"], counts["Running"]) == (2, 0)
    assert {one["State"] for one in ask("table-grid", system.workspace)} == {"Silent"}
    system.stands(PRICES, status="Stopped", stage="Dropped", health=3)
    system.live(1)
    system.workspace.now += timedelta(minutes=50)
    assert [one["Mirror"] for one in ask("table-grid", system.workspace)] == ["sales"]


def test_a_problem_is_listed_once_with_its_remedy_and_is_over_when_it_is() -> None:
    (row,) = ask("problems", day().workspace)
    assert (row["ErrorCode"], row["State"]) == ("RowMarkerInvalid", "open")
    assert row["Remedy"] not in row["ErrorMessage"]
    assert "row 1 has __rowMarker__ = 3" in row["ErrorMessage"]
    healed = Workspace(NOW + timedelta(minutes=1), dict(day().workspace.tables))
    healed.tables["AppEvents"] = list(healed.tables["AppEvents"])
    (last,) = (
        one["Properties"]
        for one in healed.tables["AppEvents"][::-1]
        if one["Properties"].get("ErrorCode") == "RowMarkerInvalid"
        and one["Name"] == "OpenmirrorTableStatus"
        and one["TimeGenerated"] > NOW - timedelta(minutes=16)
    )
    gone = {"ErrorCode", "ErrorMessage", "Remedy", "ErrorSince"}
    running = {name: value for name, value in last.items() if name not in gone}
    healed.add("AppEvents", Name="OpenmirrorTableStatus", Properties=running | {"Health": "0"})
    (row,) = ask("problems", healed)
    assert row["State"] == "over"


ORDERS = TableName("dbo", "orders")


def failing(folder: TableFolder, cause: str) -> TableOperation:
    return TableOperation(
        name=OperationName.FAIL_TABLE,
        folder=folder,
        table=ORDERS,
        subject=(cause,),
        started_at=NOW,
        ended_at=NOW,
        error=OperationError(ErrorType.USER, "NotAFile", f"{cause} is a folder. Remove it."),
    )


def test_tables_of_one_name_in_two_mirrors_are_not_mixed_up() -> None:
    workspace = Workspace(NOW)
    functions, runner = workspace.signals(FUNCTIONS), workspace.signals(RUNNER)
    bad, good = table("sales", "orders"), table("copy", "orders")
    for reported in (
        failing(bad, "7.parquet"),
        failing(bad, "8.parquet"),
        failing(good, "7.parquet"),
    ):
        functions.happened(reported)
        runner.happened(reported)
    fine = TableStatusEvent(
        folder=good,
        table=ORDERS,
        status="Replicating",
        stage="Replicating",
        health=Health.RUNNING,
    )
    paused = replace(
        fine,
        folder=bad,
        health=Health.ERROR,
        oldest_pending_seconds=900.0,
        error_code="NotAFile",
        remedy="Remove it.",
    )
    functions.report_statuses("copy", [fine])
    functions.report_statuses("sales", [paused])
    workspace.now += timedelta(seconds=1)
    problems = [(one["Mirror"], one["State"]) for one in ask("problems", workspace)]
    assert sorted(problems) == [("copy", "over"), ("sales", "open"), ("sales", "open")]
    assert {one["ErrorMessage"].strip() for one in ask("problems", workspace)} == {
        "7.parquet is a folder.",
        "8.parquet is a folder.",
    }
    lags = {one["Mirror"]: one["Lag"] for one in ask("table-grid", workspace)}
    assert lags == {"sales": 900.0, "copy": 0.0}


def test_latency_is_half_and_all_but_a_twentieth_of_the_batches() -> None:
    workspace = Workspace(NOW)
    for number in range(1, 101):
        properties = {"OperationId": str(number), "ReplicatorBatchLatency": str(float(number))}
        event = {"Name": "MirroredDatabaseTableExecution", "AppRoleName": "openmirror.runner"}
        workspace.add("AppEvents", **event, Properties=properties)
    (row,) = ask("latency", workspace)
    assert (row["p50"], row["p95"]) == (50.0, 95.0)


def test_throughput_adds_up_to_what_the_operations_say() -> None:
    charted = sum(one["Rows"] for one in ask("throughput", day().workspace))
    grid = sum(one["Rows"] for one in ask("table-grid", day().workspace))
    assert charted == grid > 0


def test_pickers_narrow_what_is_shown() -> None:
    text = texts("queries")["table-grid"]
    picked = {
        "mirror": filled(text, mirror=("flights",)),
        "table": filled(text, table=("Sales.Orders", "dbo.planes")),
        "nothing": filled(text, mirror=("flights",), table=("Sales.Orders",)),
    }
    found = {
        name: [one["Table"] for one in run(known.tree, day().workspace.tables, SCHEMAS, NOW)]
        for name, known in analyse(picked, SCHEMAS).items()
    }
    assert found == {
        "mirror": ["dbo.airlines", "dbo.flights", "dbo.planes", "dbo.weather"],
        "table": ["dbo.planes", "Sales.Orders"],
        "nothing": [],
    }


def test_a_failed_run_is_linked_and_a_function_says_why_it_failed() -> None:
    started, failed, first_of_all = ask("runner-starts", day().workspace)
    assert (started["Outcome"], failed["Outcome"]) == ("Started", "Failed")
    assert started["Time"] > failed["Time"] > first_of_all["Time"]
    assert failed["RunPage"].startswith("https://")
    first, *others = ask("functions", day().workspace)
    assert (first["Function"], first["Failures"]) == ("landing", 1)
    assert first["Error"] == "NotAnEvent: the message is not JSON text"
    assert {one["Failures"] for one in others} == {0}
