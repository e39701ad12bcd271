"""A relay's process is killed at every point that it has: nothing is lost, nothing lands twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from tests.cdc.relay.killed import HISTORY, POINTS, SURVIVED, ends, main
from tests.cdc.relay.test_relay import assert_follows, document, folder
from tests.publishing.zones import ZONE, archive_applied, numbers

_PATIENCE = 20.0
_FORKS = multiprocessing.get_context("forkserver")
"""Of a process that has imported all: a child of it costs a tenth of one that begins anew."""
_FORKS.set_forkserver_preload(["pytest", "tests.cdc.relay.killed"])


@pytest.mark.parametrize("point", [point for point in POINTS if point != "never"])
def test_another_goes_on_where_it_was_killed(point: str, tmp_path: Path) -> None:
    deaths = []
    # Each second time it is reached, so that every kind of file is among them.
    for count in range(1, 40, 2):
        ended = killed(root := zone(tmp_path / str(count)), point, count)
        if ended == SURVIVED:
            break
        assert ended == -signal.SIGKILL
        deaths.append(count)
        assert_all_landed(root)
    assert len(deaths) >= 3


@pytest.mark.parametrize(("count", "archived"), [(1, False), (2, True), (4, False), (7, True)])
def test_one_that_stalls_lands_nothing_when_it_wakes_behind_another(
    count: int, archived: bool, tmp_path: Path
) -> None:
    root = zone(tmp_path)
    stalled = started(root, "after staging", count, "SIGSTOP")
    try:
        assert os.WIFSTOPPED(os.waitpid(stalled.pid, os.WUNTRACED)[1])
        assert_all_landed(root)
        store = LocalStore(root)
        if archived:
            for table in HISTORY:
                archive_applied(store, folder(TablePath("app", table)))
        before = {table: numbers(store, folder(TablePath("app", table))) for table in HISTORY}
        stalled.send_signal(signal.SIGCONT)
        assert stalled.wait(_PATIENCE) == SURVIVED
        assert before == {
            table: numbers(store, folder(TablePath("app", table))) for table in HISTORY
        }
        assert_all_landed(root)
    finally:
        stalled.kill()
        stalled.wait()


def test_nobody_is_killed(tmp_path: Path) -> None:
    assert_all_landed(zone(tmp_path))


def zone(root: Path) -> Path:
    (root / ZONE).mkdir(parents=True)
    return root


def killed(root: Path, point: str, count: int) -> int | None:
    """Its exit code."""
    process = _FORKS.Process(target=ends, args=(root, point, count, signal.SIGKILL))
    process.start()
    process.join(_PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
        raise TimeoutError(f"it neither ended nor was killed within {_PATIENCE:g} s")
    return process.exitcode


def started(root: Path, point: str, count: int, how: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.cdc.relay.killed", str(root), point, str(count), how]
    return subprocess.Popen(words)


def assert_all_landed(root: Path) -> None:
    """By another relay, which begins with what the one before has left."""
    assert main(root, "never", 1) == 0
    store = LocalStore(root)
    assert not document(store).stopped
    for table, history in HISTORY.items():
        assert_follows(store, TablePath("app", table), history)
