"""An engine that reads while it commits, where the settings want one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from openmirror.ports import TableEngine
from openmirror.reconcile.reading_ahead import ReadingAhead
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings


def reading_ahead(settings: Settings, ports: RootPorts, engine: TableEngine) -> TableEngine:
    """The engine for those who apply batches; `ports` are what they observe tables by."""
    if not settings.read_ahead:
        return engine
    threads = ThreadPoolExecutor(settings.workers, thread_name_prefix="reading-ahead")
    return ReadingAhead(ports, engine, settings.workers, threads)
