"""What a connector failed of, in words that say what to do. Pure."""

from __future__ import annotations

import re

from openmirror.errors import OpenmirrorError

_ANEW = "Begin the stream anew, from a new snapshot: --anew"
_AWAY = (
    "the server went away, and did not come back in a minute. Begin again once it is there: "
    "nothing is lost"
)
_HALF_A_SNAPSHOT = (
    "a new snapshot of a table failed, as it may where the table was altered meanwhile. The "
    "connector is begun again without the rows that it had read, and asked once more"
)
_MOST = 600
"""So much of the connector's own words; some hold its whole state."""
_KNOWN = (
    (
        "no longer available on the server|replication slot .* does not exist",
        "the replication slot is gone, or no longer reaches back to where the spool ends, so that "
        f"changes were lost. {_ANEW}",
    ),
    (
        "publication .* does not exist",
        "the publication is gone, and the log cannot be read by its slot any more. "
        f"{_ANEW}, which makes another",
    ),
    (
        "replication slot .* is active",
        "another process reads the replication slot. Stop it, or capture under another name: "
        "--stream",
    ),
    (
        "can no longer get changes|has been invalidated|requested WAL segment .* removed",
        "the server has thrown away log that the slot still needed (max_slot_wal_keep_size). "
        f"{_ANEW}",
    ),
    (
        "permission denied|must be owner|must be superuser",
        "the user lacks a right. Grant what the server names, and begin again",
    ),
    (
        "password authentication failed",
        "the server takes the password no longer. Correct it, and begin again",
    ),
    (
        "refused|terminating connection|connection attempt failed|Database connection failed"
        "|I/O error|closed|reset by peer|shutting down|starting up",
        _AWAY,
    ),
    ("a snapshot of a table failed", _HALF_A_SNAPSHOT),
    (
        "OutOfMemoryError|Java heap space",
        "a row or a batch is larger than Java's memory. Leave the table out: --table",
    ),
)


_PASSING = (_AWAY, _HALF_A_SNAPSHOT)
"""What needs no more than to begin again."""


class ConnectorFailed(OpenmirrorError):
    """A connector has ended; the message has what ends it, then the connector's own words."""

    def __init__(self, words: str) -> None:
        own = " ".join(words.split()) or "it gave no reason"
        if len(own) > _MOST:
            own = own[:_MOST] + "…"
        found = (known for sign, known in _KNOWN if re.search(sign, words, re.IGNORECASE))
        meaning = next(found, None)
        super().__init__(
            f"the connector has failed: {own}. Correct this, and begin again: nothing is lost"
            if meaning is None
            else f"{meaning}. The connector's own words: {own}"
        )
        self.passes = meaning in _PASSING
        """Whether beginning again is all that it needs."""
