"""Small documents, looks and logs: what a transition is told, written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from openmirror.control import (
    Act,
    Applied,
    BatchKind,
    ControlDocument,
    DecidedBatch,
    FileDigest,
    Life,
)
from openmirror.errors import Problem
from openmirror.layout import StorePath
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Look
from openmirror.protocol.filing import Filing
from openmirror.protocol.names import ETag, Incarnation, TableFolder, TableName, TablePath
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import FENCED, Position, Sequence
from openmirror.tablelog import AppId, CommitNote, Epoch, TableLog, Totals

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=3)
FOLDER = TableFolder("m", TablePath("Sales", "Orders"))
PATH = StorePath("lake/m/Tables/Sales/Orders")
LIFE, OTHER_LIFE = Incarnation("i2"), Incarnation("i1")
ACT = Act(NOW, "ann", "an act", "because")
PARTITIONED = Filing(partitioned=True)


def epoch(number: int = 1, life: Incarnation = LIFE) -> Epoch:
    return Epoch(FOLDER, life, number)


def app(number: int = 1, life: Incarnation = LIFE) -> AppId:
    return epoch(number, life).app_id


def name(number: int) -> str:
    return f"{number:020d}.parquet"


def digest(number: int, etag: str = "", called: str = "") -> FileDigest:
    return FileDigest(called or name(number), Sequence(number), ETag(etag or f"e{number}"))


def file(number: int, etag: str = "", called: str = "", **more: Any) -> LandedFile:
    known = digest(number, etag, called)
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
    life: Incarnation = LIFE,
    files: Iterable[FileDigest] | None = None,
) -> DecidedBatch:
    every = (digest(n) for n in range(first, last + 1)) if files is None else files
    digests = () if kind is BatchKind.CONTINUE else tuple(every)
    return DecidedBatch(
        kind=kind,
        app_id=app(number, life),
        first=Sequence(first),
        last=Position(last),
        files=digests,
    )


def log(
    position: int | None,
    *,
    number: int = 1,
    life: Incarnation = LIFE,
    before_fence: int = 0,
    note: CommitNote | None = None,
) -> TableLog:
    """A log with one epoch; fenced where `position` is None."""
    app_id = app(number, life)
    return TableLog(
        path=PATH,
        table_id="t",
        version=3,
        transactions={app_id: FENCED if position is None else Position(position)},
        before_fence={app_id: Position(before_fence)} if position is None else {},
        note=note,
    )


def note(operations: int, at: datetime | None = NOW) -> CommitNote:
    return CommitNote(
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


def life(**fields: Any) -> Life:
    return Life(incarnation=LIFE, **fields)


def look(document: ControlDocument | None = None, *files: LandedFile, **more: Any) -> Look:
    """A look at a folder that is there, with these files."""
    fields: dict[str, Any] = {
        "folder": FOLDER,
        "name": TableName("Sales", "Orders"),
        "table": PATH,
        "at": NOW,
        "incarnation": LIFE,
        "control": document or control(),
        "landed": tuple(file for file in files if not file.archived),
        "files": {file.sequence: file for file in files},
    }
    return Look(**{**fields, **more})


def problem(code: Code = Code.FILE_UNREADABLE, number: int | None = 3, **more: Any) -> Problem:
    """A problem at one file, judged by the folder as `look` shows it."""
    of_file = {"file": name(number), "etag": ETag(f"e{number}")} if number else {}
    fields: dict[str, Any] = {"detail": "bad", "incarnation": LIFE, "since": BEFORE, **of_file}
    return Problem(code=code, **{**fields, **more})
