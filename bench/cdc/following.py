"""The two ways to follow a database, each in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from openmirror.cdc.capture.jars import capture_class_path
from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
from openmirror.spark.jars import default_cache

_SECONDS_TO_STOP = 60.0


@contextmanager
def ours(url: DatabaseUrl, place: Path, trigger: str) -> Iterator[Path]:
    """`openmirror cdc run`, as anybody runs it; the folder of its Delta tables."""
    root = place / "root"
    (root / "landing").mkdir(parents=True)
    (root / "lake").mkdir()
    address = f"postgresql://{url.user}@{url.host}:{url.port}/{url.database}"
    words = ["cdc", "run", address, "--root", str(root), "--trigger", trigger]
    environment = {**os.environ, "PGPASSWORD": url.password}
    command = [sys.executable, "-m", "openmirror.cli", *words]
    with _running(command, place / "ours.log", environment):
        yield root / "lake" / url.database / "Tables" / "public"


@contextmanager
def by_hand(url: DatabaseUrl, place: Path) -> Iterator[Path]:
    """The loop of `bench.cdc.byhand`, over the same capture."""
    tables = place / "tables"
    settings = CaptureSettings(
        url=url,
        stream="byhand",
        spool=place / "spool",
        class_path=capture_class_path(default_cache(), print),
    )
    given = {"capture": {**asdict(settings), "spool": str(settings.spool)}, "tables": str(tables)}
    command = [sys.executable, "-m", "bench.cdc.byhand", json.dumps(given)]
    with _running(command, place / "byhand.log", dict(os.environ)):
        yield tables


@contextmanager
def _running(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"{command[2]} has ended:\n{log.read_text()[-3000:]}")
    finally:
        process.send_signal(signal.SIGINT)  # which does nothing to one that has ended
        try:
            process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
