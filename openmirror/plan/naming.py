"""Which files of a folder are its change files, by its frozen options or else the declared ones."""

from __future__ import annotations

from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import frozen_rules
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.text_format import TextFormat
from openmirror.table.control import FrozenOptions


def naming_of(rules: FrozenOptions | TableMetadata) -> NamingScheme:
    """How files are found and ordered by these rules."""
    extension = rules.text.extension if rules.text else NamingScheme.extension
    return NamingScheme(rules.detection, rules.partitioned, extension)


def naming_of_observed(observed: ObservedState) -> NamingScheme:
    """How this table's files are found; options are frozen, the extension is as declared now."""
    frozen = frozen_rules(observed)
    if not isinstance(observed.metadata, TableMetadata):
        return naming_of(frozen) if frozen else NamingScheme()
    declared = naming_of(observed.metadata)
    if frozen is None:
        return declared
    return NamingScheme(frozen.detection, frozen.partitioned, declared.extension)


def text_of(observed: ObservedState) -> TextFormat | None:
    """How this table's delimited text is written; None for Parquet."""
    if isinstance(observed.metadata, TableMetadata):
        return observed.metadata.text
    frozen = frozen_rules(observed)
    return frozen.text if frozen else None
