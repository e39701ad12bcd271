"""A runner that is killed amid a stream is followed by another: every change is applied once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from openmirror.ports import Step
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.wiring import root_ports
from tests.cdc.relay.killed import EVENTS, HISTORY, SURVIVED
from tests.cdc.relay.killed_runner import MIRROR, PATIENCE, TableFolder, applied, folders
from tests.cdc.relay.test_relay import assert_follows, document
from tests.publishing.zones import ZONE, numbers

DEATHS = (
    ("after staging", 2),
    (Step.DECIDED, 1),
    ("after a rename", 1),
    (Step.COMMITTED, 1),
    ("after the document", 1),
    (Step.BEFORE_COMMIT, 1),
)
"""One runner after the other, each where the one before has left it."""
_KILLED_AT_LEAST = 5
"""Each kind of point once."""


def test_each_that_is_killed_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    declare(tmp_path)
    for killed, (point, count) in enumerate(DEATHS):
        code = ended(tmp_path, point, count)
        assert_applied_in_order(tmp_path)
        if code == SURVIVED:
            # Its relay was so far ahead of its commits that one before it had landed all.
            assert killed >= _KILLED_AT_LEAST, (point, count)
            break
        assert code == -signal.SIGKILL, (point, count)
    assert ended(tmp_path, "never", 1) == 0
    assert_applied_in_order(tmp_path)
    ports = root_ports(Settings.load({}, {"root": str(tmp_path)}))
    assert document(ports.store).complete_to == len(EVENTS)
    for path, folder in folders():
        assert_follows(ports.store, path, HISTORY[path.table])
        landed = numbers(ports.store, folder)
        assert len(landed) > 1
        assert applied(ports, TableFolder(MIRROR, path)) == landed


def declare(root: Path) -> None:
    (root / ZONE).mkdir(parents=True)
    streams = [{"topic": "kafka://broker:9092/shop", "trigger": "0.2s"}]
    path = root / layout.mirror_settings(MIRROR)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"openmirror": {"streams": streams}}))


def ended(root: Path, point: str, count: int) -> int:
    words = [sys.executable, "-m", "tests.cdc.relay.killed_runner", str(root), point, str(count)]
    process = subprocess.Popen(words)
    try:
        return process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def assert_applied_in_order(root: Path) -> None:
    """No file is passed over or applied twice, whenever the process has died."""
    ports = root_ports(Settings.load({}, {"root": str(root)}))
    for path, folder in folders():
        done = applied(ports, TableFolder(MIRROR, path))
        assert done == numbers(ports.store, StorePath(folder))[: len(done)]
