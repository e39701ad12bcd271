"""Tables that are begun anew: following their new snapshots through the stream.

From where the rows of one begin, nothing of its table lands; where they end, all of it lands as one
file. Both places are marked in the stream, so that every relay sees them at the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from uuid import uuid4

from openmirror.cdc.relay.anew import SnapshotNotWhole
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.folders import LandedRecords
from openmirror.cdc.relay.selecting import TableRecords
from openmirror.cdc.snapshot_marks import MarkKind, SnapshotMark
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import (
    Offset,
    Resnapshot,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
)

_MOST_ATTEMPTS = 3
"""So often a snapshot that was not whole is taken again by itself."""


class Resnapshots:
    """The new snapshots of one stream.

    `records_of` gives all records of a table in a stretch of the stream; `land` lands the records
    of a snapshot, of a table, with its number.
    """

    def __init__(
        self,
        document: SharedDocument,
        records_of: Callable[[TablePath, Offset, Offset], TableRecords],
        land: Callable[[TablePath, TableRecords, str], LandedRecords],
    ) -> None:
        self._document = document
        self._records_of = records_of
        self._land = land

    def begin(self, marks: Iterable[SnapshotMark]) -> None:
        """Say from where on the rows of snapshots come, before anything behind lands."""
        for mark in marks:
            if mark.kind is MarkKind.BEGUN:
                self._document.change(_begun(mark))

    def end(self, marks: Iterable[SnapshotMark]) -> dict[TablePath, LandedRecords]:
        """Land the snapshots that end at these marks; what is not whole is asked for again."""
        landed = {}
        for mark in marks:
            if mark.kind is MarkKind.BEGUN:
                continue
            for path, one in self._document.now.resnapshots.items():
                found = self._landed(path, one, mark) if one.number == mark.number else None
                if found is not None:
                    landed[path] = found
        return landed

    def _landed(self, path: TablePath, one: Resnapshot, mark: SnapshotMark) -> LandedRecords | None:
        """What became of a snapshot; None where it has to be taken again."""
        why = mark.why
        if mark.kind is MarkKind.ENDED and one.since is not None:
            records = self._records_of(path, one.since, Offset(mark.offset + 1))
            if records.is_emptied:
                # The connector may have sent rows that it had read before.
                why = "the table was emptied meanwhile"
            else:
                try:
                    landed = self._land(path, records, one.number)
                except SnapshotNotWhole as error:
                    why = str(error)
                else:
                    landed = replace(landed, is_anew=landed.stopped is None)
                    self._document.change(lambda there: _ended(there, path, landed))
                    return landed
        if one.attempts < _MOST_ATTEMPTS:
            self._document.change(lambda there: there.failed(mark.number, uuid4().hex))
            return None
        detail = f"{path}: its new snapshot failed {one.attempts} times: {why}"
        stop = StopReason(StopCode.RESNAPSHOT_NEEDED, detail, "Ask for it again.")
        failed = LandedRecords(stopped=StoppedTable(one.since or mark.offset, stop))
        self._document.change(lambda there: _ended(there, path, failed))
        return failed


def _begun(mark: SnapshotMark) -> Callable[[StreamDocument], StreamDocument]:
    return lambda there: there.begun(mark.number, mark.offset)


def _ended(there: StreamDocument, path: TablePath, landed: LandedRecords) -> StreamDocument:
    """A table goes on behind its snapshot, or stops there."""
    stopped = {path: landed.stopped} if landed.stopped is not None else {}
    goes_on = there.resumed(path).without_resnapshot(path)
    return goes_on.advanced(there.complete_to, [path], stopped)
