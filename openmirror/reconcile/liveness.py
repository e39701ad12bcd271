"""Two small files of a root that show whether it is swept, and whether its events arrive.

Nothing is decided by them but whether to sweep once more than needed, which costs requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock

from openmirror.errors import NotThere
from openmirror.ports import Clock, FileStore
from openmirror.protocol.names import TableFolder
from openmirror.table import layout
from openmirror.table.layout import StorePath

SWEPT_EVERY = timedelta(seconds=30)
"""How often the timer of a Function App sweeps; its schedule is fixed."""
WRITTEN_EVERY = timedelta(seconds=60)
"""How often each of them is written while nothing else changes: a write costs more than a read."""

WATCHED_FOR = timedelta(minutes=10)
"""How long each pass observes a table that an event showed to wait, at rest or not."""


class SweptBy(StrEnum):
    """What made somebody sweep."""

    TIMER = "timer"
    EVENT = "event"
    """A landing event came, and no sweep had ended for long."""


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The last sweep of a root that ended, as far as it was written down."""

    ended: datetime
    seconds: float
    by: SweptBy
    timer: datetime | None
    """When the last sweep that the timer started began."""


def read_sweep(store: FileStore) -> SweepRecord | None:
    """The record of the last sweep; None without one that can be read."""
    value = _stored(store, layout.sweep_record())
    try:
        timer = value["timerAt"]
        return SweepRecord(
            ended=_moment(value["endedAt"]),
            seconds=float(str(value["seconds"])),
            by=SweptBy(str(value["by"])),
            timer=None if timer is None else _moment(timer),
        )
    except (KeyError, ValueError):
        return None


def write_sweep(store: FileStore, record: SweepRecord) -> None:
    """Write the record of a sweep."""
    value = {
        "endedAt": record.ended.isoformat(timespec="seconds"),
        "seconds": round(record.seconds, 1),
        "by": record.by.value,
        "timerAt": record.timer.isoformat(timespec="seconds") if record.timer else None,
    }
    store.write(layout.sweep_record(), json.dumps(value).encode())


@dataclass(frozen=True)
class EventsRecord:
    """What is written down of landing events."""

    taken: datetime | None = None
    """When the last one was taken, to within `WRITTEN_EVERY`; None where none ever was."""
    watched: Mapping[TableFolder, datetime] = field(default_factory=dict)
    """Tables that wait, as an event showed, and when that was written down."""


def read_events(store: FileStore) -> EventsRecord:
    """The record of landing events; an empty one where none can be read."""
    return _events(_stored(store, layout.events_record()))


def _events(value: Mapping[str, object]) -> EventsRecord:
    try:
        watched = value.get("watched")
        found = watched.items() if isinstance(watched, dict) else ()
        return EventsRecord(
            _moment(value["takenAt"]), {_folder(name): _moment(at) for name, at in found}
        )
    except (KeyError, ValueError):
        return EventsRecord()


class EventsTaken:
    """Writes down that events arrive, at most once every `WRITTEN_EVERY` for each process."""

    def __init__(self, store: FileStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._written: datetime | None = None
        self._watched: dict[TableFolder, datetime] = {}

    def note(self, waiting: Iterable[TableFolder] = ()) -> None:
        """An event was taken just now; `waiting` are the tables that it showed to wait.

        Two processes at once may overwrite each other: such a table is then observed as late as
        one whose event was lost.
        """
        now = self._clock()
        with self._lock:
            new = {
                folder: now
                for folder in waiting
                if now - self._watched.get(folder, now - WATCHED_FOR) >= WATCHED_FOR / 2
            }
            if not new and self._written is not None and now - self._written < WRITTEN_EVERY:
                return
            self._written = now
            self._watched |= new
        before = read_events(self._store).watched
        kept = {folder: at for folder, at in before.items() if now - at < WATCHED_FOR}
        value = {
            "takenAt": now.isoformat(timespec="seconds"),
            "watched": {
                str(folder): at.isoformat(timespec="seconds")
                for folder, at in sorted({**kept, **new}.items())
            },
        }
        self._store.write(layout.events_record(), json.dumps(value, ensure_ascii=False).encode())


def _folder(name: object) -> TableFolder:
    """Raises ValueError for what is no table folder."""
    mirror, _, path = str(name).partition("/")
    return TableFolder.of_key(mirror, path)


def _stored(store: FileStore, path: StorePath) -> Mapping[str, object]:
    try:
        value = json.loads(store.read(path).data)
    except (NotThere, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _moment(text: object) -> datetime:
    """Raises ValueError for what is no time with a zone."""
    found = datetime.fromisoformat(str(text))
    if found.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return found
