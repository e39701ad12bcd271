"""`openmirror cdc run` in a process of its own, as anybody runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openmirror.cdc.postgresql.settings import DatabaseUrl

_SECONDS_TO_STOP = 60.0


@dataclass(frozen=True)
class Following:
    """A process that follows a database."""

    process: subprocess.Popen[bytes]
    tables: Path
    """The folder of its Delta tables, or of the landing folders where it only lands."""

    @property
    def peak_mib(self) -> float:
        """The most memory that the process itself had, without Spark's."""
        return self._kib("VmHWM") / 1024

    @property
    def mib(self) -> float:
        """The memory that it has now."""
        return self._kib("VmRSS") / 1024

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Stop the process for a block, in which the database's log grows."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _kib(self, name: str) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@contextmanager
def mirrored(url: DatabaseUrl, place: Path, trigger: str = "1s") -> Iterator[Following]:
    """Read a database, land it, and apply it to Delta tables."""
    root = place / "root"
    (root / "landing").mkdir(parents=True)
    (root / "lake").mkdir()
    tables = root / "lake" / url.database / "Tables" / "public"
    with _running(url, ["--root", str(root), "--trigger", trigger], place, tables) as following:
        yield following


@contextmanager
def landed(url: DatabaseUrl, place: Path, trigger: str = "1s") -> Iterator[Following]:
    """Read a database, and land it for a mirror that runs elsewhere: no Spark."""
    zone = place / "zone"
    zone.mkdir()
    words = ["--zone", str(zone), "--trigger", trigger]
    with _running(url, words, place, zone / "public.schema") as following:
        yield following


@contextmanager
def _running(url: DatabaseUrl, words: list[str], place: Path, tables: Path) -> Iterator[Following]:
    address = f"postgresql://{url.user}@{url.host}:{url.port}/{url.database}"
    command = [sys.executable, "-m", "openmirror.cli", "cdc", "run", address, *words]
    log = place / "following.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "PGPASSWORD": url.password},
        )
    try:
        yield Following(process, tables)
        if process.poll() is not None:
            raise RuntimeError(f"`cdc run` has ended:\n{log.read_text()[-3000:]}")
    finally:
        process.send_signal(signal.SIGINT)  # which does nothing to one that has ended
        try:
            process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
