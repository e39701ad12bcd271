"""Rows in the Arrow types that the columns of tables are written with (PROTOCOL §6.5).

Mirrors read such files as they are, and every value that they would refuse is refused here, by the
functions that they read with.
"""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.parquet.batches import storage_types
from openmirror.formats.parquet.values import Unfit, to_column
from openmirror.protocol.rules import Broken, Code
from openmirror.publishing.columns import ConvertedColumn, RowShape, is_text
from openmirror.publishing.encoding import WRITTEN

_TEXTS = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}
_REMEDY = "Mend the value, or convert the column before it is published, for example to text."
_ANY_FAILURE = (pa.ArrowException, OSError, ValueError, OverflowError)


def in_table_types(rows: pa.Table, shape: RowShape) -> pa.Table:
    """The rows with each column in its table's type; raises PublishRefused for a value without one.

    Dictionaries of texts stay: they are written as texts.
    """
    for name, becomes in shape.converted.items():
        at = rows.column_names.index(name)
        values = _converted(rows.column(at), becomes, name)
        rows = rows.set_column(at, pa.field(name, values.type), values)
    return rows


def _converted(column: pa.ChunkedArray, becomes: ConvertedColumn, name: str) -> pa.ChunkedArray:
    chunks, row = [], 0
    for chunk in column.chunks:
        if not len(chunk):
            continue
        try:
            chunks.append(_in_type(_plain(chunk), becomes))
        except Unfit as unfit:
            raise _refused(f"row {row + unfit.row + 1}, column {name!r}: {unfit.why}") from unfit
        except _ANY_FAILURE as error:
            raise _refused(f"column {name!r}: {error}") from error
        row += len(chunk)
    return (
        pa.chunked_array(chunks) if chunks else pa.chunked_array([], arrow_type(becomes.of_table))
    )


def _refused(detail: str) -> PublishRefused:
    return PublishRefused(Broken(Code.VALUE_INVALID, detail, _REMEDY), "6.5")


def _plain(array: pa.Array) -> pa.Array:
    """The values themselves, of an array that encodes them or calls them something."""
    if pa.types.is_dictionary(array.type):
        values = _plain(array.dictionary)
        return _plain(pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode())
    if pa.types.is_run_end_encoded(array.type):
        return _plain(pc.run_end_decode(array))
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    large = _TEXTS.get(array.type)
    return array if large is None else array.cast(large)


def _in_type(array: pa.Array, becomes: ConvertedColumn) -> pa.Array:
    kind = becomes.parquet
    if is_text(array.type) and kind.simple:
        return array
    return to_column(array if kind.simple else _as_read(array), kind, becomes.of_table)


def _as_read(array: pa.Array) -> pa.Array:
    """Nested values as a mirror reads them from a file, whatever Arrow has them in."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"_": array}), sink, **WRITTEN)
    with pq.ParquetFile(pa.BufferReader(sink.getvalue()), **storage_types()) as file:
        return pa.concat_arrays(file.read().column(0).chunks)
