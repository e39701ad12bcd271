"""What people and publishers see of a mirror: status, the two status files, and history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from openmirror.errors import (
    SOLUTIONS,
    AccessDenied,
    DocumentUnreadable,
    NotThere,
    OpenmirrorError,
    Problem,
    Unavailable,
    is_of_one_place,
    words_of,
)
from openmirror.mirroring import Mirroring
from openmirror.operate.mirror_notes import partner_of
from openmirror.operate.stream_notes import MirrorStreams, declared_in, streams_of
from openmirror.plan import plan
from openmirror.ports import FileStore, HistoryReader
from openmirror.protocol.counts import counted
from openmirror.protocol.names import TableFolder, TableName, TablePath, name_of, table_name
from openmirror.protocol.partner import Partner
from openmirror.protocol.rows import EXTENSION_NAMES
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.streams import STREAMS_FOLDER
from openmirror.reconcile.concurrently import side_by_side
from openmirror.reconcile.discovery import Discovered, explore, has_zone
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.emit import emit_statuses, emit_streams
from openmirror.reconcile.mirror_reads import read_settings
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
from openmirror.table.control import (
    Act,
    BatchKind,
    ControlDocument,
    Dropped,
    Ended,
    MirrorDocument,
)
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, Epoch, TableLog

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
        found = explore(ports.store, mirror)
        return [*unlisted(mirror, found), *statuses_of(ports, mirror, found.folders)]
    except Exception as error:  # noqa: BLE001 - mirror_unreadable raises it again if it is fatal
        return [mirror_unreadable(mirror, error)]


def mirror_unreadable(mirror: str, error: Exception) -> TableStatus:
    """The entry, without a table's name, of a mirror of which no table can be shown.

    Raises an error that is not of this mirror alone.
    """
    if not is_of_one_place(error):
        raise error
    if isinstance(error, NotThere):
        trouble = Trouble(
            Word.LANDING_ZONE_UNREADABLE,
            f"the landing zone of mirror {mirror} cannot be listed: {error}",
            "Mount or restore the landing zone, or correct --root; no table is touched meanwhile.",
        )
    else:
        trouble = _trouble(error)
    return unreadable(TableFolder(mirror, TablePath("", "")), TableName("", ""), trouble)


def unlisted(mirror: str, found: Discovered) -> list[TableStatus]:
    """An entry, without a table's name, for what kept tables of this mirror from being seen."""
    return [
        unreadable(TableFolder(mirror, TablePath("", "")), TableName("", ""), _trouble(error))
        for error in found.unlisted.values()
    ]


def _trouble(error: Exception) -> Trouble:
    """What keeps something from being observed, and what to do about it."""
    if isinstance(error, AccessDenied):
        return Trouble(Code.ACCESS_DENIED, str(error), SOLUTIONS[Code.ACCESS_DENIED])
    if isinstance(error, DocumentUnreadable):
        return Trouble(error.code, str(error), SOLUTIONS[error.code])
    if isinstance(error, Unavailable):
        solution = "Nothing to do: it is asked again until the service answers."
        return Trouble(Word.TABLE_UNREADABLE, str(error), solution)
    if isinstance(error, OpenmirrorError):
        solution = "Ask again; if it stays so, find what rewrites its files all the time."
        return Trouble(Word.TABLE_UNREADABLE, str(error), solution)
    solution = "Remove the cause that the error names; if it names none, report it as a defect."
    return Trouble(Word.TABLE_UNREADABLE, words_of(error), solution)


def statuses_of(
    ports: RootPorts, mirror: str, folders: Iterable[TableFolder], seen: Statuses | None = None
) -> list[TableStatus]:
    """The status of each of these folders of one mirror that is a table.

    Folders that are `seen` are not observed again. One that cannot be observed has a status that
    says so. Raises NotThere when the zone cannot be listed.
    """
    partner, known = partner_of(ports.store, mirror), seen or {}

    def status(folder: TableFolder) -> TableStatus | None:
        if folder not in known:
            return _of_table(ports, folder, partner)
        table = known[folder]
        return replace(table, partner=partner) if table else None

    return [table for table in side_by_side(ports, folders, status) if table is not None]


