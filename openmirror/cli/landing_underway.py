"""A landing zone while streams land in it, with or without the mirror that applies it."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from openmirror.cli.console import progress_console, say
from openmirror.cli.landing_target import LandingTarget
from openmirror.cli.named_wait import NamedWait
from openmirror.cli.stream_lines import StreamLines
from openmirror.protocol.names import TableFolder
from openmirror.runtime.stop_signals import AFTER_BATCHES, exit_now, stop_signals

if TYPE_CHECKING:
    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.cdc.stream_zone import StreamZone
    from openmirror.cli.reporter import Reporter
    from openmirror.runtime.daemon import Daemon
    from openmirror.settings import Settings

SECONDS_TO_STOP = 10.0
_STARTING = "starting Spark, which the first batch waits for"
_ABANDONED = "abandoned a batch; the next run applies it, exactly once"


class LandingUnderway(Protocol):
    """A zone that is ready for streams, for as long as the block lasts."""

    @property
    def zone(self) -> StreamZone:
        """Where they land."""
        ...

    @property
    def spark(self) -> Any:
        """A SparkSession, which is only handed on here; None where nothing needs one."""
        ...

    @property
    def lines(self) -> StreamLines:
        """What the relays do, for people."""
        ...

    @property
    def stop(self) -> threading.Event:
        """Set when it is to end."""
        ...

    def say(self, text: str) -> None:
        """A line for people."""
        ...

    def landed(self, report: BatchReport) -> None:
        """Wake the tables that got rows, and say what there is to say."""
        ...

    def live(self) -> AbstractContextManager[object]:
        """Show what is done just now, where a terminal can."""
        ...

    def serve(self, seconds: float) -> None:
        """Do what is due, and wait."""
        ...

    def end(self) -> None:
        """Stop; the process may end here, where something cannot be waited for."""
        ...


@dataclass(frozen=True, kw_only=True)
class MirrorUnderway:
    """A mirror of a local root whose tables are applied by this process."""

    mirror: str
    zone: StreamZone
    spark: Any
    running: Daemon
    reporter: Reporter
    lines: StreamLines
    stop: threading.Event

    def say(self, text: str) -> None:
        self.reporter.say(text)

    def landed(self, report: BatchReport) -> None:
        for path in report.rows:
            self.running.wake(TableFolder(self.mirror, path))
        self.lines.landed(report)

    def live(self) -> AbstractContextManager[object]:
        return self.reporter.live()

    def serve(self, seconds: float) -> None:
        self.running.serve(seconds)

    def end(self) -> None:
        if self.running.stop():
            say(_ABANDONED)
            # Spark would only be in the way of ending; a process may die anywhere.
            exit_now(0)


@dataclass(frozen=True, kw_only=True)
class ZoneUnderway:
    """A zone whose mirror runs elsewhere."""

    zone: StreamZone
    spark: Any
    lines: StreamLines
    stop: threading.Event

    def say(self, text: str) -> None:
        say(text)

    def landed(self, report: BatchReport) -> None:
        self.lines.landed(report)

    def live(self) -> AbstractContextManager[object]:
        return nullcontext()

    def serve(self, seconds: float) -> None:
        self.stop.wait(seconds)

    def end(self) -> None:
        """Whatever has landed stays so."""


def begin_landing(
    parts: ExitStack,
    settings: Settings,
    target: LandingTarget,
    *,
    needs_spark: bool = True,
    verbose: bool,
) -> LandingUnderway:
    """Begin what streams need to land there; it ends with `parts`.

    Args:
        parts: ends what begins here.
        settings: of this process.
        target: where streams land.
        needs_spark: whether streams are decoded by Spark. A mirror of the local root needs it in
            any case, to apply what lands.
        verbose: whether every commit gets more than a line.
    """
    if target.mirror is None:
        return _begin_zone(parts, settings, target.zone, needs_spark=needs_spark)
    return _begin_mirror(parts, settings, target.zone, target.mirror, verbose=verbose)


def _begin_mirror(
    parts: ExitStack, settings: Settings, zone: StreamZone, mirror: str, *, verbose: bool
) -> MirrorUnderway:
    from openmirror import wiring
    from openmirror.cli.reporter import Reporter
    from openmirror.cli.tables import Names

    ports = wiring.local_ports(settings)
    reporter = Reporter(progress_console(), Names(ports.store), ports.clock, verbose=verbose)
    with NamedWait(_STARTING).named():
        spark = parts.enter_context(wiring.local_spark(settings, say))
    stop = parts.enter_context(stop_signals(message=AFTER_BATCHES))
    running = parts.enter_context(
        wiring.up(
            settings,
            replace(ports, emit=reporter),
            wiring.engine_over(settings, spark),
            mirrors=lambda: [mirror],
            wanted=lambda name: name == mirror,
        )
    )
    return MirrorUnderway(
        mirror=mirror,
        zone=zone,
        spark=spark,
        running=running,
        reporter=reporter,
        lines=StreamLines(reporter.say, time.monotonic, time.time),
        stop=stop,
    )


def _begin_zone(
    parts: ExitStack, settings: Settings, zone: StreamZone, *, needs_spark: bool
) -> ZoneUnderway:
    from openmirror.wiring.spark import rootless_spark

    spark = None
    if needs_spark:
        with NamedWait(_STARTING).named():
            spark = parts.enter_context(rootless_spark(settings, say))
    stop = parts.enter_context(stop_signals())
    lines = StreamLines(say, time.monotonic, time.time)
    return ZoneUnderway(zone=zone, spark=spark, lines=lines, stop=stop)
