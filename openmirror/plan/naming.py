"""Which files of a folder are its change files, by its frozen options or else the declared ones."""

from __future__ import annotations

from openmirror.plan.file_format import text_of
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import frozen_rules
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.table.control import FrozenOptions


def naming_of(rules: FrozenOptions | TableMetadata) -> NamingScheme:
    """How files are found and ordered by these rules."""
    extension = rules.text.extension if rules.text else NamingScheme.extension
    return NamingScheme(rules.detection, rules.partitioned, extension)


def naming_of_observed(observed: ObservedState) -> NamingScheme:
    """How this table's files are found; options are frozen, the extension is as declared now."""
    text = text_of(observed)
    extension = text.extension if text else NamingScheme.extension
    declared = observed.metadata if isinstance(observed.metadata, TableMetadata) else None
    rules = frozen_rules(observed) or declared
    if rules is None:
        return NamingScheme(extension=extension)
    return NamingScheme(rules.detection, rules.partitioned, extension)
