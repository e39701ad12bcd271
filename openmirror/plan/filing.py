"""Which files of a folder are its change files, by what was pinned or else is declared."""

from __future__ import annotations

from openmirror.control import Pinned
from openmirror.plan.look import Look
from openmirror.plan.rules import pinned_rules
from openmirror.protocol.filing import Filing
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.textformat import TextFormat


def filing_of(rules: Pinned | TableMetadata) -> Filing:
    """How files are found and ordered by these rules."""
    extension = rules.text.extension if rules.text else Filing.extension
    return Filing(rules.detection, rules.partitioned, extension)


def filing_of_look(look: Look) -> Filing:
    """How this table's files are found; options are pinned, the extension is as declared now."""
    pinned = pinned_rules(look)
    if not isinstance(look.metadata, TableMetadata):
        return filing_of(pinned) if pinned else Filing()
    declared = filing_of(look.metadata)
    if pinned is None:
        return declared
    return Filing(pinned.detection, pinned.partitioned, declared.extension)


def text_of(look: Look) -> TextFormat | None:
    """How this table's delimited text is written; None for Parquet."""
    if isinstance(look.metadata, TableMetadata):
        return look.metadata.text
    pinned = pinned_rules(look)
    return pinned.text if pinned else None
