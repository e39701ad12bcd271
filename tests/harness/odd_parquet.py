"""Parquet files that no writer of these tests writes, made of ordinary ones by another footer."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fastparquet.cencoding import from_buffer

_MAGIC = b"PAR1"
_INT96, _DECIMAL = 3, 5
OLD_ARROW = b"parquet-cpp-arrow version 14.0.2"


def decimals(name: str, length: int, unscaled: Sequence[int], precision: int, scale: int) -> bytes:
    """A file of an `id` and of decimals that have so many bytes each."""
    values = [value.to_bytes(length, "big", signed=True) for value in unscaled]

    def change(footer: Any) -> None:
        element = footer.schema[2]
        element.converted_type, element.precision, element.scale = _DECIMAL, precision, scale

    return _changed(_file(name, values, pa.binary(length)), change)


def times(name: str, pairs: Sequence[tuple[int, int]], created_by: bytes = OLD_ARROW) -> bytes:
    """A file of an `id` and of INT96: nanoseconds of a day, with their sign, and its Julian day."""
    values = [struct.pack("<qI", nanos, day) for nanos, day in pairs]

    def change(footer: Any) -> None:
        footer.schema[2].type, footer.schema[2].type_length = _INT96, None
        for group in footer.row_groups:
            group.columns[1].meta_data.type = _INT96
        footer.created_by = created_by

    return _changed(_file(name, values, pa.binary(12)), change)


def nested_time(nanos: int, day: int) -> bytes:
    """A file of an `id` and of a struct with such a time."""
    value = struct.pack("<qI", nanos, day)
    column = pa.array([{"t": value}], pa.struct([("t", pa.binary(12))]))
    to = io.BytesIO()
    pq.write_table(pa.table({"id": [1], "v": column}), to, write_statistics=False)

    def change(footer: Any) -> None:
        footer.schema[3].type, footer.schema[3].type_length = _INT96, None
        footer.row_groups[0].columns[1].meta_data.type = _INT96
        footer.key_value_metadata = None

    return _changed(to.getvalue(), change)


def miscounted(rows: int) -> bytes:
    """A file of two rows, whose footer counts so many."""

    def change(footer: Any) -> None:
        footer.num_rows = rows

    return _changed(_file("v", [b"a", b"b"], pa.binary(1)), change)


def _file(name: str, values: Sequence[bytes], kind: pa.DataType) -> bytes:
    table = pa.table({"id": pa.array(range(len(values)), pa.int32()), name: pa.array(values, kind)})
    to = io.BytesIO()
    pq.write_table(table, to, write_statistics=False, store_schema=False)
    return to.getvalue()


def _changed(file: bytes, change: Callable[[Any], None]) -> bytes:
    length = int.from_bytes(file[-8:-4], "little")
    footer = from_buffer(file[-8 - length : -8], "FileMetaData")
    change(footer)
    written = footer.to_bytes()
    return file[: -8 - length] + written + len(written).to_bytes(4, "little") + _MAGIC
