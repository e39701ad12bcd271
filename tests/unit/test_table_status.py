"""Status says how far a table has come, in Fabric's words, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openmirror.plan import Limits, ObservedState, plan
from openmirror.plan.decisions import Idle, Pause, Wait, Waiting, WaitKind
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.observed import UnexpectedName
from openmirror.plan.rules import problem_of
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import ETag, Incarnation, TableFolder, TableName, TablePath
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import FENCED, Position, Sequence
from openmirror.status import (
    FabricStatus,
    TableStatus,
    is_listed,
    iso,
    leaves_undone,
    needs_attention,
    table_status,
    to_json,
)
from openmirror.table.control import (
    Applied,
    Archived,
    BatchKind,
    ControlDocument,
    DecidedBatch,
    Dropped,
    Failures,
    Hold,
    IncarnationRecord,
    ManifestEntry,
    Request,
    RequestKind,
    Skip,
)
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, BrokenLog, Epoch, TableLog, Totals

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FOLDER = TableFolder("m", TablePath("Sales", "Orders"))
OTHER = TableFolder("m", TablePath("Sales", "orders"))
PATH = StorePath("lake/m/Tables/Sales/Orders")
RECORD, FORMER = Incarnation("i2"), Incarnation("i1")
SCHEMA = TableSchema((Column("id", ColumnType("long")),))


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def file(number: int, age: float = 1, **more: Any) -> LandedFile:
    name, etag = f"{number:020d}.parquet", ETag(f"e{number}")
    facts = FileFacts(etag=etag, completeness=Completeness.COMPLETE, rows=1, schema=SCHEMA)
    landed = LandedFile(
        sequence=Sequence(number),
        name=name,
        path=StorePath(f"landing/{name}"),
        etag=etag,
        size=10,
        modified=NOW - minutes(age),
        facts=facts,
    )
    return replace(landed, **more)


def log(
    position: int | None,
    *,
    record: Incarnation = RECORD,
    number: int = 1,
    folder: TableFolder = FOLDER,
    fenced_at: int | None = None,
) -> TableLog:
    epoch = Epoch(folder, record, number)
    return TableLog(
        path=PATH,
        table_id="t",
        version=3,
        transactions={epoch.app_id: Position(position) if position is not None else FENCED},
        schema=SCHEMA,
        before_fence={} if fenced_at is None else {epoch.app_id: Position(fenced_at)},
        batch_record=BatchRecord(
            operation="o",
            folder=str(folder),
            kind="extend",
            first=1,
            last=5,
            files=5,
            totals=Totals(operations=70, bytes=900),
            committed_at=NOW - minutes(2),
        ),
    )


def batch(*numbers: int, kind: BatchKind = BatchKind.EXTEND) -> DecidedBatch:
    files = tuple(ManifestEntry(f"{n:020d}.parquet", Sequence(n), ETag(f"e{n}")) for n in numbers)
    app_id = Epoch(FOLDER, RECORD, 1).app_id
    return DecidedBatch(
        kind=kind,
        app_id=app_id,
        first=Sequence(numbers[0]),
        last=Position(numbers[-1]),
        files=files,
    )


def observed(
    *files: LandedFile, control: dict[str, Any] | None = None, **more: Any
) -> ObservedState:
    seen = ObservedState(
        folder=FOLDER,
        name=TableName("Sales", "Orders"),
        table=PATH,
        at=NOW,
        incarnation=RECORD,
        control=ControlDocument(folder=str(FOLDER), **{"epoch": 1, **(control or {})}),
        files={f.sequence: f for f in files},
        metadata=TableMetadata(key_columns=("id",)),
    )
    return replace(seen, **more)


def applied(*numbers: int, **record: Any) -> dict[str, Any]:
    """A control document that remembers how these files were read."""
    return {
        "record": IncarnationRecord(incarnation=RECORD, **{"batches": (batch(*numbers),), **record})
    }


def status_of(seen: ObservedState) -> TableStatus:
    return table_status(seen, plan(seen, Limits(), seen.at))


def codes(table: TableStatus) -> list[str]:
    return [warning.code for warning in table.warnings]


def data(table: TableStatus) -> Any:
    shown: Any = to_json([table])
    return shown["data"][0]


def test_a_folder_without_change_files_is_initialized() -> None:
    assert status_of(observed()).status is FabricStatus.INITIALIZED


def test_a_table_before_its_first_batch_is_snapshotting() -> None:
    table = status_of(observed(file(1), file(2)))
    assert (table.status, table.pending_files) == (FabricStatus.SNAPSHOTTING, 2)


def test_a_recreated_folder_is_snapshotting_while_the_former_table_still_stands() -> None:
    table = status_of(observed(file(1), log=log(9, record=FORMER)))
    assert (table.status, table.applied) == (FabricStatus.SNAPSHOTTING, 0)


def test_a_table_with_applied_files_is_replicating() -> None:
    table = status_of(observed(file(1), log=log(1), control=applied(1)))
    assert (table.status, table.applied, table.pending_files) == (FabricStatus.REPLICATING, 1, 0)


def test_a_waiting_table_is_replicating_and_names_the_missing_number() -> None:
    table = status_of(observed(file(1), file(3), log=log(1), control=applied(1)))
    assert table.status is FabricStatus.REPLICATING
    assert data(table)["openmirror"]["waitingFor"] == {
        "kind": "gap",
        "sequence": "2",
        "since": "2026-03-01T11:59:00Z",
    }


def test_an_unfinished_file_is_named_by_its_wait_with_since_and_until() -> None:
    unfinished = FileFacts(
        etag=ETag("e1"), completeness=Completeness.INCOMPLETE, reason="no footer yet"
    )
    table = status_of(observed(file(1, facts=unfinished)))
    assert data(table)["openmirror"]["waitingFor"] == {
        "kind": "incomplete",
        "sequence": "1",
        "file": "00000000000000000001.parquet",
        "since": "2026-03-01T11:59:00Z",
        "until": "2026-03-01T12:09:00Z",
    }


def test_a_held_table_is_stopped_and_says_by_whom_and_why() -> None:
    hold = Hold(NOW - minutes(5), "ann", "month end")
    table = status_of(observed(file(1), control={"hold": hold}))
    assert table.status is FabricStatus.STOPPED
    assert codes(table) == ["Held"]
    assert "2026-03-01T11:55:00Z by ann: month end" in table.warnings[0].detail


def test_a_paused_table_is_failed_with_code_file_and_remedy() -> None:
    broken = FileFacts(
        etag=ETag("e1"), completeness=Completeness.BROKEN, reason="it is a zip archive"
    )
    table = status_of(observed(file(1, facts=broken)))
    name = "00000000000000000001.parquet"
    assert table.status is FabricStatus.FAILED
    assert data(table)["error"]["errorCode"] == "FileUnreadable"
    assert data(table)["error"]["message"].startswith(f"{name}: it is a zip archive. Replace")
    assert data(table)["openmirror"]["problem"]["file"] == name


def test_a_problem_keeps_the_time_when_it_was_first_seen() -> None:
    broken = FileFacts(
        etag=ETag("e1"), completeness=Completeness.BROKEN, reason="it is a zip archive"
    )
    seen = observed(file(1, facts=broken))
    first = problem_of(
        seen, Broken(Code.FILE_UNREADABLE, "it is a zip archive"), seen.files[Sequence(1)]
    )
    known = replace(
        seen, control=replace(seen.control, problem=replace(first, since=NOW - minutes(30)))
    )
    assert data(status_of(seen))["openmirror"]["problem"]["since"] == "2026-03-01T12:00:00Z"
    assert data(status_of(known))["openmirror"]["problem"]["since"] == "2026-03-01T11:30:00Z"


def test_a_reseed_is_reseeding_from_the_request_until_it_has_come_as_far_again() -> None:
    asked = Request(RequestKind.RESEED, NOW, "ann")
    files = [file(n) for n in (1, 2, 3)]
    begun = applied(1, reseeding_until=Position(3))
    before = observed(*files, log=log(3), control={**applied(1, 2, 3), "request": asked})
    halfway = observed(*files, log=log(1), control=begun)
    done = observed(*files, log=log(3), control=applied(1, 2, 3, reseeding_until=Position(3)))
    words = [status_of(seen).status.value for seen in (before, halfway, done)]
    assert words == ["Reseeding", "Reseeding", "Replicating"]


def test_a_reseed_stays_reseeding_between_its_decision_and_its_first_commit() -> None:
    decided = batch(1, 2, kind=BatchKind.REPLACE)
    control = {
        "record": IncarnationRecord(
            incarnation=RECORD, batches=(decided,), reseeding_until=Position(2)
        ),
        "decided": replace(decided, app_id=Epoch(FOLDER, RECORD, 2).app_id),
        "epoch": 2,
    }
    fenced = observed(file(1), file(2), log=log(None, fenced_at=2), control=control)
    assert status_of(fenced).status is FabricStatus.RESEEDING


def test_a_reseed_under_way_calls_no_file_reused_that_it_has_not_come_to() -> None:
    decided = batch(1, kind=BatchKind.REPLACE)
    own = replace(decided, app_id=Epoch(FOLDER, RECORD, 2).app_id)
    control = {
        "record": IncarnationRecord(incarnation=RECORD, batches=(decided,)),
        "decided": own,
        "epoch": 2,
    }
    fenced = observed(file(1), file(2), log=log(None, fenced_at=2), control=control)
    assert codes(status_of(fenced)) == []


def test_an_adopted_table_brings_its_position_and_figures_along() -> None:
    asked = Request(RequestKind.ADOPT, NOW, "ann")
    table = status_of(observed(file(1), log=log(4, folder=OTHER), control={"request": asked}))
    assert (table.status, table.applied) == (FabricStatus.REPLICATING, 4)
    assert (table.totals, table.problem) == (Totals(70, 900), None)


def test_a_reseed_that_waits_shows_both() -> None:
    seen = observed(file(1), file(3), log=log(1), control=applied(1, reseeding_until=Position(3)))
    table = status_of(seen)
    assert table.status is FabricStatus.RESEEDING
    assert table.waiting_for is not None
    assert table.needs_attention


def test_between_two_epochs_the_position_is_the_one_before_the_fence() -> None:
    seen = observed(file(1), log=log(None, fenced_at=1), control=applied(1))
    table = status_of(seen)
    assert (table.status, table.applied) == (FabricStatus.REPLICATING, 1)


def dropped(**more: Any) -> ObservedState:
    control = {"dropped": Dropped(RECORD, NOW - minutes(60))}
    return observed(
        incarnation=None, metadata=None, retained=log(None, fenced_at=5), control=control, **more
    )


def test_a_dropped_table_is_stopped_and_says_until_when_it_can_come_back() -> None:
    table = status_of(dropped())
    assert (table.status, table.applied) == (FabricStatus.STOPPED, 5)
    assert codes(table) == ["Dropped"]
    assert "until 2026-03-08T11:00:00Z" in table.warnings[0].detail
    assert not table.needs_attention


def test_a_dropped_table_is_listed_only_while_it_can_come_back() -> None:
    gone = dropped(log=None)
    assert is_listed(gone)
    assert not is_listed(replace(gone, retained=None))


def test_a_retained_table_that_another_folder_dropped_is_not_this_folders() -> None:
    retained = log(None, fenced_at=5, folder=OTHER)
    assert not is_listed(observed(incarnation=None, metadata=None, retained=retained))


def test_a_remembered_folder_whose_table_is_now_anothers_is_not_listed() -> None:
    assert not is_listed(observed(incarnation=None, metadata=None, log=log(4, folder=OTHER)))
    assert is_listed(observed(incarnation=None, metadata=None, log=log(4)))
    assert is_listed(observed(incarnation=None, metadata=None, log=BrokenLog(PATH, "gap")))


@pytest.mark.parametrize("missing", [None, NOW - minutes(5)])
def test_a_folder_that_is_gone_is_a_grace_wait_until_the_table_has_moved(
    missing: datetime | None,
) -> None:
    seen = observed(incarnation=None, metadata=None, log=log(4), control={"missing_since": missing})
    table = status_of(seen)
    assert (table.status, table.applied) == (FabricStatus.REPLICATING, 4)
    assert table.waiting_for is not None
    assert table.waiting_for.waiting.kind is WaitKind.GRACE
    assert not table.needs_attention


def test_rows_bytes_and_last_sync_are_those_of_the_newest_commit() -> None:
    seen = observed(file(1), log=log(1), control=applied(1))
    assert data(status_of(seen))["metrics"] == {
        "processedBytes": 900,
        "processedRows": 70,
        "lastSyncDateTime": "2026-03-01T11:58:00Z",
    }


def test_a_strangers_table_lends_no_figures() -> None:
    seen = observed(file(1), log=log(4, folder=OTHER))
    table = status_of(seen)
    assert table.problem is not None
    assert table.problem.code == "TableNameCollision"
    assert (table.totals, table.synced_at, table.applied) == (Totals(), None, 0)


def test_without_a_batch_record_in_the_log_the_control_document_says_how_much_was_applied() -> None:
    known = Applied(Epoch(FOLDER, RECORD, 1).app_id, Position(1), Totals(7, 8), NOW)
    control = {**applied(1), "applied": known}
    table = status_of(observed(file(1), log=replace(log(1), batch_record=None), control=control))
    assert (table.totals, table.synced_at) == (Totals(7, 8), NOW)


def test_pending_files_are_those_ahead_that_are_neither_skipped_nor_archived() -> None:
    skip = Skip(first=Sequence(2), last=Sequence(2), by="ann", at=NOW, why="bad", etag=ETag("e2"))
    files = file(1), file(2), file(3), file(4, archived=True), file(5)
    seen = observed(*files, log=log(1), control=applied(1, skips=(skip,)))
    assert status_of(seen).pending_files == 2


def test_lag_is_the_age_of_the_oldest_file_that_is_not_applied() -> None:
    behind = observed(file(1, 90), file(2, 4), file(3, 7), log=log(1), control=applied(1))
    upright = observed(file(1, 90), log=log(1), control=applied(1))
    future = observed(file(1, -5))
    assert [status_of(seen).lag_seconds for seen in (behind, upright, future)] == [420, 0, 0]


def test_each_name_that_is_no_change_file_is_a_warning() -> None:
    odd = (UnexpectedName("7.parquet.tmp", "20 digits"), UnexpectedName(".DS_Store", "20 digits"))
    table = status_of(observed(unexpected_names=odd))
    (warning,) = table.warnings
    assert (warning.code, warning.file) == ("FileNameInvalid", "7.parquet.tmp")
    assert warning.detail == "never read, like 1 more: 20 digits"
    assert not table.needs_attention


def test_what_may_hold_changes_and_is_never_read_needs_attention_unless_the_table_is_held() -> None:
    odd = (
        UnexpectedName("7.parquet", "20 digits", may_hold_changes=True),
        UnexpectedName("a.csv", ".parquet", may_hold_changes=True),
        UnexpectedName("b.csv", ".parquet", may_hold_changes=True),
    )
    table = status_of(observed(unexpected_names=odd))
    assert [(w.code, w.file, w.detail) for w in table.warnings] == [
        ("FileNeverRead", "7.parquet", "never read: 20 digits"),
        ("FileNeverRead", "a.csv", "never read, like 1 more: .parquet"),
    ]
    assert table.needs_attention
    held = observed(unexpected_names=odd, control={"hold": Hold(NOW, "ann")})
    assert not status_of(held).needs_attention


def test_numbers_that_come_again_are_a_warning_with_its_remedy() -> None:
    archived = (Archived(NOW, Sequence(2)),)
    files = file(1), file(2), file(4)
    table = status_of(observed(*files, log=log(4), control=applied(4, archived=archived)))
    (warning,) = table.warnings
    assert (warning.code, warning.file) == ("SequenceReused", files[0].name)
    assert "1 more" in warning.detail
    assert "re-create the table folder" in warning.solution


def test_a_late_file_under_a_number_that_was_given_up_is_reused() -> None:
    skip = Skip(first=Sequence(2), last=Sequence(2), by="ann", at=NOW, why="lost")
    seen = observed(file(1), file(2), file(3), log=log(3), control=applied(1, 3, skips=(skip,)))
    assert codes(status_of(seen)) == ["SequenceReused"]


def test_a_skipped_or_an_applied_file_is_not_reused() -> None:
    skip = Skip(first=Sequence(2), last=Sequence(2), by="ann", at=NOW, why="bad", etag=ETag("e2"))
    seen = observed(file(1), file(2), file(3), log=log(3), control=applied(1, 3, skips=(skip,)))
    assert codes(status_of(seen)) == []


def test_a_control_document_made_anew_warns_of_that_and_not_of_reused_numbers() -> None:
    control = {"record": IncarnationRecord(incarnation=RECORD), "rebuilt": NOW}
    table = status_of(observed(file(1), file(2), log=log(2), control=control))
    assert codes(table) == ["ControlDocumentRebuilt"]


def test_a_number_below_the_archive_is_reused_even_when_manifests_are_lost() -> None:
    record = IncarnationRecord(incarnation=RECORD, archived=(Archived(NOW, Sequence(1)),))
    table = status_of(
        observed(file(1), file(2), log=log(2), control={"record": record, "rebuilt": NOW})
    )
    (reused,) = [w for w in table.warnings if w.code == "SequenceReused"]
    assert reused.detail.startswith(f"{1:020d}.parquet: ")


def test_mended_metadata_is_a_warning() -> None:
    mended = TableMetadata(key_columns=("id",), repairs=("a comma was left out",))
    table = status_of(observed(metadata=mended))
    assert [(w.code, w.file) for w in table.warnings] == [("MetadataRepaired", "_metadata.json")]


def test_failures_that_are_tried_again_are_a_warning_until_the_table_pauses() -> None:
    failures = Failures(2, batch(1).files, NOW, "OSError: disk full")
    table = status_of(observed(file(1), control={"failures": failures}))
    assert codes(table) == ["Retrying"]
    assert "attempt 2 of 3" in table.warnings[0].detail
    problem = problem_of(observed(file(1)), Broken(Code.APPLY_FAILED, "3 times"), file(1))
    paused = status_of(observed(file(1), control={"failures": failures, "problem": problem}))
    assert (paused.status, codes(paused)) == (FabricStatus.FAILED, [])


def test_a_pending_request_says_what_by_whom_since_when_and_who_carries_it_out() -> None:
    asked = Request(RequestKind.UNDROP, NOW, "ann", "by mistake")
    seen = dropped()
    table = status_of(replace(seen, control=replace(seen.control, request=asked)))
    request = next(w for w in table.warnings if w.code == "Requested")
    assert request.detail == (
        "undrop asked for on 2026-03-01T12:00:00Z by ann: by mistake; "
        "the runner carries it out when it next runs"
    )


def test_only_skips_that_still_pass_over_something_are_shown() -> None:
    skips = (
        Skip(first=Sequence(1), last=Sequence(1), by="ann", at=NOW, why="behind"),
        Skip(
            first=Sequence(3),
            last=Sequence(3),
            by="ann",
            at=NOW,
            why="replaced since",
            etag=ETag("former"),
        ),
        Skip(
            first=Sequence(4), last=Sequence(4), by="ann", at=NOW, why="bad file", etag=ETag("e4")
        ),
        Skip(first=Sequence(5), last=Sequence(9), by="ann", at=NOW, why="lost"),
    )
    files = file(2), file(3), file(4)
    table = status_of(observed(*files, log=log(2), control=applied(2, skips=skips)))
    shown = [w.detail for w in table.warnings if w.code == "Skipped"]
    assert [text.rpartition(": ")[2] for text in shown] == ["bad file", "lost"]


@pytest.mark.parametrize("kind", list(WaitKind))
def test_drain_is_content_with_schema_and_grace_waits_only(kind: WaitKind) -> None:
    wait = Wait(Waiting(kind=kind, since=NOW, detail="…"))
    content = kind in (WaitKind.SCHEMA, WaitKind.GRACE)
    assert leaves_undone(wait) is not content
    assert needs_attention([table_status(observed(), wait)]) is not content


def test_drain_is_not_content_with_a_pause_but_with_holds_and_finished_tables() -> None:
    paused = Pause(problem_of(observed(), Broken(Code.TABLE_NOT_OURS, "…")))
    held = observed(control={"hold": Hold(NOW, "ann")})
    assert leaves_undone(paused)
    assert needs_attention([table_status(observed(), Idle()), table_status(observed(), paused)])
    assert not leaves_undone(plan(held, Limits(), NOW))
    assert not needs_attention([status_of(held), status_of(observed())])


def test_times_are_utc_with_z() -> None:
    there = datetime.fromisoformat("2026-03-01T13:00:00.5+01:00")
    assert iso(there) == "2026-03-01T12:00:00.500000Z"


def test_the_json_of_status_is_the_contract() -> None:
    seen = observed(
        file(2**53 + 1),
        unexpected_names=(UnexpectedName("x", "why"),),
        log=log(2**53),
        control=applied(2**53),
    )
    table = status_of(replace(seen, metadata=Broken(Code.METADATA_INVALID, "not JSON")))
    solution = "Write a valid _metadata.json; the table is checked again when it changes."
    assert to_json([table]) == {
        "data": [
            {
                "sourceSchemaName": "Sales",
                "sourceTableName": "Orders",
                "status": "Failed",
                "metrics": {
                    "processedBytes": 900,
                    "processedRows": 70,
                    "lastSyncDateTime": "2026-03-01T11:58:00Z",
                },
                "error": {
                    "errorCode": "MetadataInvalid",
                    "message": f"not JSON. {solution}",
                },
                "openmirror": {
                    "landingFolder": "Sales.schema/Orders",
                    "appliedSequence": "9007199254740992",
                    "pendingFiles": 1,
                    "waitingFor": None,
                    "problem": {
                        "code": "MetadataInvalid",
                        "file": None,
                        "detail": "not JSON",
                        "solution": solution,
                        "since": "2026-03-01T12:00:00Z",
                    },
                    "warnings": [
                        {
                            "code": "FileNameInvalid",
                            "file": "x",
                            "detail": "never read: why",
                            "solution": (
                                "Rename it to the next 20-digit number with the table's "
                                "extension, or give scratch files a name that starts with _."
                            ),
                        }
                    ],
                    "lagSeconds": 60.0,
                },
            }
        ],
        "mirrors": [],
    }


def test_a_table_that_never_synced_has_null_and_no_error() -> None:
    one = data(status_of(observed()))
    assert one["metrics"]["lastSyncDateTime"] is None
    assert one["error"] is None
    assert one["openmirror"]["problem"] is None
    assert "partitions" not in one["openmirror"]
