"""Small documents, observed states and logs: what transitions are given, written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from openmirror.errors import Problem
from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import ObservedState
from openmirror.protocol.names import ETag, Incarnation, TableFolder, TableName, TablePath
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import FENCED, Position, Sequence
from openmirror.table.control import (
    Act,
    Applied,
    BatchKind,
    ControlDocument,
    DecidedBatch,
    IncarnationRecord,
    ManifestEntry,
)
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId, BatchRecord, Epoch, TableLog, Totals

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=3)
FOLDER = TableFolder("m", TablePath("Sales", "Orders"))
PATH = StorePath("lake/m/Tables/Sales/Orders")
RECORD, OTHER_INCARNATION = Incarnation("i2"), Incarnation("i1")
ACT = Act(NOW, "ann", "an act", "because")
PARTITIONED = NamingScheme(partitioned=True)


def epoch(number: int = 1, record: Incarnation = RECORD) -> Epoch:
    return Epoch(FOLDER, record, number)


def app(number: int = 1, record: Incarnation = RECORD) -> AppId:
    return epoch(number, record).app_id


def name(number: int) -> str:
    return f"{number:020d}.parquet"


def manifest(number: int, etag: str = "", called: str = "") -> ManifestEntry:
    return ManifestEntry(called or name(number), Sequence(number), ETag(etag or f"e{number}"))


def file(number: int, etag: str = "", called: str = "", **more: Any) -> LandedFile:
    known = manifest(number, etag, called)
    path = StorePath(f"landing/{known.name}")
    return LandedFile(
        sequence=known.sequence,
        name=known.name,
        path=path,
        etag=known.etag,
        size=10,
        modified=BEFORE,
        **more,
    )


def batch(
    first: int,
    last: int,
    kind: BatchKind = BatchKind.EXTEND,
    number: int = 1,
    record: Incarnation = RECORD,
    files: Iterable[ManifestEntry] | None = None,
) -> DecidedBatch:
    every = (manifest(n) for n in range(first, last + 1)) if files is None else files
    manifests = () if kind is BatchKind.CONTINUE else tuple(every)
    return DecidedBatch(
        kind=kind,
        app_id=app(number, record),
        first=Sequence(first),
        last=Position(last),
        files=manifests,
    )


def log(
    position: int | None,
    *,
    number: int = 1,
    record: Incarnation = RECORD,
    before_fence: int = 0,
    batch_record: BatchRecord | None = None,
) -> TableLog:
    """A log with one epoch; fenced where `position` is None."""
    app_id = app(number, record)
    return TableLog(
        path=PATH,
        table_id="t",
        version=3,
        transactions={app_id: FENCED if position is None else Position(position)},
        before_fence={app_id: Position(before_fence)} if position is None else {},
        batch_record=batch_record,
    )


def batch_record(operations: int, at: datetime | None = NOW) -> BatchRecord:
    return BatchRecord(
        operation="o",
        folder=str(FOLDER),
        kind="extend",
        first=1,
        last=2,
        files=2,
        totals=Totals(operations, 10 * operations),
        committed_at=at,
    )


def applied(position: int, number: int = 1, totals: Totals = Totals(4, 40)) -> Applied:
    return Applied(app(number), Position(position), totals, BEFORE)


def control(**fields: Any) -> ControlDocument:
    return ControlDocument(folder=str(FOLDER), **fields)


def record(**fields: Any) -> IncarnationRecord:
    return IncarnationRecord(incarnation=RECORD, **fields)


def observed(
    document: ControlDocument | None = None, *files: LandedFile, **more: Any
) -> ObservedState:
    """An observed folder that is there, with these files."""
    fields: dict[str, Any] = {
        "folder": FOLDER,
        "name": TableName("Sales", "Orders"),
        "table": PATH,
        "at": NOW,
        "incarnation": RECORD,
        "control": document or control(),
        "landed": tuple(file for file in files if not file.archived),
        "files": {file.sequence: file for file in files},
    }
    return ObservedState(**{**fields, **more})


def problem(code: Code = Code.FILE_UNREADABLE, number: int | None = 3, **more: Any) -> Problem:
    """A problem at one file, decided by the folder as `observed` shows it."""
    of_file = {"file": name(number), "etag": ETag(f"e{number}")} if number else {}
    fields: dict[str, Any] = {"detail": "bad", "incarnation": RECORD, "since": BEFORE, **of_file}
    return Problem(code=code, **{**fields, **more})
