"""A local root is held by one process, and by nobody once that process is dead."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from openmirror.errors import CannotStart, RootLocked
from openmirror.stores.local.lock import hold_root

HOLDER = """
import sys
from pathlib import Path
from openmirror.stores.local.lock import hold_root
with hold_root(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.readline()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the root until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
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


def test_a_second_process_is_refused_and_learns_who_holds_the_root(tmp_path: Path) -> None:
    with (
        holder(tmp_path) as process,
        pytest.raises(RootLocked) as refused,
        hold_root(tmp_path, wait_seconds=0),
    ):
        pytest.fail("two processes hold one root")
    message = str(refused.value)
    assert f"process {process.pid}:" in message
    assert str(tmp_path) in message
    assert "stop it" in message


def test_a_root_is_free_after_its_holder_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        with hold_root(tmp_path, wait_seconds=0):
            assert f"process {os.getpid()}:" in (tmp_path / ".openmirror.lock").read_text()


def test_a_root_is_free_after_its_holder_let_go_and_runs_on(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "released\n"
        with hold_root(tmp_path, wait_seconds=0):
            assert process.poll() is None


def test_whoever_waits_gets_the_root_when_it_becomes_free_and_says_once_that_it_waits(
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    with holder(tmp_path) as process:

        def say(text: str) -> None:
            lines.append(text)
            process.kill()

        with hold_root(tmp_path, wait_seconds=60, say=say):
            pass
    assert len(lines) == 1
    assert f"process {process.pid}:" in lines[0]


def test_two_threads_of_one_process_do_not_hold_a_root_at_once(tmp_path: Path) -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with hold_root(tmp_path):
            held.set()
            done.wait(60)

    thread = Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        with pytest.raises(RootLocked), hold_root(tmp_path, wait_seconds=0.2):
            pytest.fail("two threads hold one root")
    finally:
        done.set()
        thread.join()


def test_a_root_is_free_after_work_in_it_failed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold_root(tmp_path):
        raise ZeroDivisionError
    with hold_root(tmp_path, wait_seconds=0):
        pass


def test_a_child_that_outlives_the_holder_does_not_hold_the_root(tmp_path: Path) -> None:
    code = HOLDER.replace(
        'print("holding", flush=True)',
        "import subprocess\n"
        '    child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)\n'
        '    print("holding", flush=True)\n'
        "    print(child.pid, flush=True)",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.communicate()
        with hold_root(tmp_path, wait_seconds=0):
            os.kill(child, 0)
    finally:
        os.kill(child, 9)


def test_a_missing_root_cannot_be_held_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="--root"), hold_root(tmp_path / "typo"):
        pytest.fail("held what is not there")
    assert not (tmp_path / "typo").exists()


def test_a_lock_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / ".openmirror.lock").mkdir()
    with pytest.raises(CannotStart, match=r"openmirror\.lock"), hold_root(tmp_path):
        pytest.fail("held a folder")
