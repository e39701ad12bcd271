"""A change file that may be larger than memory: its rows are sent once, its footer at each try."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.ports import StreamedFile
from openmirror.publishing.encoding import LARGE_FILE
from openmirror.publishing.footer import FOOTER_KEY, FileBytes, with_footer

_GROUP = 16 << 20
"""Bytes of a row group's values in memory."""
_PART = 8 << 20
"""Bytes that are sent to the store at once, at most."""


class StreamedParquet:
    """A change file made of tables that come one after the other, row group by row group.

    A few times 16 MiB of it are in memory at once, or a single row where that is larger.
    """

    def __init__(self, schema: pa.Schema, tables: Callable[[], Iterable[pa.Table]]) -> None:
        """Describe a file; nothing is read before `send`.

        Args:
            schema: The columns of every table, the marker column included.
            tables: Begins the tables anew at each call, always with the same rows: a body that
                the store has lost is sent again.
        """
        self._schema = schema
        self._tables = tables
        self._end = b""
        """What `send` held back: the Parquet footer, with an empty value under our key."""
        self.rows = 0
        """Rows that the last `send` sent."""

    def send(self, file: StreamedFile) -> None:
        """Append everything but the Parquet footer."""
        self._end, self.rows = b"", 0
        encoded = _Encoded()
        # Not by `with`: closing a writer writes the footer, which is no use after a failure.
        writer = pq.ParquetWriter(encoded, self._schema, **LARGE_FILE)
        for group in _groups(self._tables()):
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            self.rows += group.num_rows
            encoded.hand_on(file)
            del group  # or it would stay in memory while the next one comes
        encoded.hand_on(file)
        writer.add_key_value_metadata({FOOTER_KEY: b"{}"})
        writer.close()
        self._end = encoded.taken()

    def tail(self, value: bytes) -> bytes:
        """Return the Parquet footer with this value under our key; `send` comes first."""
        return with_footer(self._end, value)


class _Encoded(io.RawIOBase):
    """Collects what the writer encodes.

    The store is called between two row groups, never by the writer itself: an error would come
    back from Arrow in its own words, and the writer would go on writing.
    """

    def __init__(self) -> None:
        self._collected = bytearray()

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, data: FileBytes) -> int:  # type: ignore[override]
        """Collect some bytes."""
        self._collected += data
        return len(data)

    def taken(self) -> bytes:
        """Return what was collected, and begin anew."""
        collected, self._collected = self._collected, bytearray()
        return bytes(collected)

    def hand_on(self, file: StreamedFile) -> None:
        """Append what was collected, in parts, and begin anew."""
        collected, self._collected = self._collected, bytearray()
        with memoryview(collected) as view:
            for start in range(0, len(view), _PART):
                with view[start : start + _PART] as part:
                    file.append(part)


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """All rows in their order, in tables that are neither larger nor much smaller than a group."""
    waiting: list[pa.Table] = []
    size = 0
    for table in tables:
        for piece in _pieces(table):
            if waiting and size + piece.nbytes > _GROUP:
                yield pa.concat_tables(waiting)
                waiting, size = [], 0
            waiting.append(piece)
            size += piece.nbytes
    if waiting:
        yield pa.concat_tables(waiting)


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Halve a table until each piece fits into a row group, or has one row."""
    if table.nbytes <= _GROUP or table.num_rows <= 1:
        if table.num_rows:
            yield table
        return
    half = table.num_rows // 2
    yield from _pieces(table.slice(0, half))
    yield from _pieces(table.slice(half))
