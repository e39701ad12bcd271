"""Which format a table's change files have: declared, frozen, or taken from what lies there.

The published default is CSV, and published Parquet tables declare nothing (PROTOCOL §4.3). So where
`_metadata.json` says nothing, the first file decides, and the first batch freezes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from openmirror.plan.observed import FormatOfFiles, ObservedState
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.naming_scheme import NamingScheme, ParsedName, read_name
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import PARQUET
from openmirror.protocol.text_format import TextFormat

CSV = TextFormat()
"""Delimited text of which nothing is declared."""


def is_declared(observed: ObservedState) -> bool:
    """Whether `_metadata.json` says which format this table's files have."""
    metadata = observed.metadata
    return isinstance(metadata, TableMetadata) and (
        metadata.declares_format or metadata.text is not None
    )


def is_open(observed: ObservedState) -> bool:
    """Whether neither `_metadata.json` nor a batch that was decided says which format it is."""
    record = observed.record
    return not is_declared(observed) and (record is None or record.frozen is None)


def text_of(observed: ObservedState) -> TextFormat | None:
    """How this table's delimited text is written; None for Parquet."""
    if isinstance(observed.metadata, TableMetadata) and is_declared(observed):
        return observed.metadata.text
    if observed.record is not None and observed.record.frozen is not None:
        return observed.record.frozen.text
    return observed.found_format.text if observed.found_format else None


def format_of(naming: NamingScheme, files: Iterable[tuple[str, float]]) -> FormatOfFiles | None:
    """The format of the first of these files, given by name and time; None without a change file.

    The first is that of the lowest number, and where there are no numbers the oldest.
    """
    found: list[tuple[int, float, str, TextFormat | None]] = []
    for text in (None, CSV):
        scheme = NamingScheme(
            naming.detection, naming.partitioned, text.extension if text else PARQUET
        )
        for name, modified in files:
            parsed = read_name(scheme, name)
            if isinstance(parsed, ParsedName):
                found.append((parsed.number or 0, modified, name, text))
    if not found:
        return None
    *_, name, text = first = min(found, key=lambda file: file[:3])
    others = (file for file in found if file[3] != first[3])
    other = min(others, key=lambda file: file[:3], default=None)
    return FormatOfFiles(text, name, other[2] if other else None)


def both_formats(observed: ObservedState) -> Broken | None:
    """What is wrong where files of both formats lie in a folder that says nothing of either."""
    found = observed.found_format
    if found is None or found.other is None:
        return None
    return Broken(
        Code.FILE_FORMAT_UNDECLARED,
        f"{found.file} and {found.other} lie here, and _metadata.json does not say which "
        "FileFormat the table has",
    )


def assumed(observed: ObservedState) -> str | None:
    """What to know of a format that is delimited text without being declared, in words."""
    if isinstance(observed.metadata, Broken) or is_declared(observed):
        return None
    if text_of(observed) != CSV or both_formats(observed):
        return None
    by = f", as {observed.found_format.file} is called" if observed.found_format else ""
    return f"_metadata.json declares no FileFormat: files are read as CSV{by}"
