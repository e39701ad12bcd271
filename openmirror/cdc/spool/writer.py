"""Writing a spool: one process at a time, each batch of records a segment."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.records import RECORDS
from openmirror.cdc.spool.folder import given_up, made_or_found, segments, write_whole
from openmirror.cdc.spool.reader import SOURCE, newest_source
from openmirror.errors import RootLocked
from openmirror.protocol.streams import START, Offset, StreamIdentity

_LOCK = "_lock"


@dataclass(frozen=True, kw_only=True, slots=True)
class SpooledRecord:
    """One record, before it has an offset."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    key_schema: str | None = None
    """Its JSON, where the key's text does not have it."""
    value_schema: str | None = None


class SpoolWriter:
    """Appends to the spool in a folder, which is made where there is none.

    Raises RootLocked while another process writes it, SpoolDamaged, and OSError: a record whose
    `append` has failed is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / _LOCK).open("w")
        self.next: Offset = START
        """The offset of the record that is appended next."""
        self.source: bytes | None = None
        """The source's own place behind the last record, as it was given with it."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise RootLocked(f"another process captures into {folder}") from error
        try:
            self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        self.identity: StreamIdentity = made_or_found(self._folder)
        found = segments(self._folder)
        self.next = found[-1].next if found else START
        self.source = newest_source(self._folder)

    def begin_anew(self) -> None:
        """Give up the stream, and begin another one that has no records."""
        given_up(self._folder)
        self._open()

    def append(self, records: Sequence[SpooledRecord], source: bytes) -> None:
        """Make records last; `source` is the source's own place behind them."""
        if not records:
            return
        end = Offset(self.next + len(records))
        table = pa.table(
            {
                "offset": list(range(self.next, end)),
                "topic": [record.topic for record in records],
                "key": [record.key for record in records],
                "value": [record.value for record in records],
                "key_schema": _texts([record.key_schema for record in records]),
                "value_schema": _texts([record.value_schema for record in records]),
                "headers": [
                    [{"name": name, "value": value} for name, value in record.headers]
                    for record in records
                ],
            },
            schema=RECORDS.with_metadata({SOURCE: source}),
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(
            sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(table)
        name = f"{self.next:020d}-{end:020d}.arrow"
        write_whole(self._folder, name, memoryview(sink.getvalue()))
        self.next, self.source = end, source

    def close(self) -> None:
        """Let another process write."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _texts(schemas: Sequence[str | None]) -> pa.DictionaryArray:
    """Each text once, and which of them every record has."""
    known: dict[str, int] = {}
    indices = [None if text is None else known.setdefault(text, len(known)) for text in schemas]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), pa.array(list(known), pa.string())
    )
