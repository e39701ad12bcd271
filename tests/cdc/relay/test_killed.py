"""A relay's process is killed at every point that it has: nothing is lost, nothing lands twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from tests.cdc.relay.killed import HISTORY, POINTS, SURVIVED, main
from tests.cdc.relay.test_relay import assert_follows, document
from tests.publishing.zones import ZONE

_PATIENCE = 60.0


@pytest.mark.parametrize("point", [point for point in POINTS if point != "never"])
def test_another_goes_on_where_it_was_killed(point: str, tmp_path: Path) -> None:
    deaths = 0
    while (ended := killed(root := zone(tmp_path / str(deaths)), point, deaths + 1)) != SURVIVED:
        assert ended == -signal.SIGKILL
        deaths += 1
        assert_all_landed(root)
    assert deaths >= 5


def test_nobody_is_killed(tmp_path: Path) -> None:
    assert_all_landed(zone(tmp_path))


def zone(root: Path) -> Path:
    (root / ZONE).mkdir(parents=True)
    return root


def killed(root: Path, point: str, count: int) -> int:
    words = [sys.executable, "-m", "tests.cdc.relay.killed", str(root), point, str(count)]
    return subprocess.run(words, check=False, timeout=_PATIENCE).returncode


def assert_all_landed(root: Path) -> None:
    """By another relay, which begins with what the one before has left."""
    assert main(root, "never", 1) == 0
    store = LocalStore(root)
    assert not document(store).stopped
    for table, history in HISTORY.items():
        assert_follows(store, TablePath("app", table), history)