def _of_table(ports: RootPorts, folder: TableFolder, partner: Partner | None) -> TableStatus | None:
    try:
        observed = observe(ports, folder).observed
        decision = plan(observed, ports.limits, observed.at)
        return listed_status(observed, decision, partner, ports.limits)
    except Exception as error:
        if not is_of_one_place(error):
            raise
        if isinstance(error, NotThere) and not has_zone(ports.store, folder.mirror):
            raise  # of the mirror, which may be unmounted
        trouble = _trouble(error)
    name = name_of(folder, _default_schema(ports.store, folder.mirror))
    return unreadable(folder, name, trouble, partner)


def _default_schema(store: FileStore, mirror: str) -> str:
    try:
        return Documents(store).mirror(mirror).value.default_schema
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return MirrorDocument().default_schema


def publish(
    ports: RootPorts, mirror: str, heartbeat: timedelta = HEARTBEAT, seen: Statuses | None = None
) -> bool:
    """Write the two files that publishers read, when they would change or a heartbeat is due.

    Tables that are `seen`, by a pass just before, are not observed again. Returns whether
    anything was written. Raises NotThere, and writes nothing, when the landing zone cannot be
    listed: what is there instead may be an empty mount point.
    """
    discovered = explore(ports.store, mirror)
    found = statuses_of(ports, mirror, discovered.folders, seen)
    settings, _ = read_settings(ports.store, mirror)
    declared = declared_in(settings)
    if declared or STREAMS_FOLDER in discovered.reserved:
        streams = streams_of(ports.store, mirror, declared)
        emit_statuses(ports, mirror, _with_stream_stops(ports.store, mirror, found, streams))
        emit_streams(ports, mirror, streams.notes)
    else:
        emit_statuses(ports, mirror, found)
    # What a publisher reads is about what he sends: the history of a table is none of it.
    shown = (table for table in found if not table.folder.is_history)
    tables = [table for table in shown if not isinstance(table.stage, WasDropped)]
    written = _write_tables(ports.store, mirror, tables)
    about = _about(settings, _trouble_of(settings, discovered))
    return _write_replicator(ports, mirror, about, heartbeat, always=written) or written


def _with_stream_stops(
    store: FileStore, mirror: str, found: Sequence[TableStatus], streams: MirrorStreams
) -> list[TableStatus]:
    """The same, with warnings of what databases' streams land no further.

    A table of which nothing has landed has no status of its own, and is one that says so.
    """
    stopped = dict(streams.stopped(mirror))
    warned = []
    for one in found:
        why = stopped.pop(one.folder.path, None)
        warned.append(one if why is None else replace(one, warnings=(*one.warnings, why)))
    for path, stop in stopped.items():
        name = table_name(path, _default_schema(store, mirror))
        trouble = Trouble(stop.code, stop.detail, stop.solution, file=stop.file)
        warned.append(unreadable(TableFolder(mirror, path), name, trouble))
    return warned


def mirror_trouble(store: FileStore, mirror: str, found: Discovered) -> Trouble | None:
    """What is wrong with a mirror itself: its settings, or a folder that cannot be listed."""
    settings, _ = read_settings(store, mirror)
    return _trouble_of(settings, found)


def _trouble_of(settings: Mirroring | Broken, found: Discovered) -> Trouble | None:
    if isinstance(settings, Broken):
        return Trouble(settings.code.value, settings.detail, SOLUTIONS[settings.code])
    return next((_trouble(error) for error in found.unlisted.values()), None)


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


def _about(settings: Mirroring | Broken, trouble: Trouble | None) -> dict[str, object]:
    """What a mirror says of itself to publishers."""
    asks_lineage = not isinstance(settings, Broken) and settings.lineage
    return {
        "status": "Running",
        "errorCode": trouble.code if trouble else None,
        "errorMessage": f"{trouble.detail}. {trouble.solution}" if trouble else None,
        "extensions": list(EXTENSION_NAMES.values()),
        **({"lineage": True} if asks_lineage else {}),
    }


