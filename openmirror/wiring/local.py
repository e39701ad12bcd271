"""What runs on one machine: a local root, and Spark in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from openmirror.deltalog import DataFilesReplay, LogReplay, PastReplay
from openmirror.errors import CannotStart
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ports import HistoryReader, PastReader, Steps, TableEngine, no_steps
from openmirror.ports.storage_account import AccountUrl
from openmirror.progress.runner import FileWatchFailed
from openmirror.progress.union import EventSink, discard
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.daemon import Daemon, Intervals
from openmirror.runtime.timers import Beside, Wake
from openmirror.settings import Settings, limits
from openmirror.stores.local.lock import WAIT_FOR_ROOT, hold_root
from openmirror.stores.local.store import LocalStore
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.wiring.reading_ahead import reading_ahead

Say = Callable[[str], None]


def say_nothing(text: str) -> None:
    """The default of `say`."""


def utc_now() -> datetime:
    """The clock of a local root."""
    return datetime.now(UTC)


def local_root(settings: Settings) -> Path:
    """The root's folder; raises CannotStart when it is not there. It is never made silently."""
    root = settings.root_folder()
    if not root.is_dir():
        raise CannotStart(
            f"the root {root} is not there. If the path is right, make it with its first mirror: "
            f"mkdir -p {root / 'landing' / '<mirror>' / 'Files' / 'LandingZone'}"
        )
    return root.resolve()


def local_ports(
    settings: Settings, steps: Steps = no_steps, emit: EventSink = discard
) -> RootPorts:
    """A local root seen through its ports: all that does not need Spark."""
    store = LocalStore(local_root(settings), steps)
    return RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        data_files=DataFilesReplay(store),
        clock=utc_now,
        limits=limits(settings),
        steps=steps,
        emit=emit,
    )


def history_reader(ports: RootPorts) -> HistoryReader:
    """Reads what our commits wrote about themselves."""
    return LogReplay(ports.store)


def past_reader(ports: RootPorts) -> PastReader:
    """Reads what is left of a table's past."""
    return PastReplay(ports.store)


@contextmanager
def locked(
    settings: Settings, say: Say = say_nothing, wait_seconds: float = WAIT_FOR_ROOT
) -> Iterator[None]:
    """Hold a local root alone: for the verbs that move tables or files.

    An account is never held: there runners and cleanup are many, and correct beside each other.
    """
    if isinstance(settings.root_given(), AccountUrl):
        yield
        return
    with hold_root(local_root(settings), wait_seconds, say):
        yield


@contextmanager
def up(
    settings: Settings,
    ports: RootPorts,
    engine: TableEngine,
    mirrors: Callable[[], Iterable[str]],
    wanted: Callable[[str], bool],
    beside: Callable[[Wake], Beside] | None = None,
) -> Iterator[Daemon]:
    """Start everything that `openmirror up` runs, and what goes on beside it.

    The caller serves it, then stops it.
    """
    from openmirror.stores.local.watching import LandingWatch

    engine = reading_ahead(settings, ports, engine)
    waker = LocalWaker()
    intervals = Intervals(
        sweep=settings.sweep_interval,
        cleanup=settings.cleanup_interval,
        status=settings.status_interval,
        slowest=settings.sweep_slowest,
    )
    running = Daemon(ports, engine, waker, mirrors, settings.workers, intervals, beside)

    def trouble(reason: str) -> None:
        ports.emit(FileWatchFailed(reason))

    watching = LandingWatch(
        local_root(settings), waker, wanted=wanted, sweep=running.sweep, trouble=trouble
    )
    try:
        with watching:
            yield running
    finally:
        running.stop()
