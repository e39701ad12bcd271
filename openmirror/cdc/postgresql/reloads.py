"""Decides which tables a stream loads again by itself, because their definition changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.reload_limits import ReloadLimits
from openmirror.cdc.stops import TAKE_SNAPSHOT
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import StopCode, StopReason

_DAY = 86_400.0
# `pg_table_size` would wait for whoever has the table locked.
_SIZE_OF = """
    SELECT current_setting('block_size')::bigint
        * (greatest(c.relpages, 0) + greatest(coalesce(t.relpages, 0), 0)) AS size
    FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = %s::oid
"""


@dataclass
class Reloads:
    """Decides for each table whether it is loaded again by itself."""

    connection: DatabaseConnection
    limits: ReloadLimits
    begun: dict[TablePath, list[float]]
    """When loads of each table were begun so; seconds since 1970."""
    clock: Callable[[], float] = time.time

    def refusal(self, path: TablePath, oid: Oid, why: str) -> StopReason | None:
        """Return why a table stops instead of being loaded again; None where it is loaded.

        Counts the load. Raises what psycopg raises.
        """
        now = self.clock()
        begun = [at for at in self.begun.get(path, ()) if now - at < _DAY]
        self.begun[path] = begun
        if len(begun) >= self.limits.a_day:
            words = f"it was loaded again {len(begun)} times within a day (--reload-times)"
            return _stop(path, why, words)
        row = self.connection.execute(_SIZE_OF, (oid,)).fetchone()
        size = 0 if row is None else int(row["size"])
        if size >= self.limits.below:
            has, below = (f"{one / 1e9:.3g} GB" for one in (size, self.limits.below))
            words = f"it has {has}, and only tables below {below} are loaded again by themselves"
            return _stop(path, why, f"{words} (--reload-below)")
        begun.append(now)
        return None

    def may_begin(self) -> bool:
        """Return whether such a load may begin now."""
        within = self.limits.within
        return within is None or within.has(datetime.now().time())  # noqa: DTZ005 - its own day


def _stop(path: TablePath, why: str, words: str) -> StopReason:
    return StopReason(StopCode.RESNAPSHOT_NEEDED, f"{path}: {why}; {words}", TAKE_SNAPSHOT)
