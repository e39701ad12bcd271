"""Questions about a landing zone that the plan has no rule for: it goes on, whatever the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from openmirror.conformance.contents import collisions
from openmirror.conformance.evidence import Evidence, TableContents
from openmirror.conformance.rules import Breach, Untried
from openmirror.conformance.tried import FILES, MANY_FILES, TABLES
from openmirror.errors import TEXT_REMEDY
from openmirror.operate.validate import FolderFinding
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import PARTNER_EVENTS_FILE, fold_case

_PANDAS_INDEX = "__index_level_0__"
_SMALL_ROWS = 10
_FROM_ONE = re.compile(rf"(^|/){1:020d} (to|missing)")
_EMPTY = "the file is empty"


def metadata_missing(evidence: Evidence) -> Iterable[Breach] | Untried:
    """Tables whose keys nobody declared."""
    return FILES.missing(evidence) or [
        Breach(
            what="change files lie there, and no _metadata.json, or an empty one",
            place=evidence.place(zone, table),
        )
        for zone, table in evidence.tables
        if table.files and table.metadata is None
    ]


def misplaced(evidence: Evidence) -> Iterable[Breach] | Untried:
    """What lies where it feeds no table."""
    found = [
        Breach(what=what, place=place) for zone in evidence.zones for place, what in zone.misplaced
    ]
    return found or TABLES.missing(evidence) or ()


def colliding(evidence: Evidence) -> Iterable[Breach] | Untried:
    """Table folders that map to a table which another one has."""
    return TABLES.missing(evidence) or [
        Breach(what=f"maps to the same table as {paths[0]}", place=str(path))
        for zone in evidence.zones
        for paths in collisions(zone, evidence.default_schema)
        for path in paths[1:]
    ]


def names_refused(evidence: Evidence) -> Iterable[Breach] | Untried:
    """Table folders that no table can be called after."""
    return TABLES.missing(evidence) or [
        Breach(what=why, place=path) for zone in evidence.zones for path, why in zone.refused_names
    ]


def partner_events(evidence: Evidence) -> Iterable[Breach] | Untried:
    """A `_partnerEvents.json` that nobody reads, or can."""
    in_tables = [
        Breach(
            what="it is read at the root of the landing zone alone",
            place=evidence.place(zone, table, PARTNER_EVENTS_FILE),
        )
        for zone, table in evidence.tables
        if table.has_partner_events
    ]
    at_root = [zone for zone in evidence.zones if zone.has_partner_events]
    if not at_root and not in_tables:
        return Untried("there is no _partnerEvents.json")
    unreadable = [
        Breach(what="it cannot be read, or names no partner", place=PARTNER_EVENTS_FILE)
        for zone in at_root
        if zone.partner is None or not zone.partner.name
    ]
    return [*in_tables, *unreadable]


def left_staged(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """Data that was staged and forgotten."""
    for name in table.staged:
        yield name, "staged, and neither renamed nor deleted"


def untyped_columns(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """Columns of Parquet's Null type."""
    for file in table.files:
        if file.facts is not None and file.facts.untyped:
            names = ", ".join(file.facts.untyped)
            yield file.name, f"{names}: all NULL and of no type, so counted as absent"


def converted_files(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """Parquet that Spark does not read as it is."""
    for file in table.files:
        if file.facts is not None and file.facts.needs_conversion and not table.is_text:
            yield file.name, "its types or encodings must be converted before it can be applied"


def index_columns(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """The index that pandas writes when nobody forbids it."""
    for file in table.files:
        if file.facts is not None and file.facts.schema.find(_PANDAS_INDEX):
            yield file.name, f"{_PANDAS_INDEX} becomes a column of the table"


def partial_rows(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """Files that lack a column which files before and after them have.

    Files of key columns alone are those of deletes, which need no more.
    """
    declared = table.metadata
    keys = declared.key_columns if isinstance(declared, TableMetadata) else ()
    folded = {fold_case(name) for name in keys}
    shapes = [
        (file.name, {fold_case(name): name for name in file.facts.schema.names})
        for file in table.files
        if file.facts is not None and file.facts.rows
    ]
    for at, (name, own) in enumerate(shapes):
        before = {key for _, shape in shapes[:at] for key in shape}
        after = {key: column for _, shape in shapes[at + 1 :] for key, column in shape.items()}
        missing = [column for key, column in after.items() if key in before and key not in own]
        if missing and not own.keys() <= folded:
            yield name, f"lacks {', '.join(missing)}: its rows become NULL there"


def small_files(table: TableContents) -> Iterator[tuple[str | None, str]]:
    """Tables of many files that hold hardly anything."""
    rows = [file.facts.rows for file in table.files if file.facts is not None and file.facts.rows]
    if len(rows) >= MANY_FILES and sum(rows) < _SMALL_ROWS * len(rows):
        yield None, f"{len(rows)} files hold {sum(rows)} rows"


def is_about_one(finding: FolderFinding) -> bool:
    """Whether a gap begins with the number 1."""
    return _FROM_ONE.search(finding.detail) is not None


def is_empty(finding: FolderFinding) -> bool:
    """Whether a file that is not complete has nothing in it at all."""
    return _EMPTY in finding.detail


def is_about_dialect(finding: FolderFinding) -> bool:
    """Whether a key column is missing only because a header was not split where it should be."""
    return finding.remedy == TEXT_REMEDY
