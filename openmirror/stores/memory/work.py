"""The ports of work within one process: a queue with hidden messages, and leases that expire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from openmirror.ports import Clock, Taken, WorkItem
from openmirror.ports.work_items import decode, encode
from openmirror.protocol.names import TableFolder
from openmirror.table import layout
from openmirror.table.layout import StorePath

HIDDEN_FOR = timedelta(minutes=5)
LEASED_FOR = timedelta(seconds=60)


@dataclass(slots=True)
class _Message:
    body: str
    visible: datetime
    times: int = 0
    receipt: int = 0


class MemoryWorkQueue:
    """WorkQueue of one process, by a clock; safe to share between threads."""

    def __init__(self, clock: Clock, hidden_for: timedelta = HIDDEN_FOR) -> None:
        self._clock = clock
        self._hidden_for = hidden_for
        self._lock = Lock()
        self._count = 0
        self._messages: dict[str, _Message] = {}
        self._dead_lettered: list[tuple[str, str]] = []

    @property
    def hidden_for(self) -> timedelta:
        """How long a taken message stays hidden unless it is renewed."""
        return self._hidden_for

    @property
    def dead_lettered(self) -> list[tuple[str, str]]:
        """Each message that was dead-lettered, and why."""
        with self._lock:
            return list(self._dead_lettered)

    def send(self, work_item: WorkItem, delay: timedelta = timedelta()) -> None:
        """Send a work item, visible at once or after a delay."""
        self.put(encode(work_item), delay)

    def put(self, body: str, delay: timedelta = timedelta()) -> None:
        """Send any text, as a stranger might."""
        with self._lock:
            self._messages[str(self._next())] = _Message(body, self._clock() + delay)

    def take(self, most: int) -> list[Taken]:
        """At most so many messages that are there now."""
        with self._lock:
            now = self._clock()
            there = [i for i, message in self._messages.items() if message.visible <= now]
            return [self._hide(identity, now, again=True) for identity in there[:most]]

    def renew(self, taken: Taken) -> Taken | None:
        """Hide it for as long again; None when it has come back, or is gone."""
        with self._lock:
            if self._held(taken) is None:
                return None
            return self._hide(taken.identity, self._clock(), again=False)

    def give_back(self, taken: Taken, delay: timedelta) -> None:
        """Let it be taken again after a delay; harmless when it has come back, or is gone."""
        with self._lock:
            if message := self._held(taken):
                message.visible = self._clock() + delay
                message.receipt = self._next()

    def delete(self, taken: Taken) -> None:
        """It is done; harmless when it has come back, or is gone."""
        with self._lock:
            if self._held(taken):
                del self._messages[taken.identity]

    def dead_letter(self, taken: Taken, why: str) -> None:
        """Move it to `dead_lettered`; stays where it is when it has come back, or is gone."""
        with self._lock:
            if message := self._held(taken):
                self._dead_lettered.append((message.body, why))
                del self._messages[taken.identity]

    def length(self) -> int:
        """How many messages there are, those that are hidden among them."""
        with self._lock:
            return len(self._messages)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _held(self, taken: Taken) -> _Message | None:
        """The message, while nobody has taken it since; a storage queue asks for no more."""
        message = self._messages.get(taken.identity)
        return message if message and str(message.receipt) == taken.receipt else None

    def _hide(self, identity: str, now: datetime, *, again: bool) -> Taken:
        message = self._messages[identity]
        message.visible = now + self._hidden_for
        message.times += again
        message.receipt = self._next()
        return Taken(
            identity, str(message.receipt), decode(message.body), message.body, message.times
        )


class MemoryLeases:
    """Leases of one process, by a clock; one that is not renewed expires."""

    def __init__(self, clock: Clock, lasting: timedelta = LEASED_FOR) -> None:
        self._clock = clock
        self._lasting = lasting
        self._lock = Lock()
        self._held: dict[StorePath, tuple[object, datetime]] = {}

    def take(self, folder: TableFolder) -> MemoryLease | None:
        """The lease of this table, None while it is held."""
        return self._take(layout.lock_file(folder))

    def take_sweep(self) -> MemoryLease | None:
        """The lease of the root's sweep, None while it is held."""
        return self._take(layout.sweep_lock())

    def _take(self, path: StorePath) -> MemoryLease | None:
        with self._lock:
            now = self._clock()
            held = self._held.get(path)
            if held and held[1] > now:
                return None
            lease = MemoryLease(self, path)
            self._held[path] = (lease, now + self._lasting)
            return lease

    def renew(self, lease: MemoryLease) -> bool:
        """Keep a lease; also one that expired, as long as nobody else has taken it."""
        with self._lock:
            held = self._held.get(lease.path)
            if held is None or held[0] is not lease:
                return False
            self._held[lease.path] = (lease, self._clock() + self._lasting)
            return True

    def release(self, lease: MemoryLease) -> None:
        """Give a lease up; harmless when it was lost."""
        with self._lock:
            held = self._held.get(lease.path)
            if held and held[0] is lease:
                del self._held[lease.path]


@dataclass(frozen=True, eq=False)
class MemoryLease:
    """The lease of one file."""

    leases: MemoryLeases
    path: StorePath

    def renew(self) -> bool:
        """Keep it; False when it was lost."""
        return self.leases.renew(self)

    def release(self) -> None:
        """Let others have it at once."""
        self.leases.release(self)
