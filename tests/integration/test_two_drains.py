"""Two drains of one local root: one works, the other is refused, and a dead one is in nobody's way.

The first "drain" is a small program that takes the lock as drain does, so that no second Spark is
needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature

import pytest

from openmirror.stores.local.lock import hold_root
from openmirror.wiring import local
from tests.harness.command_line import run
from tests.kill.runners import ENVIRONMENT, output_of, runner
from tests.zone import MIRROR, Zone, read_delta

_LOCKED = 4
_HOLDER = """\
import sys
from pathlib import Path
from openmirror.stores.local.lock import hold_root
with hold_root(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.read()
"""
_PATIENCE = 60.0


@contextmanager
def _holder(zone: Zone) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the root for as long as it runs."""
    program = zone.root.parent / "another_drain.py"
    program.write_text(_HOLDER)
    process = subprocess.Popen(
        [sys.executable, str(program), str(zone.root)],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def _publish(zone: Zone) -> None:
    zone.metadata("t", {"keyColumns": ["id"]})
    zone.put("t", 1, {"__rowMarker__": [4, 4], "id": [1, 2], "v": ["a", "b"]})


def test_a_second_drain_is_refused_with_exit_code_4_and_names_the_first(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert signature(hold_root).parameters["wait_seconds"].default == 10.0
    monkeypatch.setattr(local, "hold_root", lambda root, _, say: hold_root(root, 0.2, say))
    _publish(zone)
    with _holder(zone) as first:
        refused = run("drain", root=zone.root, columns=10_000)
        assert first.poll() is None
    assert refused.exit_code == _LOCKED, refused.stderr
    assert refused.stdout == ""
    waiting, message = refused.stderr.splitlines()
    assert "waiting up to 0.2 s" in waiting
    assert f"{zone.root} is in use by process {first.pid}: " in message
    assert "another_drain.py" in message, "the other must be known by its command line"
    assert "stop it" in message
    assert "Traceback" not in refused.stderr
    assert not (zone.root / "lake" / MIRROR / "Tables").exists()


@pytest.mark.spark
@pytest.mark.soak
def test_a_drain_that_waits_proceeds_once_the_holder_was_killed(zone: Zone) -> None:
    _publish(zone)
    words = ("openmirror.cli", "drain", "--root", str(zone.root))
    with _holder(zone) as first, runner(zone, *words) as second:
        while "waiting up to" not in output_of(zone):
            assert second.poll() is None, output_of(zone)
        first.kill()
        assert second.wait(_PATIENCE * 4) == 0, output_of(zone)
    rows = read_delta(zone.root / "lake" / MIRROR / "Tables" / "dbo" / "t")
    assert sorted((row["id"], row["v"]) for row in rows) == [(1, "a"), (2, "b")]


def test_status_pause_and_skip_work_beside_a_process_that_holds_the_root(zone: Zone) -> None:
    _publish(zone)
    zone.put("t", 3, {"id": [3], "v": ["c"]})
    with _holder(zone):
        paused = run("pause", "dbo.t", "--why", "just so", root=zone.root)
        skipped = run("skip", "dbo.t", "--through", "2", "--why", "lost", root=zone.root)
        status = run("status", "--json", root=zone.root)
    for done in (paused, skipped, status):
        assert done.exit_code == 0, done.stderr
    assert "held" in paused.stderr
    assert "passes over what is missing up to 2" in skipped.stderr
    assert [table["status"] for table in json.loads(status.stdout)["data"]] == ["Stopped"]
