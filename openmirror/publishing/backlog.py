"""Waiting for a mirror that is behind, by the status that it writes and the files it archives.

The status counts applied rows (PROTOCOL §10), soon after each batch; the archive (§8.1) comes
later, and knows of files that are never counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from openmirror.errors import NotThere, Unavailable
from openmirror.ports import FileStore
from openmirror.protocol.json_text import JsonError, parse_json
from openmirror.protocol.names import TablePath
from openmirror.publishing.newest import change_files
from openmirror.publishing.read_footers import SizedFile, footers
from openmirror.table.layout import StorePath, join, monitoring_of

_BEFORE_ITS_FIRST_BATCH = ("Initialized", "Snapshotting")
"""Words of a status (PROTOCOL §10)."""


@dataclass(frozen=True)
class BacklogLimit:
    """How far a mirror may be behind before its publisher waits."""

    rows: int
    """Change rows that landed and are not applied."""
    seconds: float = 3600.0
    """How long to wait for it; then the publisher gives up with Unavailable."""
    poll_seconds: float = 5.0
    """Between two reads of the status."""


@dataclass(frozen=True)
class MirrorSays:
    """A mirror's status of one table."""

    status: str
    message: str
    processed_rows: int
    """Change rows applied since the table was last created or replaced."""

    def applied_of(self, landed_rows: int) -> int:
        """How many of an incarnation's change rows are applied, as far as this says.

        Until the first batch of a folder that was made anew, the count is that of the one before.
        """
        is_before = self.status in _BEFORE_ITS_FIRST_BATCH or self.processed_rows > landed_rows
        return 0 if is_before else self.processed_rows


def mirror_status(
    store: FileStore, zone: StorePath, path: TablePath, default_schema: str
) -> MirrorSays | None:
    """The entry of `Files/Monitoring/tables.json`; None where there is none, or no such file."""
    try:
        content = store.read(join(monitoring_of(zone), "tables.json")).data
        document = parse_json(content).value
    except (NotThere, JsonError):
        return None
    tables = document.get("tables") if isinstance(document, dict) else None
    for entry in tables if isinstance(tables, list) else []:
        if not isinstance(entry, dict) or entry.get("sourceTableName") != path.table:
            continue
        schema = entry.get("sourceSchemaName") or default_schema
        if schema == (path.schema or default_schema):
            metrics = entry.get("metrics")
            rows = metrics.get("processedRowCount") if isinstance(metrics, dict) else 0
            return MirrorSays(
                str(entry.get("status")),
                str(entry.get("errorMessage") or ""),
                rows if isinstance(rows, int) else 0,
            )
    return None


def rows_not_archived(store: FileStore, folder: StorePath, landed_rows: int) -> int:
    """Change rows of the files that lie in a folder: no more than these are not applied.

    A mirror archives what it has applied, and what an operator has it skip, which no count of
    applied rows ever has. The newest file stays, applied or not.
    """
    files = change_files(store, folder)
    foreign = 0
    for _, footer in footers(
        store, (SizedFile(join(folder, files[n].name), files[n].size) for n in sorted(files))
    ):
        if footer.published is not None:
            return landed_rows - footer.published.rows + footer.rows + foreign
        foreign += footer.rows
    return foreign


class BacklogWait:
    """Holds a publisher back while its table's mirror has more to apply than it may have."""

    def __init__(
        self,
        read_status: Callable[[], MirrorSays | None],
        not_archived: Callable[[int], int],
        limit: BacklogLimit,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`not_archived` answers what of so many change rows is not archived."""
        self._read_status = read_status
        self._not_archived = not_archived
        self._limit = limit
        self._sleep = sleep
        self._monotonic = monotonic

    def __call__(self, landed_rows: int) -> None:
        """Return once the mirror is near enough; `landed_rows` as the newest footer has them.

        Raises Unavailable, with what the mirror says, when it does not come nearer in time.
        """
        until = self._monotonic() + self._limit.seconds
        while landed_rows > self._limit.rows:
            says = self._read_status()
            behind = landed_rows - (says.applied_of(landed_rows) if says is not None else 0)
            if behind > self._limit.rows:
                behind = min(behind, self._not_archived(landed_rows))
            if behind <= self._limit.rows:
                return
            left = until - self._monotonic()
            if left <= 0:
                status = f"{says.status} {says.message}".strip() if says else "no status"
                raise Unavailable(
                    f"the mirror is {behind:,} change rows behind, where {self._limit.rows:,} are "
                    f"allowed, and came no nearer in {self._limit.seconds:g} s; it says: {status}"
                )
            self._sleep(min(left, self._limit.poll_seconds))
