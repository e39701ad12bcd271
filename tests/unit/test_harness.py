"""What `./dev test` is run by: its halves, its heartbeat, the costs it shows, and test JVMs."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import cpu, halves, heartbeat, jvm

_COUNTS = "import sys; print('one'); print(); print('two', file=sys.stderr); print('1 passed')"
_WAITS = """
import pathlib, sys, time
print('begun'); print('waiting', flush=True)
while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)
print('1 passed')
"""
_PATIENCE = 60.0


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _one_half(command: list[str]) -> subprocess.Popen[str]:
    """The halves' own process, with this command as the only half, as `./dev` runs it."""
    code = (
        "import signal, sys; from tests.harness import halves\n"
        "signal.signal(signal.SIGTERM, halves.terminate)\n"
        f"sys.exit(halves.run({{'a': {command!r}}}, sys.stdout))"
    )
    return subprocess.Popen(_python(code), stdout=subprocess.PIPE, text=True)


def test_both_halves_are_heard_and_their_results_stand_together_at_the_end() -> None:
    shown = io.StringIO()
    assert halves.run({"a": _python(_COUNTS), "b": _python(_COUNTS)}, shown) == 0
    lines = shown.getvalue().splitlines()
    assert lines[-2:] == ["a │ 1 passed", "b │ 1 passed"]
    assert {"a │ one", "a │ two", "b │ one", "b │ two"} < set(lines)
    assert sum("passed" in line for line in lines) == 2


def test_failures_stand_once_more_at_the_end_below_whatever_came_after_them() -> None:
    failing = """
print('==== FAILURES ====')
print('____ test_a ____'); print('assert 1 == 2')
print('==== slowest 40 durations ===='); print('3 s test_b')
print('==== short test summary info ===='); print('SKIPPED test_c'); print('FAILED test_a')
print('==== 1 failed ====')
"""
    shown = io.StringIO()
    halves.run({"a": _python(failing), "b": _python(_COUNTS)}, shown)
    assert shown.getvalue().splitlines()[-6:] == [
        "a │ ==== FAILURES ====",
        "a │ ____ test_a ____",
        "a │ assert 1 == 2",
        "a │ FAILED test_a",
        "a │ ==== 1 failed ====",
        "b │ 1 passed",
    ]


@pytest.mark.parametrize("code", [1, 5])
@pytest.mark.parametrize("failing", ["a", "b"])
def test_one_half_that_does_not_end_well_fails_both(failing: str, code: int) -> None:
    commands = {name: _python(f"exit({code if name == failing else 0})") for name in "ab"}
    shown = io.StringIO()
    assert halves.run(commands, shown) == code
    assert f"exit code {code}" in shown.getvalue()


def test_a_half_that_was_killed_fails_both() -> None:
    killed = _python("import os; os.kill(os.getpid(), 9)")
    assert halves.run({"a": killed, "b": _python("")}, io.StringIO()) == -signal.SIGKILL


def test_a_half_is_heard_while_it_runs(tmp_path: Path) -> None:
    with _one_half([*_python(_WAITS), str(tmp_path / "go")]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a │ begun\n"  # before it may go on
        (tmp_path / "go").touch()
        assert process.stdout.readlines()[-1] == "a │ 1 passed\n"
    assert process.returncode == 0


def test_whoever_ends_the_halves_ends_each_of_them(tmp_path: Path) -> None:
    code = "import os; print(os.getpid())\n" + _WAITS
    with _one_half([*_python(code), str(tmp_path / "never")]) as process:
        assert process.stdout is not None
        half = int(process.stdout.readline().removeprefix("a │ "))
        process.terminate()
        assert process.wait(_PATIENCE) == 130
    assert not Path(f"/proc/{half}").exists()


def test_the_heartbeat_names_the_running_test_and_how_far_it_is() -> None:
    reading, writing = os.pipe()
    beat = heartbeat.Heartbeat(writing, every=0.01)
    with os.fdopen(reading) as shown:
        assert shown.readline().endswith("0 of 0 done; 0 s in collecting\n")
        beat.pytest_unconfigure()
        assert all(line.endswith("collecting\n") for line in shown)


def test_a_process_is_read_whatever_its_name() -> None:
    line = f"77 (a ) R 1 b) S 5 {'0 ' * 9}100 200 30 40 20 0"
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu.parse(line) == cpu.Process(77, 5, ended=False, seconds=370 / ticks)


def test_only_who_descends_from_a_process_is_counted_to_it() -> None:
    tree = [cpu.Process(pid, parent, False, 1) for pid, parent in [(2, 1), (3, 2), (4, 3), (9, 8)]]
    assert set(cpu.below(2, tree)) == {3, 4}


def test_the_cpu_of_a_child_counts_while_it_runs_and_after_it_has_ended() -> None:
    meter = cpu.Meter()
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True); input()"
    before = meter.seconds()
    with subprocess.Popen(_python(busy), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        meter.observed()
        living = meter.seconds() - before
        child.communicate(b"\n")
    ended = meter.seconds() - before
    assert living >= 0.4
    assert living <= ended + 0.05
    assert ended < living + 0.4


def test_the_dearest_folder_comes_first_and_the_sum_last() -> None:
    costs = {"cheap": cpu.Cost(2, 9.0, 1.0), "dear": cpu.Cost(1, 1.0, 1500.0)}
    assert [line.split() for line in cpu.table(costs)[1:]] == [
        ["dear", "1", "1.0", "1500.0"],
        ["cheap", "2", "9.0", "1.0"],
        ["all", "3", "10.0", "1501.0"],
    ]


def test_the_plugins_report_costs_and_leave_the_result_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(): pass")
    plugins = ["-p", "tests.harness.cpu", "-p", "tests.harness.heartbeat"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--rootdir", str(tmp_path), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "1 passed" in lines[-1]
    assert [line.split()[:2] for line in lines if line.startswith(("test_x", "all"))] == [
        ["test_x.py", "."],
        ["test_x.py", "1"],
        ["all", "1"],
    ]


def test_what_somebody_says_to_their_jvm_wins_over_ours() -> None:
    shown = jvm.quick({jvm.DRIVER: "-Xss1m", jvm.LAUNCHER: "-Xss2m"})
    assert shown[jvm.DRIVER].endswith(" -Xss1m")
    assert shown[jvm.LAUNCHER].endswith(" -Xss2m")


def test_the_processes_that_tests_start_inherit_the_quick_jvm() -> None:
    for name in (jvm.DRIVER, jvm.LAUNCHER):
        assert "-XX:TieredStopAtLevel=1" in os.environ[name]
