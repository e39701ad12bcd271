"""The runner: a root, the work queue, leases, and whatever Spark this process can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta

from openmirror.ports import Leases, Steps, TableEngine, WorkQueue, no_steps
from openmirror.progress.union import EventSink, discard
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.discovery import mirrors as all_mirrors
from openmirror.reconcile.registration import record_registration
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.runner import Runner, RunnerTiming
from openmirror.runtime.timers import Beside, Wake
from openmirror.settings import Settings
from openmirror.wiring.azure import given_identity, leases, work_queue
from openmirror.wiring.local import Say, say_nothing
from openmirror.wiring.reading_ahead import reading_ahead
from openmirror.wiring.root import root_ports
from openmirror.wiring.spark import engine_of_root, root_spark
from openmirror.wiring.telemetry import emitting

_KEEP = timedelta(seconds=15)
"""A quarter of the time that a lease lasts: three renewals may fail before it is lost."""
_KEEPS_WHILE_HIDDEN = 8
"""How often leases and messages are renewed, at least, while a message stays hidden."""


@contextmanager
def runner(
    settings: Settings,
    env: Mapping[str, str],
    chosen: Sequence[str] = (),
    *,
    steps: Steps = no_steps,
    emit: EventSink = discard,
    say: Say = say_nothing,
) -> Iterator[Runner]:
    """A runner at work, which the caller serves and stops.

    `chosen` are the mirrors that it sweeps and writes the status of, all by default; messages are
    taken whatever their mirror. Raises CannotStart when the root, the queue or Spark cannot be had.
    """
    ports = root_ports(settings, steps, emit)
    queue, table_leases = work_queue(settings), leases(settings)

    def record(folder: TableFolder, failure: str | None) -> None:
        record_registration(ports.store, folder, failure, ports.clock())

    with (
        emitting(ports, env, "runner", settings.status_repeat, given_identity(settings)) as emitted,
        root_spark(settings, env, say) as spark,
    ):
        engine = engine_of_root(settings, spark, emit, record)
        beside = None
        if settings.relay:
            # Where nobody lands streams, nothing of them is needed.
            from openmirror.wiring.streams import declared_streams

            beside = declared_streams(settings, emitted, spark.session, _mirrors(ports, chosen))
        yield working(settings, emitted, engine, queue, table_leases, chosen, beside)


def working(
    settings: Settings,
    ports: RootPorts,
    engine: TableEngine,
    queue: WorkQueue,
    table_leases: Leases,
    chosen: Sequence[str] = (),
    beside: Callable[[Wake], Beside] | None = None,
) -> Runner:
    """A runner over parts that are there already."""
    return Runner(
        ports,
        reading_ahead(settings, ports, engine),
        queue,
        table_leases,
        _mirrors(ports, chosen),
        settings.workers,
        RunnerTiming(
            idle=settings.runner_idle,
            poll=settings.runner_poll,
            keep=min(_KEEP, queue.hidden_for / _KEEPS_WHILE_HIDDEN),
            lease_delay=settings.lease_delay,
            sweep=settings.runner_sweep,
            status=settings.runner_status,
            slowest=settings.sweep_slowest,
            most_takes=settings.most_takes,
        ),
        beside,
    )


def _mirrors(ports: RootPorts, chosen: Sequence[str]) -> Callable[[], Iterable[str]]:
    return lambda: chosen or all_mirrors(ports.store)
