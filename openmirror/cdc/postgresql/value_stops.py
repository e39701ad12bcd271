"""Why a table stops at one value, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from openmirror.cdc.postgresql.encodings import decoded
from openmirror.cdc.postgresql.pgoutput import TupleValue
from openmirror.cdc.postgresql.shapes import ShapeColumn, TableShape
from openmirror.cdc.postgresql.types import TextForm
from openmirror.cdc.postgresql.values import NO_TEXT
from openmirror.protocol.streams import StopCode, StopReason

_TEXTS = (TextForm.TEXT, TextForm.DIGITS, TextForm.JSON)


def value_invalid(shape: TableShape, column: str, why: str, key: str | None = None) -> StopReason:
    """Return the reason for a value that its column's Delta type cannot hold.

    Args:
        shape: The table's shape.
        column: The column's name.
        why: What the value is, as `ValueRefused.why` says it.
        key: The row's key, as `key_title` writes it; None where it must not be named.
    """
    title = f"{shape.title}.{column}"
    found = next(c for c in shape.columns if c.name == column)
    detail = f"column {title} has {why}{_of_row(key)}"
    remedies = _remedies(found, title, is_text=not why.startswith(NO_TEXT))
    anew = f"correct the value, then `openmirror cdc resnapshot {shape.title}`"
    return StopReason(StopCode.SOURCE_VALUE_INVALID, detail, ", or ".join(remedies) or anew)


def value_unavailable(shape: TableShape, column: str, key: str | None = None) -> StopReason:
    """Return the reason for a value that the log does not have, because it did not change."""
    title = f"{shape.title}.{column}"
    detail = (
        f"the log does not have the value of column {title}, which an update of the row's key "
        f"left unchanged{_of_row(key)}"
    )
    remedy = (
        f"`ALTER TABLE {shape.title} REPLICA IDENTITY FULL`, then "
        f"`openmirror cdc resnapshot {shape.title}`"
    )
    return StopReason(StopCode.VALUE_UNAVAILABLE, detail, remedy)


def key_is_null(shape: TableShape, column: str) -> StopReason:
    """Return the reason for a row from before the table had its key, which FULL allows."""
    detail = (
        f"key column {shape.title}.{column} is NULL in a row of the log, so the row is older than "
        "the table's key"
    )
    remedy = f"`openmirror cdc resnapshot {shape.title}`"
    return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, remedy)


def key_title(keys: Mapping[str, TupleValue], encoding: str) -> str:
    """Return a key for people, such as `id=5, code=x`.

    Args:
        keys: The server's text of each key column.
        encoding: The server's encoding.
    """
    return ", ".join(
        f"{name}={decoded(value, encoding, 'backslashreplace')}"
        if isinstance(value, bytes)
        else f"{name} unchanged"
        for name, value in keys.items()
    )


def _remedies(column: ShapeColumn, title: str, *, is_text: bool) -> list[str]:
    remedies = []
    # A text that cannot be converted stays so, and bytes that are no text can be none.
    if is_text and column.reading.form not in _TEXTS:
        remedies.append(f"`--as-text {title}`")
    if not column.is_key:
        remedies.append(f"`--without-column {title}`")
    return remedies


def _of_row(key: str | None) -> str:
    return "" if key is None else f" (key {key})"
