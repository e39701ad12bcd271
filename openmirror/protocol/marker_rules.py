"""What a row's marker may be, and what it means (PROTOCOL §5.1, §5.7)."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.protocol.names import fold_case
from openmirror.protocol.partial_updates import absent_columns
from openmirror.protocol.rows import WITHOUT_KEY, Marker, read_marker
from openmirror.protocol.rules import Broken, Code


@dataclass(frozen=True)
class ReadMarker:
    """What a row does."""

    marker: Marker
    absent: frozenset[str] = frozenset()
    """Columns, case-folded, that an update leaves as they are."""


@dataclass(frozen=True)
class MarkerRules:
    """What markers may be in one file of a table."""

    keys: tuple[str, ...] | None
    """The table's key columns; None while nobody knows them: then it may have some."""
    columns: tuple[str, ...]
    """The file's columns, but for the marker."""
    version_column: str | None = None

    def read(self, value: object, where: str) -> ReadMarker | Broken:
        """What a marker means, as the file has it; None for NULL.

        `where` begins the sentence about one that breaks a rule: "row 2 has __rowMarker__ = 7".
        """
        names = absent_columns(value) if isinstance(value, str) else None
        marker = Marker.PARTIAL_UPDATE if names is not None else read_marker(value)
        if marker is None:
            return Broken(Code.ROW_MARKER_INVALID, f"{where}; allowed are 0, 1, 2 and 4")
        if marker not in WITHOUT_KEY and self.keys == ():
            return Broken(Code.KEY_COLUMNS_UNDECLARED, f"{where}, but no keyColumns are declared")
        if names is None:
            return ReadMarker(marker)
        if self.version_column is not None:
            detail = f"{where}, but ConditionalUpdateColumn compares whole rows"
            return Broken(Code.ROW_MARKER_INVALID, detail)
        known, keys = set(map(fold_case, self.columns)), set(map(fold_case, self.keys or ()))
        for name in names:
            if fold_case(name) not in known:
                return Broken(Code.ROW_MARKER_INVALID, f"{where}; the file has no column {name!r}")
            if fold_case(name) in keys:
                return Broken(Code.ROW_MARKER_INVALID, f"{where}; {name!r} is a key column")
        return ReadMarker(marker, frozenset(map(fold_case, names)))


def shown(value: object) -> str:
    """A marker in words: text in quotes, numbers as they are."""
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
