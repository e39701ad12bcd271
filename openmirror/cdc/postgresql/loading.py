"""Reads the rows of tables beside the log, range by range, for as many tables as are wanted.

A load of one table takes these steps; `load_file` says why they give exactly the table.

1. Every transaction that may have written to the table before the publication had it must end. What
   such a transaction wrote never comes in the log.
2. The first mark is emitted into the log. Once it has come in the stream, one snapshot must see
   every transaction that came before it. PostgreSQL sends a commit before others can see it.
3. The first snapshot gives the highest key. Ranges are read up to it, each in a short transaction.
4. A mark is emitted behind ranges that were read. They count once it has come in the stream, since
   a crash of the server can take back what an asynchronous commit has shown.
5. Keys whose changes leave values out that no range had are read once more (`partial_rows`).

Nothing here waits for one mark or one table. Marks serve all tables at once. After any failure of
the connection, rows that have no mark behind them yet are read again: a mark that was emitted by a
new connection would prove nothing of them.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from uuid import uuid4

import psycopg
from psycopg import errors

from openmirror.cdc.postgresql.catalogue import (
    definition_of,
    emit_mark,
    open_writers,
)
from openmirror.cdc.postgresql.copying import (
    DefinitionChanged,
    LockBusy,
    RowConnection,
    is_lost,
)
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.load_events import (
    LoaderSettings,
    LoaderWaits,
    LoadEvent,
    LoadGivenUp,
    LoadWaits,
    WantedLoad,
    WritersEnded,
)
from openmirror.cdc.postgresql.load_state import definition_facts
from openmirror.cdc.postgresql.load_steps import (
    BEFORE_MARK,
    HAS_WORK,
    BeforeMark,
    Busy,
    LoadPhase,
    LoadSteps,
    LoadUnderway,
)
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.ranges import narrowed
from openmirror.cdc.postgresql.read_rows import UnreadableRow
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.errors import (
    AccessDenied,
    CannotStart,
    ConditionFailed,
    NotThere,
    Unavailable,
    reason_of,
)
from openmirror.protocol.streams import StopCode, StopReason

_MOST_AT_ONCE = 128
"""Loads between their first mark and their last range: the changes of each are staged."""
_MARK_EVERY = 0.2
_ASK_EVERY = 0.2
"""Seconds between two questions about what only the server knows."""
_IDLE_SECONDS = 60.0
_REPORT_EVERY = 60.0
"""Seconds between two reports of the same failure."""
_WAITS = (0.5, 2.0, 5.0, 15.0)
"""Seconds before each further attempt."""
_PASSING = (Unavailable, AccessDenied, CannotStart, OSError)
_GONE = (NotThere, ConditionFailed)
"""Something else has removed the load, or goes on with it."""
_BUSY = ("40", "53", "55")
"""Classes of SQLSTATE that another attempt may not meet: conflicts, resources, objects in use."""

log = logging.getLogger(__name__)


class Loader:
    """Loads tables in a thread of its own. Every public method may be called from any thread."""

    def __init__(self, url: DatabaseUrl, settings: LoaderSettings) -> None:
        self._settings = settings
        self._rows = RowConnection(url, settings.application, settings.range_seconds)
        self._steps = LoadSteps(self._rows, settings, self._put_behind)
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[LoadEvent] = queue.SimpleQueue()
        self._loads: dict[str, LoadUnderway] = {}
        self._behind: dict[LoadUnderway, BeforeMark] = {}
        self._behind_since = 0.0
        self._marks: dict[str, dict[LoadUnderway, BeforeMark]] = {}
        self._first_marks: dict[str, tuple[Oid, ...]] = {}
        self._asked_at = 0.0
        self._attempts = 0
        self._is_careful = False
        """Whether the connection was lost and no mark has been emitted since. The next range then
        gets its own mark, because the connection may be lost each time that several are read."""
        self._reported, self._reported_at = "", 0.0
        """What all loads waited for when that was reported last, and when."""
        self._failure: Exception | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="loads", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Begin no further range, and wait at most so long for the one that is underway."""
        self._stopping.set()
        self._inbox.put(None)
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def check(self) -> None:
        """Raise what ended the thread."""
        if self._failure is not None:
            raise self._failure

    def want(self, load: WantedLoad) -> None:
        """Load a table, or go on with a load that a former process began."""
        self._inbox.put(partial(self._want, load))

    def drop(self, number: str) -> None:
        """Read no further row of a load; nothing of what it has staged is removed."""
        self._inbox.put(partial(self._drop, number))

    def begin(self, number: str) -> None:
        """Let a load emit its first mark, as the answer to `WritersEnded`."""
        self._inbox.put(partial(self._begin, number))

    def first_of(self, mark: str) -> Sequence[Oid]:
        """Return the tables whose loads begin with a mark; known before the mark is emitted."""
        return self._first_marks.get(mark, ())

    def mark_came(self, mark: str, place: LogPlace) -> None:
        """Report that a mark has come in the stream.

        Args:
            mark: The mark's content.
            place: Where it stands. Every change before it is staged, and visible to every new
                snapshot.
        """
        self._inbox.put(partial(self._came, mark, place))

    def events(self) -> list[LoadEvent]:
        """Return what has happened since the last call."""
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._events.get_nowait())
        return found

    def has_events(self) -> bool:
        """Return whether `events` would return any."""
        return not self._events.empty()

    # The thread's own part.

    def _work(self) -> None:
        try:
            wait = 0.0
            while not self._stopping.is_set():
                self._take(wait)
                wait = self._attempt()
        except Exception as error:  # raised by `check`
            log.exception("the loader has ended")
            self._failure = error
        finally:
            self._steps.close()
            self._rows.close()

    def _take(self, wait: float) -> None:
        """Run what was asked for; wait at most so long for the first."""
        with suppress(queue.Empty):
            asked = self._inbox.get(timeout=wait) if wait else self._inbox.get_nowait()
            while asked is not None:
                self._run(asked)
                asked = self._inbox.get_nowait()

    def _run(self, asked: Callable[[], None]) -> None:
        """Run what was asked for, again and again while the store fails: marks keep their order."""
        while not self._stopping.is_set():
            try:
                asked()
            except _PASSING as error:
                self._report_waits(reason_of(error))
                self._stopping.wait(_WAITS[0])
            else:
                return

    def _attempt(self) -> float:
        """Take one step of each load; return the seconds until there may be more to do."""
        try:
            is_busy = self._turn()
        except (*_PASSING, psycopg.Error) as error:
            return self._failed(error)
        self._attempts = 0
        if self._loads:
            return 0.0 if is_busy else _ASK_EVERY
        self._rows.close()
        return _IDLE_SECONDS

    def _failed(self, error: Exception) -> float:
        self._rows.close()
        self._read_again()
        self._is_careful = True
        self._report_waits(reason_of(error))
        self._attempts += 1
        return _WAITS[min(self._attempts, len(_WAITS)) - 1]

    def _report_waits(self, why: str) -> None:
        why, now = " ".join(why.split()), time.monotonic()
        if why != self._reported or now - self._reported_at >= _REPORT_EVERY:
            self._reported, self._reported_at = why, now
            self._events.put(LoaderWaits(why))

    def _read_again(self) -> None:
        """Forget what was read and has no mark behind it."""
        for load in self._steps.forget():
            self._behind.setdefault(load, BeforeMark())
        for load, behind in self._behind.items():
            if behind.is_first:
                load.phase = LoadPhase.TO_MARK
            elif behind.rereads:
                load.phase = LoadPhase.AGAIN
            else:
                emitted = [r for mark in self._marks.values() if (r := mark.get(load))]
                ranges = [part for one in emitted for part in one.ranges]
                load.at = ranges[-1].through if ranges else load.state.read_through
                load.phase = LoadPhase.ROWS
        self._behind.clear()

    def _turn(self) -> bool:
        """Return whether a step was taken that another one may follow at once."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_EVERY:
            self._asked_at = now
            self._ask_for_writers(list(self._of(LoadPhase.WRITERS)))
        is_busy = False
        for load in list(self._loads.values()):
            is_current = self._loads.get(load.number) is load
            if is_current and load.waits_until <= now and load.phase in HAS_WORK:
                self._for_load(load, partial(self._step, load))
                is_busy = True
            self._finish_parts(0 if self._is_careful else 1)
            self._mark_if_due()
            if not self._inbox.empty() or self._stopping.is_set():
                return True
        if not is_busy:
            self._finish_parts(0)
        self._begin_some()
        if self._behind and not is_busy:
            self._emit()
        return is_busy

    def _finish_parts(self, most: int) -> None:
        """Wait until at most so many ranges are being written."""
        while len(self._steps.writing) > most:
            self._for_load(self._steps.writing[0].load, self._steps.finish_part)

    def _want(self, wanted: WantedLoad) -> None:
        self._drop(wanted.number)
        if wanted.staged.state.definition != definition_facts(wanted.definition):
            self._events.put(LoadGivenUp(wanted.number, "its definition is another one"))
        else:
            self._loads[wanted.number] = self._steps.begun(wanted)

    def _drop(self, number: str) -> None:
        load = self._loads.pop(number, None)
        if load is not None:
            self._behind.pop(load, None)
            self._steps.leave(load)

    def _begin(self, number: str) -> None:
        load = self._loads.get(number)
        if load is not None and load.phase is LoadPhase.ASKED:
            load.phase = LoadPhase.TO_MARK

    def _came(self, mark: str, place: LogPlace) -> None:
        """Count what stands before the mark."""
        waiting = self._marks.get(mark, {})
        for load, behind in list(waiting.items()):
            if self._loads.get(load.number) is load:
                try:
                    self._count(load, behind, place)
                except _GONE as error:
                    self._give_up(load, reason_of(error), None)
            del waiting[load]
        self._marks.pop(mark, None)
        self._first_marks.pop(mark, None)

    def _count(self, load: LoadUnderway, behind: BeforeMark, place: LogPlace) -> None:
        if behind.is_first:
            load.phase = LoadPhase.ROWS
        if behind.ranges or behind.rereads:
            load.wanted.staged.change(
                lambda state: state.with_ranges(*behind.ranges).with_rereads(*behind.rereads)
            )
        if behind.is_end:
            load.phase = LoadPhase.RESOLVING
        load.mark = place

    def _ask_for_writers(self, loads: Sequence[LoadUnderway]) -> None:
        if not loads:
            return
        main = self._rows.main
        if not open_writers(main, [load.wanted.definition.oid for load in loads]):
            for load in loads:
                self._writers_ended(load)
            return
        for load in loads:
            found = open_writers(main, (load.wanted.definition.oid,))
            load.writers = found if load.writers is None else load.writers & found
            if load.writers:
                first = min(load.writers, key=str)
                more = f" and {len(load.writers) - 1} more" if len(load.writers) > 1 else ""
                self._report(load, f"waits for the end of a transaction: {first}{more}")
            else:
                self._writers_ended(load)

    def _writers_ended(self, load: LoadUnderway) -> None:
        load.phase = LoadPhase.TO_MARK
        if self._settings.asks_before_mark:
            load.phase = LoadPhase.ASKED
            self._events.put(WritersEnded(load.number))

    def _of(self, phase: LoadPhase) -> Iterator[LoadUnderway]:
        return (load for load in self._loads.values() if load.phase is phase)

    def _begin_some(self) -> None:
        """Put loads before the next mark, which is their first one."""
        most = _MOST_AT_ONCE - sum(
            load.phase not in BEFORE_MARK and load.phase is not LoadPhase.READY
            for load in self._loads.values()
        )
        for load in list(self._of(LoadPhase.TO_MARK))[: max(0, most)]:
            self._put_behind(load).is_first = True
            load.phase = LoadPhase.MARKED

    def _put_behind(self, load: LoadUnderway) -> BeforeMark:
        if not self._behind:
            self._behind_since = time.monotonic()
        return self._behind.setdefault(load, BeforeMark())

    def _mark_if_due(self) -> None:
        if not self._behind:
            return
        if self._is_careful or time.monotonic() - self._behind_since >= _MARK_EVERY:
            self._emit()
            self._is_careful = False

    def _emit(self) -> None:
        """Emit one mark behind all that was read."""
        mark = uuid4().hex
        begun = [load.wanted.definition for load, one in self._behind.items() if one.is_first]
        firsts = tuple(definition.oid for definition in begun)
        if firsts:
            # Before the mark is in the log, lest it come before anybody knows it.
            self._first_marks[mark] = firsts
        try:
            emit_mark(self._rows.main, self._settings.mark_prefix, mark)
        except BaseException:
            self._first_marks.pop(mark, None)
            raise
        self._marks[mark] = self._behind
        self._behind = {}

    def _step(self, load: LoadUnderway) -> None:
        ready = self._steps.step(load)
        load.reported, load.busy = "", 0
        if ready is not None:
            self._events.put(ready)

    def _for_load(self, load: LoadUnderway, action: Callable[[], None]) -> None:
        """Do something for one load, whose own failures end or delay only it."""
        try:
            action()
        except LockBusy:
            self._wait(load, "waits for the table's lock, which another process holds")
        except Busy as error:
            self._wait(load, str(error))
        except psycopg.Error as error:
            self._take_error(load, error)
        except DefinitionChanged as error:
            self._give_up_changed(load, str(error))
        except UnreadableRow as error:
            self._give_up(load, error.stop.detail, error.stop)
        except _GONE as error:
            self._give_up(load, reason_of(error), None)

    def _take_error(self, load: LoadUnderway, error: psycopg.Error) -> None:
        code = error.sqlstate or ""
        if is_lost(error) or self._rows.is_lost:
            # Or a connection that does not last for the whole range would be lost each time.
            load.limit = narrowed(load.limit, 0)
            raise error
        if isinstance(error, errors.QueryCanceled):
            # A cancel of ours that came when the COPY had just ended.
            self._wait(load, "waits for a moment in which its rows can be read")
        elif code[:2] in _BUSY and load.limit > 1:
            load.limit = narrowed(load.limit, 0)
            self._wait(load, reason_of(error))
        else:
            self._give_up(load, " ".join(str(error).split()), _stop_of(load.title, error))

    def _wait(self, load: LoadUnderway, why: str) -> None:
        load.waits_until = time.monotonic() + _WAITS[min(load.busy, len(_WAITS) - 1)]
        load.busy += 1
        self._report(load, why)

    def _give_up_changed(self, load: LoadUnderway, why: str) -> None:
        definition = load.wanted.definition
        if definition_of(self._rows.main, definition.oid) is None:
            detail = f"table {definition.title} was dropped"
            remedy = "Nothing; or create the table again, and it is loaded."
            self._give_up(load, detail, StopReason(StopCode.RESNAPSHOT_NEEDED, detail, remedy))
        else:
            self._give_up(load, why, None)

    def _give_up(self, load: LoadUnderway, why: str, stop: StopReason | None) -> None:
        self._drop(load.number)
        self._events.put(LoadGivenUp(load.number, why, stop))

    def _report(self, load: LoadUnderway, why: str) -> None:
        if load.reported != why:
            load.reported = why
            self._events.put(LoadWaits(load.number, why))


def _stop_of(title: str, error: psycopg.Error) -> StopReason:
    """Return why a table stops whose rows the server refuses to send."""
    words = " ".join(str(error).split())
    detail = f"rows of table {title} cannot be read: {words}"
    again = f"then `openmirror cdc resnapshot {title}`"
    if isinstance(error, errors.InsufficientPrivilege):
        is_filtered = "row-level security" in words or "row security" in words
        what = "`ALTER ROLE … BYPASSRLS`" if is_filtered else f"`GRANT SELECT ON {title} TO …`"
        return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, f"{what}, {again}")
    remedy = f"correct this in the database, {again}; or `--without-column` for a column"
    return StopReason(StopCode.SOURCE_VALUE_INVALID, detail, remedy)
