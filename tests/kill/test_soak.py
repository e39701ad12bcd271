"""Drains that are killed at any moment, while a publisher goes on: nothing twice, nothing lost."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from openmirror.runtime.sweeping import clean
from tests.kill.publishing import Published
from tests.kill.runners import kill_group, output_of, run_to_end, runner
from tests.zone import MIRROR, Mirror, Zone, bag

_KILLS = 24
_LATEST_KILL = 20.0
"""Seconds after the start of a drain; on a slow machine it may not have begun anything by then."""
_LATEST_KILL_AT_WORK = 4.0
"""Seconds after a drain has written a control document, or committed."""
_CLEANS = 0.25
"""Part of the processes that clean instead of draining; they live for a second only."""
_LATEST_KILL_OF_A_CLEANING = 1.2


class _Publishing(threading.Thread):
    """Adds files to tables, and re-creates folders, until it is asked to end."""

    def __init__(self, tables: list[Published], seed: int) -> None:
        super().__init__(name="publisher", daemon=True)
        self._tables = tables
        self._draw = random.Random(seed)
        self._ending = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._ending.wait(self._draw.uniform(0.2, 2.5)):
                self._act(self._draw.choice(self._tables))
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
            self.failure = error

    def end(self) -> None:
        self._ending.set()
        self.join()
        if self.failure is not None:
            raise self.failure

    def _act(self, table: Published) -> None:
        if table.last and self._draw.random() < 0.12:
            table.delete()
            # Sometimes long enough for a drain to drop it.
            self._ending.wait(self._draw.choice([0.0, 0.0, 15.0]))
        table.send(self._draw.randint(1, 3))


def _start_and_kill(zone: Zone, draw: random.Random) -> bool:
    """One process that dies at a moment of its own; False when it had ended before."""
    cleans = draw.random() < _CLEANS
    # Some are killed whatever they do, which on a slow machine is mostly starting.
    sign = None if cleans else draw.choice([None, _documents, _commits])
    latest = _LATEST_KILL_AT_WORK if sign else _LATEST_KILL
    delay = draw.uniform(0, _LATEST_KILL_OF_A_CLEANING if cleans else latest)
    leaves_jvm = draw.random() < 0.5
    before = sign and sign(zone)
    words = ("openmirror.cli", "clean" if cleans else "drain", "--root", str(zone.root))
    with runner(zone, *words) as process:
        while sign and process.poll() is None and sign(zone) == before:
            time.sleep(0.05)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
            return False
        if leaves_jvm:
            # It notices only after a moment, and may commit what it has begun.
            process.kill()
            time.sleep(draw.uniform(0, 2))
        else:
            kill_group(process)
    return True


def _documents(zone: Zone) -> set[tuple[str, int]]:
    """All control documents as they are now."""
    return _files(zone.root / "lake" / MIRROR / "_openmirror" / "folders", "*.json")


def _commits(zone: Zone) -> set[tuple[str, int]]:
    """All commits of all tables."""
    return _files(zone.root / "lake" / MIRROR / "Tables", "_delta_log/[0-9]*.json")


def _files(folder: Path, pattern: str) -> set[tuple[str, int]]:
    found = set()
    for file in folder.rglob(pattern):
        with suppress(FileNotFoundError):
            found.add((str(file), file.stat().st_mtime_ns))
    return found


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_tables_are_right_after_drains_were_killed_at_random_moments(
    zone: Zone, mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("OPENMIRROR_SOAK_SEED", time.time_ns() % 10**9))
    with capsys.disabled():
        print(f"\nOPENMIRROR_SOAK_SEED={seed} repeats this run's choices")  # noqa: T201
    draw = random.Random(seed)
    tables = [
        *(Published(zone, name, draw.random().hex(), keyed=True) for name in ("a", "b", "c")),
        Published(zone, "keyless", draw.random().hex(), keyed=False),
    ]
    for table in tables:
        table.send(1)
    publisher = _Publishing(tables, seed)
    publisher.start()
    kills = 0
    while kills < _KILLS:
        kills += _start_and_kill(zone, draw)
        assert publisher.is_alive(), publisher.failure
    publisher.end()
    assert len(_commits(zone)) > len(tables), "they died too early to mean anything"

    for table in tables:
        table.send(1)
    assert run_to_end(zone, "openmirror.cli", "drain", "--root", str(zone.root)) == 0, output_of(
        zone
    )
    for table in tables:
        assert mirror.observed(table.name).applied == table.last
        assert bag(mirror.rows(table.name)) == bag(table.expected()), f"{table.name}, seed {seed}"
    clean(mirror.ports, [MIRROR])
    for table in tables:
        landed, archived = table.where_files_are()
        assert landed == [table.last], f"{table.name}, seed {seed}"
        assert archived == list(range(1, table.last)), f"{table.name}, seed {seed}"
