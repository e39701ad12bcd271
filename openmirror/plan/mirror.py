"""`plan_mirror`: the bulk-drop guard, which asks a person before many tables are dropped."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.protocol.names import TableFolder

FREE_DROPS = 3
"""So many tables of a mirror may disappear at once without a question."""


@dataclass(frozen=True)
class ObservedMirror:
    """All tables of one mirror at one moment."""

    tables: frozenset[TableFolder]
    """Folders that have a table in its place."""
    missing: frozenset[TableFolder]
    """Those of them whose landing folder is gone."""
    confirmed: frozenset[TableFolder]
    """Those that an operator allowed to drop."""
    zone_is_known: bool
    """Whether the landing zone is the folder that it was before, not an empty mount point."""


def plan_mirror(observed: ObservedMirror) -> frozenset[TableFolder]:
    """The tables that may not be dropped before a person has confirmed it."""
    asked = observed.missing - observed.confirmed
    many = len(asked) > FREE_DROPS and 2 * len(asked) > len(observed.tables)
    return asked if many or not observed.zone_is_known else frozenset()
