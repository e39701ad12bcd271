"""The one place where things are built from settings."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from openmirror.adapters.deltalog import LogReplay
from openmirror.adapters.local.doorbell import LocalDoorbell
from openmirror.adapters.local.lock import hold_root
from openmirror.adapters.local.store import LocalStore
from openmirror.adapters.parquet import ParquetInspector
from openmirror.errors import CannotStart, NotThere
from openmirror.ports import HistoryReader, Progress, Steps, TableEngine, no_steps
from openmirror.protocol.names import TableFolder
from openmirror.services.draining import SECONDS_TO_FINISH
from openmirror.services.lanes import Lanes
from openmirror.services.parts import Parts, nobody_watches
from openmirror.services.reporting import publish
from openmirror.services.running import Attendant
from openmirror.services.sweeping import clean, sweep
from openmirror.services.timing import Repeating
from openmirror.settings import Settings, limits

Watch = Callable[[Progress], None]
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


def local_parts(
    settings: Settings, steps: Steps = no_steps, watch: Watch = nobody_watches
) -> Parts:
    """A local root seen through its ports: all that does not need Spark."""
    store = LocalStore(local_root(settings), steps)
    return Parts(
        store=store,
        inspector=ParquetInspector(store),
        logs=LogReplay(store),
        clock=utc_now,
        limits=limits(settings),
        steps=steps,
        watch=watch,
    )


def history_reader(parts: Parts) -> HistoryReader:
    """Reads what our commits wrote about themselves."""
    return LogReplay(parts.store)


@contextmanager
def locked(settings: Settings, say: Say = say_nothing) -> Iterator[None]:
    """Hold the local root alone: for the verbs that move tables or files."""
    with hold_root(local_root(settings), say=say):
        yield


@contextmanager
def local_engine(settings: Settings, say: Say = say_nothing) -> Iterator[TableEngine]:
    """Spark in this process, stopped at the end; raises CannotStart when it cannot be had."""
    root = local_root(settings)
    _need_java()
    # Only here: importing pyspark takes longer than most verbs do.
    from openmirror.spark.engine import SparkEngine
    from openmirror.spark.jars import JarsError, class_path
    from openmirror.spark.session import start_spark

    cache = settings.cache / "jars" if settings.cache else None
    try:
        jars = class_path(cache, say)
    except JarsError as error:
        raise CannotStart(f"{error}. {error.remedy}") from error
    try:
        spark = start_spark(
            master=settings.spark_master,
            driver_memory=settings.driver_memory,
            class_path=jars,
        )
    except RuntimeError as error:
        raise CannotStart(f"Spark does not start: {error}") from error
    try:
        yield SparkEngine(spark, str(root))
    finally:
        spark.stop()


_JAVA = ("17", "21")


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "")
    remedy = (
        "Spark needs Java 17 or 21: sudo apt-get install openjdk-17-jre-headless, "
        "or set JAVA_HOME to where one is"
    )
    if not java.is_file():
        raise CannotStart(f"there is no Java{f' in JAVA_HOME={home}' if home else ''}. {remedy}")
    release = java.resolve().parent.parent / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    version = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    if version and version[1] not in _JAVA:
        raise CannotStart(f"{java} is Java {version[1]}. {remedy}")


class Up:
    """Everything of `openmirror up` that runs beside the main thread."""

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        engine: TableEngine,
        mirrors: Callable[[], Iterable[str]],
    ) -> None:
        self._doorbell = LocalDoorbell()
        self._lanes = Lanes(Attendant(parts, engine), settings.lanes)
        # The sweep tells of what it cannot look at; one voice is enough.
        quiet = replace(parts, watch=nobody_watches)
        self._sweep = Repeating(
            parts, "sweep", settings.sweep_interval, lambda: sweep(parts, mirrors(), self._doorbell)
        )
        self._others = (
            Repeating(parts, "cleanup", settings.cleanup_interval, lambda: clean(parts, mirrors())),
            Repeating(
                parts, "status", settings.status_interval, lambda: _publish(quiet, mirrors())
            ),
        )

    def serve(self, seconds: float) -> None:
        """Hand rings to the lanes for so long; raises what nothing can go on after."""
        folder = self._doorbell.take(seconds)
        if folder is not None:
            self._lanes.ring(folder)
        self._lanes.check()
        for timer in (self._sweep, *self._others):
            timer.check()

    @property
    def doorbell(self) -> LocalDoorbell:
        """Where changes that were heard of ring."""
        return self._doorbell

    def sweep(self) -> None:
        """Look at every table soon."""
        self._sweep.now()

    def stop(self) -> frozenset[TableFolder]:
        """Stop within seconds; answers the tables whose batch had to be abandoned."""
        abandoned = self._lanes.stop(SECONDS_TO_FINISH)
        for timer in (self._sweep, *self._others):
            timer.stop(1.0)
        return abandoned


def _publish(parts: Parts, mirrors: Iterable[str]) -> None:
    for mirror in mirrors:
        try:
            publish(parts, mirror)
        except NotThere:
            continue  # the sweep says so; nothing may be written where a zone is missing


@contextmanager
def up(
    settings: Settings,
    parts: Parts,
    engine: TableEngine,
    mirrors: Callable[[], Iterable[str]],
    wanted: Callable[[str], bool],
) -> Iterator[Up]:
    """Start everything that `openmirror up` runs; the caller serves it, then stops it."""
    from openmirror.adapters.local.watching import LandingWatch

    running = Up(settings, parts, engine, mirrors)

    def trouble(reason: str) -> None:
        parts.watch(Progress(None, "trouble", {"what": "watching", "reason": reason}))

    watching = LandingWatch(
        local_root(settings),
        running.doorbell,
        wanted=wanted,
        sweep=running.sweep,
        trouble=trouble,
    )
    with watching:
        yield running
