"""Which request gets which fault: one at each further change file, each kind once."""

from __future__ import annotations

from collections.abc import Iterable

from openmirror.conformance.exchanges import Asked, Deed, InjectedFault
from openmirror.ports.landing_events import Inside, location_of
from openmirror.protocol.names import METADATA_FILE
from openmirror.protocol.naming_scheme import NamingScheme, may_hold_changes
from openmirror.table.layout import StorePath

WITHOUT_COMMAND = (
    InjectedFault.BUSY,
    InjectedFault.LOST,
    InjectedFault.CONDITION,
    InjectedFault.CUT,
)
"""Faults of the account: they need nothing of the publisher but that it publishes."""
RESTARTS = (InjectedFault.RESTART_AFTER, InjectedFault.RESTART_BEFORE)
"""Faults that kill the publisher, which must have been started here."""


def lands(asked: Asked) -> bool:
    """Whether a request gives a change file its name, or its content under that name."""
    if asked.deed not in (Deed.RENAME, Deed.PUT, Deed.FLUSH):
        return False
    where = location_of(asked.path)
    return (
        isinstance(where, Inside)
        and where.name != METADATA_FILE
        and may_hold_changes(NamingScheme(), where.name, is_folder=False)
    )


class FaultSchedule:
    """Hands out faults one after another; not safe to share between threads.

    The first change file is let through, so that each kind meets a publisher at work. What is
    asked again for the same file is let through as well.
    """

    def __init__(self, kinds: Iterable[InjectedFault]) -> None:
        self._left = list(kinds)
        self._seen: set[StorePath] = set()

    def choose(self, asked: Asked) -> InjectedFault | None:
        """What happens to this request; None lets it through."""
        if not lands(asked) or asked.path in self._seen:
            return None
        first = not self._seen
        self._seen.add(asked.path)
        return self._left.pop(0) if self._left and not first else None

    @property
    def left(self) -> tuple[InjectedFault, ...]:
        """Faults that no request was there for."""
        return tuple(self._left)
