"""What each row does, where rows say it themselves in a column `__rowMarker__` (PROTOCOL §5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import PUBLISHED, Marker, read_marker
from openmirror.protocol.rules import Broken, Code
from openmirror.publishing.encoding import MARKER_TYPE


def with_plain_markers(rows: pa.Table) -> tuple[pa.Table, frozenset[Marker]]:
    """The rows with their marker column under its own name and type, and which markers there are.

    Markers are read as mirrors read them. Raises PublishRefused unless every row has one.
    """
    names = [fold_case(name) for name in rows.column_names]
    if fold_case(ROW_MARKER_COLUMN) not in names:
        detail = f"rows have no column {ROW_MARKER_COLUMN}"
        remedy = "Add it, or say what all rows do: insert, upsert, update or delete."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
    at = names.index(fold_case(ROW_MARKER_COLUMN))
    found = rows.column(at)
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    if pa.types.is_nested(found.type):
        detail = f"{ROW_MARKER_COLUMN} has the type {found.type}"
        remedy = "It must be a number: 0 (insert), 1 (update), 2 (delete) or 4 (upsert)."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
    read: dict[object, Marker] = {}
    for value in pc.unique(found).to_pylist():
        marker = None if value is None or isinstance(value, bool) else read_marker(value)
        if marker not in PUBLISHED:
            wrong = next(
                i
                for i, v in enumerate(found.to_pylist(), start=1)
                if v is value or v == value or (v != v and value != value)  # NaN
            )
            detail = f"row {wrong}: {ROW_MARKER_COLUMN} is {value!r}"
            remedy = "It must be 0 (insert), 1 (update), 2 (delete) or 4 (upsert) in every row."
            raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "5.1")
        assert marker is not None
        read[value] = marker
    where = pc.index_in(found, pa.array(list(read), found.type))
    plain = pc.take(pa.array([m.value for m in read.values()], MARKER_TYPE), where)
    rest = rows.remove_column(at)
    return rest.append_column(ROW_MARKER_COLUMN, plain), frozenset(read.values())


def need_no_marker_column(names: Sequence[str]) -> None:
    """Raise PublishRefused where rows that all do one thing have markers of their own."""
    if any(fold_case(name) == fold_case(ROW_MARKER_COLUMN) for name in names):
        detail = f"rows have a column {ROW_MARKER_COLUMN}, which is reserved"
        remedy = "Publish them with `publish`, which takes each row's own marker, or remove it."
        raise PublishRefused(Broken(Code.ROW_MARKER_INVALID, detail, remedy), "6.1")
