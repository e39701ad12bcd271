"""One mirror that is applied while a stream lands in it: what verbs about streams share."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openmirror.cli.console import progress_console, say
from openmirror.cli.named_wait import NamedWait
from openmirror.cli.stream_lines import StreamLines
from openmirror.errors import WrongRequest
from openmirror.protocol.names import TableFolder, is_reserved
from openmirror.runtime.stop_signals import AFTER_BATCHES, stop_signals
from openmirror.table.layout import landing_zone

if TYPE_CHECKING:
    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.cli.reporter import Reporter
    from openmirror.runtime.daemon import Daemon
    from openmirror.settings import Settings

_STARTING = "starting Spark, which the first batch waits for"


@dataclass(frozen=True, kw_only=True)
class MirrorUnderway:
    """A mirror whose tables are applied for as long as the block lasts."""

    mirror: str
    spark: Any
    """A SparkSession, which is only handed on here."""
    running: Daemon
    reporter: Reporter
    lines: StreamLines
    stop: threading.Event

    def landed(self, report: BatchReport) -> None:
        """Wake the tables that got rows, and say what there is to say."""
        for path in report.rows:
            self.running.wake(TableFolder(self.mirror, path))
        self.lines.landed(report)


def begin_mirror(
    parts: ExitStack, settings: Settings, mirror: str, *, verbose: bool
) -> MirrorUnderway:
    """Begin to apply one mirror; it ends with `parts`."""
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
        spark=spark,
        running=running,
        reporter=reporter,
        lines=StreamLines(reporter.say, time.monotonic, time.time),
        stop=stop,
    )


def need_mirror_name(mirror: str) -> None:
    """Raise WrongRequest for what cannot be a folder."""
    if "/" in mirror or mirror in ("", ".", "..") or is_reserved(mirror):
        raise WrongRequest(f"{mirror!r} cannot be a mirror's name: choose one with --mirror")


def make_zone(root: Path, mirror: str) -> None:
    """A mirror begins with its landing zone."""
    zone = root / landing_zone(mirror)
    if not zone.is_dir():
        zone.mkdir(parents=True)
        say(f"made the landing zone {zone}")
