"""What people and publishers see of a mirror: status, the two status files, and history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from openmirror.errors import SOLUTIONS, ConditionFailed, DocumentUnreadable, NotThere, Problem
from openmirror.plan import plan
from openmirror.ports import FileStore, HistoryReader
from openmirror.protocol.names import (
    PARTNER_EVENTS_FILE,
    TableFolder,
    TableName,
    TablePath,
    table_name,
)
from openmirror.protocol.partner import Partner, parse_partner_events
from openmirror.protocol.rules import Broken
from openmirror.reconcile.concurrently import side_by_side
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.emit import emit_statuses
from openmirror.reconcile.mirrors import read_settings
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import (
    TableStatus,
    Trouble,
    WasDropped,
    Word,
    iso,
    listed_status,
    to_monitoring,
    unreadable,
)
from openmirror.table import layout
from openmirror.table.control import Act, ControlDocument, Ended, MirrorDocument
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, TableLog

Statuses = Mapping[TableFolder, TableStatus | None]
"""What a pass over tables found of each; None for a folder that is no table."""

HEARTBEAT = timedelta(seconds=60)
"""A status file that did not change is written again after this long, as a heartbeat."""


def statuses(ports: RootPorts, mirrors: Iterable[str]) -> list[TableStatus]:
    """The status of every table of these mirrors, each observed anew; changes nothing.

    What cannot be read is an entry that says so: one table, or a mirror whose landing zone
    cannot be listed (an entry without a table's name), never an empty answer.
    """
    return [table for mirror in mirrors for table in _of_mirror(ports, mirror)]


def _of_mirror(ports: RootPorts, mirror: str) -> list[TableStatus]:
    try:
        return _tables(ports, mirror)
    except NotThere as error:
        return [zone_unreadable(mirror, error)]


def zone_unreadable(mirror: str, error: NotThere) -> TableStatus:
    """The entry, without a table's name, of a mirror whose landing zone cannot be listed."""
    trouble = Trouble(
        Word.LANDING_ZONE_UNREADABLE,
        f"the landing zone of mirror {mirror} cannot be listed: {error}",
        "Mount or restore the landing zone, or correct --root; no table is touched meanwhile.",
    )
    return unreadable(TableFolder(mirror, TablePath("", "")), TableName("", ""), trouble)


def _tables(ports: RootPorts, mirror: str, seen: Statuses | None = None) -> list[TableStatus]:
    """Raises NotThere when the zone cannot be listed."""
    return statuses_of(ports, mirror, discover(ports.store, mirror), seen)


def statuses_of(
    ports: RootPorts, mirror: str, folders: Iterable[TableFolder], seen: Statuses | None = None
) -> list[TableStatus]:
    """The status of each of these folders of one mirror that is a table.

    Folders that are `seen` are not observed again. Raises NotThere when the zone cannot be listed.
    """
    partner, known = _partner(ports.store, mirror), seen or {}

    def status(folder: TableFolder) -> TableStatus | None:
        if folder not in known:
            return _of_table(ports, folder, partner)
        table = known[folder]
        return replace(table, partner=partner) if table else None

    return [table for table in side_by_side(ports, folders, status) if table is not None]


def _of_table(ports: RootPorts, folder: TableFolder, partner: Partner | None) -> TableStatus | None:
    try:
        observed = observe(ports, folder).observed
    except DocumentUnreadable as error:
        trouble = Trouble(error.code.value, str(error), SOLUTIONS[error.code])
    except (ConditionFailed, NotThere) as error:
        if ports.store.incarnation(layout.landing_zone(folder.mirror)) is None:
            raise
        solution = "Ask again; if it stays so, find what rewrites its files all the time."
        trouble = Trouble(Word.TABLE_UNREADABLE, str(error), solution)
    else:
        decision = plan(observed, ports.limits, observed.at)
        return listed_status(observed, decision, partner, ports.limits)
    name = table_name(folder.path, _default_schema(ports.store, folder.mirror))
    return unreadable(folder, name, trouble, partner)


def _default_schema(store: FileStore, mirror: str) -> str:
    try:
        return Documents(store).mirror(mirror).value.default_schema
    except DocumentUnreadable:
        return MirrorDocument().default_schema


def _partner(store: FileStore, mirror: str) -> Partner | None:
    try:
        content = store.read(layout.join(layout.landing_zone(mirror), PARTNER_EVENTS_FILE))
    except NotThere:
        return None
    return parse_partner_events(content.data)


def publish(
    ports: RootPorts, mirror: str, heartbeat: timedelta = HEARTBEAT, seen: Statuses | None = None
) -> bool:
    """Write the two files that publishers read, when they would change or a heartbeat is due.

    Tables that are `seen`, by a pass just before, are not observed again. Returns whether
    anything was written. Raises NotThere, and writes nothing, when the landing zone cannot be
    listed: what is there instead may be an empty mount point.
    """
    found = _tables(ports, mirror, seen)
    emit_statuses(ports, mirror, found)
    tables = [table for table in found if not isinstance(table.stage, WasDropped)]
    written = _write_tables(ports.store, mirror, tables)
    return _write_replicator(ports, mirror, heartbeat, always=written) or written


def _write_tables(store: FileStore, mirror: str, tables: list[TableStatus]) -> bool:
    path = layout.join(layout.monitoring(mirror), "tables.json")
    content = to_monitoring(tables)
    if _stored(store, path) == content:
        return False
    store.write(path, _as_bytes(content))
    return True


_BEAT = "lastHeartbeatTime"


def _replicator(mirror: str) -> StorePath:
    return layout.join(layout.monitoring(mirror), "replicator.json")


def heartbeat(store: FileStore, mirror: str) -> datetime | None:
    """When a runner or a sweep was last at work on a mirror; None where none ever was."""
    return _moment((_stored(store, _replicator(mirror)) or {}).get(_BEAT))


def _write_replicator(ports: RootPorts, mirror: str, heartbeat: timedelta, *, always: bool) -> bool:
    path = _replicator(mirror)
    settings, _ = read_settings(ports.store, mirror)
    broken = settings if isinstance(settings, Broken) else None
    content: dict[str, object] = {
        "status": "Running",
        "errorCode": broken.code.value if broken else None,
        "errorMessage": f"{broken.detail}. {SOLUTIONS[broken.code]}" if broken else None,
    }
    now = ports.clock()
    before = _stored(ports.store, path) or {}
    beat = _moment(before.pop(_BEAT, None))
    if not always and before == content and beat and beat <= now < beat + heartbeat:
        return False
    ports.store.write(path, _as_bytes({**content, _BEAT: iso(now)}))
    return True


def _stored(store: FileStore, path: StorePath) -> dict[str, object] | None:
    """What the file says now; None when it is missing or damaged, and so has to be written."""
    try:
        value = json.loads(store.read(path).data)
    except (NotThere, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _as_bytes(content: dict[str, object]) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


@dataclass(frozen=True)
class PausingProblem:
    """A problem that pauses the table now."""

    problem: Problem


@dataclass(frozen=True)
class HistoryLine:
    """One thing that happened to a table: a commit, a problem, or what an operator did."""

    at: datetime | None
    """None for a commit whose log does not say when. A problem that is over has its end here."""
    event: BatchRecord | Act | PausingProblem | Ended


def history(
    ports: RootPorts, reader: HistoryReader, folder: TableFolder, limit: int
) -> list[HistoryLine]:
    """The newest `limit` lines, newest first, also of a table that was dropped.

    Raises NotThere when the landing zone cannot be listed, DocumentUnreadable when the table's
    control document cannot be read.
    """
    observed = observe(ports, folder).observed
    log = observed.log or observed.retained
    # A path may hold another folder's table; a damaged log still has commits that can be read.
    foreign = log is None or (isinstance(log, TableLog) and folder not in log.owners)
    batch_records = [] if foreign or log is None else reader.history(log.path, limit)
    others = sorted(_beside_commits(observed.control), key=lambda other: other[0], reverse=True)
    return list(_merged(batch_records, others))[:limit]


_Other = tuple[datetime, Act | PausingProblem | Ended]


def _beside_commits(control: ControlDocument) -> Iterator[_Other]:
    yield from ((act.at, act) for act in control.acts)
    yield from ((ended.at, ended) for ended in control.ended)
    if control.problem and control.problem.since:
        yield control.problem.since, PausingProblem(control.problem)


def _merged(batch_records: list[BatchRecord], others: list[_Other]) -> Iterator[HistoryLine]:
    """Both newest first. Commits keep the log's own order, whatever a writer's clock showed."""
    waiting = list(others)
    for batch_record in batch_records:
        at = batch_record.committed_at or datetime.min.replace(tzinfo=UTC)
        while waiting and waiting[0][0] >= at:
            yield HistoryLine(*waiting.pop(0))
        yield HistoryLine(batch_record.committed_at, batch_record)
    yield from (HistoryLine(*other) for other in waiting)
