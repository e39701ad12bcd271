"""What a Parquet footer says of a file's columns.

Arrow's own schema, which some writers leave in a footer, is put out of the way: it calls an INT64 a
duration, or a string a category, and whatever reads rows by it gives other values than Spark.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.formats.parquet.types import ParquetType

MAGIC = b"PAR1"

# One entry of the footer's metadata as Thrift writes it: a key of 12 characters, then its value.
_ARROWS_OWN = b"\x18\x0cARROW:schema\x18"
_UNKNOWN = b"\x18\x0cARROW-schema\x18"


def parse_footer(footer: bytes) -> Any:
    """A footer as `pyarrow.parquet.FileMetaData`, as if it were all of the file.

    `footer` ends with its length and the magic number. Raises ArrowException, OSError or
    ValueError for what is no footer.
    """
    return pq.read_metadata(io.BytesIO(MAGIC + footer.replace(_ARROWS_OWN, _UNKNOWN)))


def footer_of(content: BinaryIO) -> Any:
    """The footer of a whole file, as `parse_footer` has it and raises."""
    content.seek(-8, os.SEEK_END)
    tail = content.read(8)
    if not tail.endswith(MAGIC):
        raise ValueError("it has no footer, so it is not whole")
    content.seek(-int.from_bytes(tail[:4], "little") - 8, os.SEEK_END)
    return parse_footer(content.read())


def columns(metadata: Any) -> list[tuple[str, ParquetType]]:
    """Each top-level column's name and type, in file order.

    Raises ArrowException for a nesting that Parquet does not have, ValueError for a name that is
    not UTF-8.
    """
    leaves = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    flat = all(leaf.path == leaf.name for leaf in leaves)
    if flat:
        return [(leaf.name, ParquetType.of(leaf)) for leaf in leaves]
    found, rest = [], iter(leaves)
    has_variants = "(Variant" in str(metadata.schema)
    for field in metadata.schema.to_arrow_schema():
        own = [next(rest) for _ in range(_count(field.type))]
        found.append((field.name, _type(own, refuse=has_variants and _is_variant(field.type))))
    return found


def _type(leaves: list[Any], *, refuse: bool) -> ParquetType:
    kinds = [ParquetType.of(leaf) for leaf in leaves]
    if len(kinds) == 1 and kinds[0].simple:
        return kinds[0]
    inside = tuple(replace(kind, nested=False, repeated=False) for kind in kinds)
    if refuse:
        inside = (ParquetType(physical="a", shown="Variant", logical="Variant"),)
    return ParquetType(physical="group", nested=True, leaves=inside)


def _count(kind: pa.DataType) -> int:
    """Leaves of a type."""
    return sum(map(_count, _inside(kind))) if kind.num_fields else 1


def _inside(kind: pa.DataType) -> Iterator[pa.DataType]:
    return (kind.field(index).type for index in range(kind.num_fields))


def _is_variant(kind: pa.DataType) -> bool:
    """Whether there are a variant's columns anywhere: Arrow knows no more of it."""
    names = {kind.field(index).name for index in range(kind.num_fields)}
    return {"metadata", "value"} <= names or any(map(_is_variant, _inside(kind)))
