"""Up to which record a source may forget what it has sent: only whole transactions are over.

A connector that is stopped between the two halves of a changed key, and goes on behind the first,
never sends the second.
"""

from __future__ import annotations

from openmirror.cdc.snapshot_marks import NOTIFICATIONS

_BEGUN = '"status":"BEGIN"'
_ENDED = '"status":"END"'


class Transactions:
    """Follows where transactions begin and end."""

    def __init__(self, topic: str) -> None:
        """`topic` has the records that say it."""
        self._topic = topic
        self._is_inside = False

    def is_whole_at(self, topic: str, value: str | None) -> bool:
        """Whether everything up to this record, which is the next one, is of whole transactions."""
        if topic == self._topic and value is not None:
            if _BEGUN in value:
                self._is_inside = True
            elif _ENDED in value:
                self._is_inside = False
        # A notification's place may be from before the snapshot that it announces.
        return not self._is_inside and topic != NOTIFICATIONS
