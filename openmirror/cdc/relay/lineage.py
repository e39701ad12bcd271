"""Where a row comes from, as columns of its own: for mirrors that ask for it.

`_op` is what happened to the row last (c, r, u), `_last_op_id` where that stands in the source's
log, as text that sorts in its order, and `_source_ts` when it happened by the source's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import Decoded, DecodedRows, SourceColumn, UndecodableRecord
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.names import fold_case
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import Offset, StopCode, StopReason

_TYPES = {"_op": "string", "_last_op_id": "string", "_source_ts": "timestamp"}
LINEAGE = tuple(SourceColumn(name, ColumnType(kind), True, False) for name, kind in _TYPES.items())
"""The columns, behind a table's own."""
_DIGITS = 20
"""As many as the largest number of a place has."""


def with_lineage(decode: Callable[[pa.Table], Decoded]) -> Callable[[pa.Table], Decoded]:
    """Decodes as before, and adds the columns.

    A table that has a column of such a name stops at its first record.
    """

    def decode_so(records: pa.Table) -> Decoded:
        decoded = decode(records)
        taken = [piece for piece in decoded.tables if _taken(piece)]
        return replace(
            decoded,
            tables=tuple(_added(piece) for piece in decoded.tables if not _taken(piece)),
            undecodable=(*decoded.undecodable, *map(_refused, taken)),
        )

    return decode_so


def _taken(piece: DecodedRows) -> str | None:
    names = {fold_case(column.name): column.name for column in piece.columns}
    return next((names[name] for name in _TYPES if name in names), None)


def _refused(piece: DecodedRows) -> UndecodableRecord:
    stop = StopReason(
        StopCode.CHANGE_REFUSED,
        f"{piece.table}: its column {_taken(piece)!r} is called as one of lineage is",
        "Rename the column in the database, leave it out with column.exclude.list, or take lineage "
        "out of mirroring.json.",
    )
    at = Offset(piece.rows.column("__offset")[0].as_py())
    return UndecodableRecord(at, str(piece.table), piece.table, stop)


def _added(piece: DecodedRows) -> DecodedRows:
    rows = piece.rows
    has_row = pc.is_in(rows.column("__op"), pa.array(["c", "r", "u"]))
    moments = rows.column("__ts_us").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    values = (rows.column("__op"), _as_text(rows), moments)
    for column, value in zip(LINEAGE, values, strict=True):
        kind = arrow_type(column.type)
        kept = pc.if_else(has_row, value.cast(kind), pa.scalar(None, kind))
        rows = rows.append_column(pa.field(column.name, kind), kept)
    return replace(piece, columns=(*piece.columns, *LINEAGE), rows=rows)


def _as_text(rows: pa.Table) -> pa.ChunkedArray:
    """Each place's numbers, equally long; NULL for a row that has none."""
    position, within = (
        _padded(rows.column(name).combine_chunks()) for name in ("__position", "__within")
    )
    both = pc.binary_join_element_wise(position, within, "-")
    return pa.chunked_array([pc.coalesce(both, position)], pa.string())


def _padded(lists: pa.ListArray) -> pa.Array:
    """Numbers from 0 on; -1, which stands for none before, is 0 too."""
    numbers = pc.max_element_wise(lists.flatten(), 0).cast(pa.string())
    texts = pc.utf8_lpad(numbers, width=_DIGITS, padding="0")
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    ends = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    joined = pc.binary_join(pa.ListArray.from_arrays(ends, texts), "-")
    return pc.if_else(pc.greater(lengths, 0), joined, pa.scalar(None, pa.string()))