def _write_replicator(
    ports: RootPorts,
    mirror: str,
    content: dict[str, object],
    heartbeat: timedelta,
    *,
    always: bool,
) -> bool:
    path = _replicator(mirror)
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


class Load(StrEnum):
    """Why a commit made the whole table."""

    FIRST = "first"
    RE_CREATION = "re-creation"
    """The landing folder is another one than before."""
    RESEED = "reseed"
    ANEW = "anew"
    """The log does not go back far enough to say which of these."""


@dataclass(frozen=True)
class HistoryLine:
    """One thing that happened to a table: a commit, a problem, or what an operator did."""

    at: datetime | None
    """None for a commit whose log does not say when. A problem that is over has its end here."""
    event: BatchRecord | Act | PausingProblem | Ended | Dropped
    load: Load | None = None
    """For a commit that made the whole table, why."""


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
    # One more than is shown: what a table was before says what the oldest line was.
    batch_records = [] if foreign or log is None else reader.history(log.path, limit + 1)
    of_mirror = Documents(ports.store).mirror(folder.mirror).value.acts
    beside = [*_beside_commits(observed.control), *((act.at, act) for act in of_mirror)]
    others = sorted(beside, key=lambda other: other[0], reverse=True)
    return list(_merged(batch_records, others))[:limit]


_Other = tuple[datetime, Act | PausingProblem | Ended | Dropped]


def _beside_commits(control: ControlDocument) -> Iterator[_Other]:
    yield from ((act.at, act) for act in control.acts)
    yield from ((ended.at, ended) for ended in control.ended)
    yield from ((drop.at, drop) for drop in control.drops)
    if control.problem and control.problem.since:
        yield control.problem.since, PausingProblem(control.problem)
    if known := control.maintenance:
        # The last of each kind: what there was before stands in the table's own log.
        for what, done in (("compacted", known.compacted), ("vacuumed", known.vacuumed)):
            if done is not None:
                text = f"{what}: {counted(done.files, 'file')}, {done.bytes:,} bytes"
                yield done.at, Act(done.at, "maintenance", text)
        for failed in filter(None, (known.failed, known.failed_removal)):
            kind = f"{failed.kind.value} failed" if failed.kind else "failed"
            text = f"{kind}, {failed.count} in a row"
            yield failed.at, Act(failed.at, "maintenance", text, failed.error.partition("\n")[0])


def _merged(batch_records: list[BatchRecord], others: list[_Other]) -> Iterator[HistoryLine]:
    """Both newest first. Commits keep the log's own order, whatever a writer's clock showed."""
    waiting = list(others)
    for batch_record, load in zip(batch_records, _loads(batch_records), strict=True):
        at = batch_record.committed_at or datetime.min.replace(tzinfo=UTC)
        while waiting and waiting[0][0] >= at:
            yield HistoryLine(*waiting.pop(0))
        yield HistoryLine(batch_record.committed_at, batch_record, load)
    yield from (HistoryLine(*other) for other in waiting)


def _loads(newest_first: list[BatchRecord]) -> list[Load | None]:
    """Why each of these commits made the whole table; None for one that did not."""
    return [
        _load(made, next(iter(newest_first[number:]), None))
        if made.kind == BatchKind.REPLACE
        else None
        for number, made in enumerate(newest_first, start=1)
    ]


def _load(made: BatchRecord, before: BatchRecord | None) -> Load:
    epoch = Epoch.parse(made.app_id)
    if before is None:
        return Load.FIRST if epoch and epoch.number == 1 else Load.ANEW
    former = Epoch.parse(before.app_id)
    if epoch is None or former is None:
        return Load.ANEW
    is_same = (epoch.folder, epoch.incarnation) == (former.folder, former.incarnation)
    return Load.RESEED if is_same else Load.RE_CREATION
