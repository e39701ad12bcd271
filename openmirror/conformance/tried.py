"""What must lie in a landing zone for a rule to have been tried at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openmirror.conformance.evidence import Evidence, TableContents
from openmirror.conformance.rules import Untried
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import ARCHIVE_FOLDER


@dataclass(frozen=True)
class TriedBy:
    """What a table must have, and how its absence is worded."""

    has: Callable[[TableContents], bool]
    absent: str

    def missing(self, evidence: Evidence) -> Untried | None:
        """Why nothing there could have broken a rule; None when something could."""
        if not evidence.zones:
            return Untried("no landing zone was read")
        if any(self.has(table) for _, table in evidence.tables):
            return None
        return Untried(self.absent)


def _has_files(table: TableContents) -> bool:
    return bool(table.files)


def _has_rows(table: TableContents) -> bool:
    return any(file.facts is not None and file.facts.rows for file in table.files)


def _has_metadata(table: TableContents) -> bool:
    return table.metadata is not None


def _has_parquet(table: TableContents) -> bool:
    return _has_files(table) and not table.is_text


def _has_text(table: TableContents) -> bool:
    return _has_files(table) and table.is_text


def _has_marker(table: TableContents) -> bool:
    return any(file.facts is not None and file.facts.marker for file in table.files)


def _has_keys(table: TableContents) -> bool:
    return isinstance(table.metadata, TableMetadata) and bool(table.metadata.key_columns)


def _has_keyed_rows(table: TableContents) -> bool:
    return _has_keys(table) and _has_rows(table)


def _has_two(table: TableContents) -> bool:
    return sum(1 for file in table.files if file.facts is not None and file.facts.rows) > 1


def _has_times(table: TableContents) -> bool:
    kinds = {
        column.type
        for file in table.files
        if file.facts is not None
        for column in file.facts.schema.columns
    }
    return bool(kinds & {"timestamp", "timestamp_ntz"})


def _is_there(table: TableContents) -> bool:
    return bool(table.path.table)


def _was_archived(table: TableContents) -> bool:
    return bool(table.archived)


def _has_many(table: TableContents) -> bool:
    return len(table.files) >= MANY_FILES


MANY_FILES = 100
FILES = TriedBy(_has_files, "no change file lies there")
ROWS = TriedBy(_has_rows, "no file with rows lies there")
METADATA = TriedBy(_has_metadata, "no table has a _metadata.json")
PARQUET = TriedBy(_has_parquet, "no Parquet file lies there")
TEXT = TriedBy(_has_text, "no delimited text lies there")
MARKERS = TriedBy(_has_marker, "no file has a row marker")
KEYED = TriedBy(_has_keyed_rows, "no table with keyColumns has rows")
SEVERAL = TriedBy(_has_two, "no table has two files with rows")
TIMES = TriedBy(_has_times, "no column holds times")
TABLES = TriedBy(_is_there, "no table folder lies there")
ARCHIVED = TriedBy(_was_archived, f"no mirror has moved a file to {ARCHIVE_FOLDER} yet")
MANY = TriedBy(_has_many, "no table has 100 files with rows")
