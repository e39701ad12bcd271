"""Reading a spool from any offset that it still holds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.records import RECORDS
from openmirror.cdc.spool.folder import Segment, SpoolDamaged, flush, identity_of, segments
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.protocol.streams import START, Offset, StreamIdentity

SOURCE = b"openmirror.source"
"""The key in a segment's schema under which the source's own place stands."""


class SpoolReader:
    """A `RecordSource` over a spool's folder, while another process writes it.

    Raises SpoolDamaged for files that are not as they were written, and StreamReplaced once the
    stream was given up for another one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._identity = identity_of(folder)

    @property
    def identity(self) -> StreamIdentity:
        """Which stream it is."""
        return self._identity

    @property
    def forgets_by_itself(self) -> bool:
        """Only what nobody needs any more is deleted."""
        return False

    def ends(self) -> tuple[Offset, Offset]:
        """The first record that is there, and the one that comes next."""
        found = self._segments()
        return (found[0].first, found[-1].next) if found else (START, START)

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        """Records from an offset on; see `RecordSource`."""
        found = self._segments()
        earliest, end = (found[0].first, found[-1].next) if found else (START, START)
        if not earliest <= start <= end:
            raise EventsLost(
                f"{self._folder} holds records {earliest} to {end - 1}, and {start} is wanted"
            )
        tables, records, size = [], 0, 0
        for segment in found:
            if segment.next <= start:
                continue
            try:
                whole = read_segment(self._folder, segment).replace_schema_metadata(None)
            except FileNotFoundError as error:
                self._need_same()
                raise EventsLost(f"{self._folder / segment.name} was let go of") from error
            part = whole.slice(max(0, start - segment.first), most_records - records)
            tables.append(part)
            records, size = records + part.num_rows, size + part.nbytes
            if records >= most_records or size >= most_bytes:
                break
        # What was read may be of another stream that took this one's place meanwhile.
        self._need_same()
        return pa.concat_tables(tables) if tables else RECORDS.empty_table()

    def bytes_from(self, start: Offset) -> int:
        """What the segments take up that have records from an offset on."""
        found = 0
        for segment in self._segments():
            if segment.next > start:
                with suppress(FileNotFoundError):  # another relay has let it go
                    found += (self._folder / segment.name).stat().st_size
        return found

    def forget(self, before: Offset) -> None:
        """Delete segments that lie wholly before; the newest stays, since it knows the end."""
        for segment in self._segments()[:-1]:
            if segment.next <= before:
                (self._folder / segment.name).unlink(missing_ok=True)
        flush(self._folder)

    def _segments(self) -> list[Segment]:
        self._need_same()
        return segments(self._folder)

    def _need_same(self) -> None:
        now = identity_of(self._folder)
        if now != self._identity:
            raise StreamReplaced(
                f"the stream in {self._folder} was begun anew ({now}, was {self._identity}): "
                "begin the relay again"
            )


def newest_source(folder: Path) -> bytes | None:
    """The source's own place behind a spool's last record, as it was given with it; None where it
    has none.

    Raises SpoolDamaged.
    """
    while found := segments(folder):
        with suppress(FileNotFoundError):  # a relay has let it go, since there is a newer one
            newest = read_segment(folder, found[-1])
            return (newest.schema.metadata or {}).get(SOURCE)
    return None


def read_segment(folder: Path, segment: Segment) -> pa.Table:
    """A segment's records.

    Raises SpoolDamaged unless it holds what its name says, FileNotFoundError where it is gone.
    """
    path = folder / segment.name
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        whole = table.schema.equals(RECORDS, check_metadata=False)
        right = whole and table.num_rows == segment.next - segment.first
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, str(error)) from error
    if not right:
        raise _damaged(path, "it does not hold the records that its name says")
    return table


def _damaged(path: Path, why: str) -> SpoolDamaged:
    return SpoolDamaged(
        f"{path} is damaged ({why}). Remove the folder, and begin the stream anew from a new "
        "snapshot"
    )
