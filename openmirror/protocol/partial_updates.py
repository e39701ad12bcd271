"""The marker of an update that leaves columns as they are (PROTOCOL §5.7): `101 ["note"]`."""

from __future__ import annotations

import json
from collections.abc import Iterable

PARTIAL_UPDATE = "101 "
"""How the text of such a marker begins; what follows is a JSON list of the absent columns."""


def marker_of_partial_update(absent: Iterable[str]) -> str:
    """The marker of an update in whose row these columns are absent."""
    return PARTIAL_UPDATE + json.dumps(list(absent), ensure_ascii=False)


def absent_columns(marker: str) -> tuple[str, ...] | None:
    """The columns that are absent by such a marker, in its order; None for any other text."""
    if not marker.startswith(PARTIAL_UPDATE):
        return None
    try:
        names = json.loads(marker[len(PARTIAL_UPDATE) :])
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or not names:
        return None
    return tuple(names) if all(isinstance(name, str) for name in names) else None
