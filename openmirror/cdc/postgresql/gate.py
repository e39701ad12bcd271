"""The gate before landing: changes pass once the catalogue has been read behind them.

A change of rows has no trace of DDL that came before it. DDL that locks a table holds its lock
until it is visible. So once one reading of the catalogue sees the transaction of a change as ended,
every earlier DDL of its table is in that reading too. DDL that takes no lock on the table, such as
`ALTER TYPE`, is in the next reading. All tables are read every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from openmirror.cdc.postgresql.asking import ask_synchronous_names
from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.publication import publication_oid
from openmirror.cdc.postgresql.readings import (
    CatalogueReading,
    read_arrangement,
    read_catalogue,
)
from openmirror.cdc.postgresql.requirements import synchronous_finding
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.standbys import is_synchronous_standby
from openmirror.errors import CannotStart, Unavailable

_SHARE = 100.0
"""A reading of all tables is followed by so many times its own duration without one."""
_WAITS = (0.0, 0.005, 0.02, 0.1, 0.2)
"""Seconds before each further reading that is to see a transaction."""
_LONG = 5.0
"""Seconds after which people learn that changes wait."""


class PublicationReplaced(Unavailable):
    """The publication was dropped, so that changes may be missing in the stream."""


class CatalogueGate:
    """Reads the catalogue behind the transactions of a batch. For one thread."""

    def __init__(
        self,
        connection: DatabaseConnection,
        settings: StreamSettings,
        publication: Oid,
        arrangement: str,
        every: float,
        say: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        """Args:
        connection: asks the catalogue.
        settings: which stream this is.
        publication: the stream's publication; another one means that changes are missing.
        arrangement: the tables of the database when the stream was opened (`readings`).
        every: seconds between two readings of all tables, at least.
        say: called with a sentence for people.
        should_stop: returns whether to wait no longer.
        """
        self._connection = connection
        self._settings = settings
        self._publication = publication
        self._every = every
        self._arrangement = arrangement
        self._seen = arrangement
        self._seconds = 0.0
        self._say = say
        self._should_stop = should_stop
        self._next = 0.0

    def is_due(self) -> bool:
        """Return whether it is time to read all tables."""
        return time.monotonic() >= self._next

    def read(self, transactions: Collection[int], tables: Collection[Oid]) -> CatalogueReading:
        """Return a reading of these tables that sees every one of these transactions.

        The server sends a transaction before others can see it; under synchronous replication
        that may last.

        Args:
            transactions: numbers of transactions, of 32 bits.
            tables: those to read.

        Raises:
            Unavailable: The stream is asked to stop meanwhile.
        """
        begun, has_reported = time.monotonic(), False
        attempt = 0
        while True:
            reading = read_catalogue(self._connection, self._settings.slot, tables)
            unseen = [xid for xid in transactions if not reading.snapshot.sees(xid)]
            if not unseen:
                self._seconds = (time.monotonic() - begun) / (attempt + 1)
                return reading
            if self._should_stop():
                raise Unavailable("stopped while changes waited until others can see them")
            if not has_reported and time.monotonic() - begun >= _LONG:
                has_reported = True
                self._say(
                    f"changes wait: {len(unseen)} transactions that came in the log are not "
                    "visible yet (the server waits for a synchronous standby)"
                )
            attempt += 1
            time.sleep(_WAITS[min(attempt, len(_WAITS) - 1)])

    def must_rearrange(self) -> bool:
        """Check what would harm the source or the stream; return whether other tables can come.

        Counts to the next reading of all tables.

        Raises:
            CannotStart: Commits of the source would wait for the stream.
            PublicationReplaced: Changes may be missing.
        """
        begun, settings = time.monotonic(), self._settings
        names = ask_synchronous_names(self._connection)
        if is_synchronous_standby(names, settings.slot):
            raise CannotStart(str(synchronous_finding(settings, names)))
        if publication_oid(self._connection, settings.slot) != self._publication:
            raise PublicationReplaced(f"the publication {settings.slot} was dropped")
        self._seen = read_arrangement(self._connection, settings.slot)
        seconds = time.monotonic() - begun + self._seconds
        self._next = time.monotonic() + max(self._every, seconds * _SHARE)
        return self._seen != self._arrangement

    def rearranged(self, *, is_complete: bool) -> None:
        """Take the tables of the last check for those that are mirrored.

        Args:
            is_complete: whether every one of them could be published; otherwise they are tried
                again.
        """
        self._arrangement = self._seen if is_complete else ""
