"""The custom events, property by property."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import (
    AlreadyActive,
    Failed,
    NotNeeded,
    Refused,
    Skipped,
    Started,
    StartOutcome,
    Unreachable,
)
from openmirror.ports.telemetry import (
    dead_letter_event,
    runner_start_event,
    table_operation,
    table_status_event,
)
from openmirror.ports.telemetry.custom_event import MOST_CHARACTERS
from openmirror.ports.telemetry.table_operation import (
    ErrorType,
    OperationError,
    OperationName,
    TableOperation,
)
from openmirror.ports.telemetry.table_status_event import Health, TableStatusEvent
from openmirror.protocol.partner import Partner
from openmirror.table.log import AppId
from openmirror.table.phases import Phase
from tests.harness.publishing import table

AT = datetime(2026, 11, 21, 10, 30, tzinfo=timezone(timedelta(hours=1)))
ORDERS = table("sales", "Shop.schema/Orders")
PAGE = "https://adb-1.azuredatabricks.net/jobs/7/runs/3"


def recorded(**more: object) -> TableStatusEvent:
    name = table_operation.TableName("Shop", "Orders")
    known = {"folder": ORDERS, "table": name, "status": "Replicating", "stage": "Replicating"}
    return TableStatusEvent(**{**known, "health": Health.RUNNING, **more})  # type: ignore[arg-type]


def test_a_status_has_every_field_as_text() -> None:
    full = recorded(
        status="Failed",
        stage="Paused",
        health=Health.ERROR,
        pending_files=3,
        oldest_pending_seconds=41.4,
        waiting_for="gap",
        waiting_since=AT,
        waiting_text="7 is missing",
        error_code="FileUnreadable",
        error_message="it is no Parquet file",
        error_since=AT,
        remedy="Replace the file.",
        warnings=("SequenceReused: one", "FileNameInvalid: two"),
        last_sequence=6,
        last_commit_at=AT,
        publisher=Partner("Contoso", "SQL", "2019"),
    )
    reported = table_status_event.fields(full)
    assert tuple(reported) == table_status_event.FIELDS
    assert reported == {
        "Mirror": "sales",
        "LandingFolder": "Shop.schema/Orders",
        "SourceSchemaName": "Shop",
        "SourceTableName": "Orders",
        "Status": "Failed",
        "Stage": "Paused",
        "Health": "2",
        "PendingFiles": "3",
        "OldestPendingSeconds": "41",
        "WaitingFor": "gap",
        "WaitingSince": "2026-11-21T09:30:00Z",
        "WaitingText": "7 is missing",
        "ErrorCode": "FileUnreadable",
        "ErrorMessage": "it is no Parquet file",
        "Remedy": "Replace the file.",
        "ErrorSince": "2026-11-21T09:30:00Z",
        "Warnings": "SequenceReused: one\nFileNameInvalid: two",
        "LastSequence": "6",
        "LastCommitTime": "2026-11-21T09:30:00Z",
        "PublisherName": "Contoso",
        "PublisherSource": "SQL",
        "PublisherVersion": "2019",
    }


def test_what_has_no_value_is_left_out_and_zero_is_a_value() -> None:
    reported = table_status_event.fields(recorded())
    assert set(reported) == set(table_status_event.FIELDS[:9])
    assert (reported["Health"], reported["PendingFiles"], reported["OldestPendingSeconds"]) == (
        "0",
        "0",
        "0",
    )


def test_a_long_text_is_cut_where_one_sees_it() -> None:
    reported = table_status_event.fields(
        recorded(error_message="x" * 9000, remedy="y" * MOST_CHARACTERS)
    )
    assert len(reported["ErrorMessage"]) == MOST_CHARACTERS
    assert reported["ErrorMessage"].endswith("x …")
    assert reported["Remedy"] == "y" * MOST_CHARACTERS


def test_only_what_a_person_would_call_another_state_is_one() -> None:
    before = table_status_event.fields(recorded(oldest_pending_seconds=1.0))
    older = table_status_event.fields(recorded(oldest_pending_seconds=99.0))
    busier = table_status_event.fields(recorded(pending_files=1))
    paused = table_status_event.fields(recorded(error_code="RowMarkerInvalid"))
    assert table_status_event.without_ages(before) == table_status_event.without_ages(older)
    assert table_status_event.state(before) == table_status_event.state(busier)
    assert table_status_event.without_ages(before) != table_status_event.without_ages(busier)
    assert table_status_event.state(before) != table_status_event.state(paused)


@pytest.mark.parametrize(
    ("outcome", "reported"),
    [
        (Started("3", PAGE), {"Outcome": "Started", "RunId": "3", "RunPage": PAGE}),
        (
            Failed("run 3 ended with INTERNAL_ERROR", "3", PAGE),
            {
                "Outcome": "Failed",
                "Detail": "run 3 ended with INTERNAL_ERROR",
                "RunId": "3",
                "RunPage": PAGE,
            },
        ),
        (Failed("no such job"), {"Outcome": "Failed", "Detail": "no such job"}),
        (
            Skipped("run 3: SKIPPED", "3", PAGE),
            {"Outcome": "Skipped", "Detail": "run 3: SKIPPED", "RunId": "3", "RunPage": PAGE},
        ),
        (Refused("no right"), {"Outcome": "Refused", "Detail": "no right"}),
        (Unreachable("503"), {"Outcome": "Unreachable", "Detail": "503"}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
def test_a_start_has_its_outcome_its_job_and_the_page_of_the_run(
    outcome: StartOutcome, reported: dict[str, str]
) -> None:
    found = runner_start_event.fields("7", outcome)
    assert found == {**reported, "JobId": "7"}
    assert set(found) <= set(runner_start_event.FIELDS)


@pytest.mark.parametrize("outcome", [AlreadyActive("3"), NotNeeded("the queue is empty")])
def test_a_start_that_was_none_is_not_reported(outcome: StartOutcome) -> None:
    assert runner_start_event.fields("7", outcome) == {}


def test_a_dead_letter_is_reported_by_its_name_and_why_it_was_given_up() -> None:
    dead_letter = DeadLetter(
        source="table-work", identity="id-1", at=AT, reason="no work item", body=b"{}"
    )
    assert tuple(dead_letter_event.fields(dead_letter)) == dead_letter_event.FIELDS
    assert dead_letter_event.fields(dead_letter) == {
        "Source": "table-work",
        "DeadLetterName": "table-work/2026-11-21/id-1",
        "Reason": "no work item",
    }


def test_an_operation_has_the_documented_fields_and_no_other() -> None:
    full = TableOperation(
        name=OperationName.REPLICATING,
        folder=ORDERS,
        table=table_operation.TableName("Shop", "Orders"),
        subject=(1,),
        started_at=AT,
        ended_at=AT.astimezone(UTC),
        epoch=AppId("openmirror/e"),
        first=1,
        last=2,
        rows={"inserts": 1, "updates": 2, "deletes": 3},
        latency_seconds=1.5,
        wait_seconds=0.5,
        phases=dict.fromkeys(Phase, 0.25),
        error=OperationError(ErrorType.USER, "FileUnreadable", "it is none"),
        correlation="e-1",
    )
    assert tuple(table_operation.fields(full)) == table_operation.FIELDS
