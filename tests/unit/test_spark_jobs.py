"""The runner's command line, its log lines, and the wheel that a Databricks job installs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openmirror.plan.decisions import WaitKind
from openmirror.progress.tables import TableWaiting
from openmirror.protocol.names import TableFolder, TablePath
from spark_jobs import lines
from spark_jobs.arguments import parse
from spark_jobs.run import main, run

ROOT = Path(__file__).parents[2]


# --- Arguments ----------------------------------------------------------------------------------


def test_until_idle_is_the_default_and_continuous_an_option() -> None:
    assert not parse([], {}).continuous
    assert not parse(["--until-idle"], {}).continuous
    assert parse(["--continuous"], {}).continuous


def test_a_setting_on_the_command_line_wins_over_the_environment() -> None:
    env = {"OPENMIRROR_WORKERS": "2", "OTHER": "stays"}
    url = "https://work.queue.core.windows.net"
    given = parse(["--set", "workers=8", "--set", f"queues__queueServiceUri={url}"], env).env
    assert given == {
        "OPENMIRROR_WORKERS": "8",
        "OPENMIRROR_QUEUES__queueServiceUri": url,
        "OTHER": "stays",
    }


@pytest.mark.parametrize(
    "argv", [["--until-idle", "--continuous"], ["--set", "workers"], ["--contin"], ["more"]]
)
def test_a_wrong_command_line_ends_with_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(argv, {})
    assert ended.value.code == 2
    assert "openmirror-runner: error:" in capsys.readouterr().err


def test_a_wrong_setting_is_named_before_anything_is_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--set", "workers=none"], {}) == 1
    printed = capsys.readouterr().err
    assert "OPENMIRROR_WORKERS" in printed
    assert "Traceback" not in printed
    assert run(["--set", "workers=none", "--set", "debug=true"], {}) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "near"), [("worker", "workers"), ("OPENMIRROR_WORKERS", "workers"), ("x__y", "")]
)
def test_what_is_no_setting_is_refused(
    name: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--set", f"{name}=8"], {}) == 1
    printed = capsys.readouterr().err
    assert "no such setting" in printed
    assert f"did you mean {near}" in printed or not near


def test_a_root_without_a_queue_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path)], {}) == 1
    assert "OPENMIRROR_QUEUES__queueServiceUri" in capsys.readouterr().err


def test_a_failed_run_raises_and_a_good_one_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = iter([0, 1])
    monkeypatch.setattr("spark_jobs.run.run", lambda argv, env: next(codes))
    main()
    with pytest.raises(SystemExit):
        main()


# --- Lines --------------------------------------------------------------------------------------


def test_what_happens_is_one_line_with_time_severity_event_table_and_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = TableFolder("m", TablePath("Sales", "Orders"))
    until = datetime(2026, 1, 2, tzinfo=UTC)
    lines.log_event(TableWaiting(folder, WaitKind.GAP, 'two "words"', until))
    [line] = capsys.readouterr().err.splitlines()
    time, rest = line.split("  ", 1)
    assert datetime.fromisoformat(time).tzinfo is not None
    assert rest == (
        f"INFO     {TableWaiting.name:<24} m/Sales.schema/Orders "
        'kind=gap detail="two \\"words\\"" until=2026-01-02T00:00:00+00:00'
    )


# --- Imports and the wheel ----------------------------------------------------------------------

_MAY = frozenset(
    f"openmirror.{part}"
    for part in (
        *("errors", "runtime.stop_signals", "settings", "wiring"),
        *("progress.base", "progress.context", "progress.union"),
    )
)


def test_an_entry_point_imports_only_wiring_and_what_it_hands_over() -> None:
    for path in (ROOT / "spark_jobs").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                whole = node.module == "openmirror"
                names = [f"openmirror.{a.name}" for a in node.names] if whole else [node.module]
            for name in names:
                top = str(name).partition(".")[0]
                allowed = top in sys.stdlib_module_names or top == "spark_jobs" or name in _MAY
                assert allowed, f"{path.name} imports {name}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as the build backend of the project makes it from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


def test_the_wheel_has_both_packages_with_all_their_files_and_the_entry_point(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        [points] = [name for name in names if name.endswith("entry_points.txt")]
        assert "openmirror-runner = spark_jobs.run:main" in packed.read(points).decode()
    for package in ("openmirror", "spark_jobs"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path.relative_to(ROOT).as_posix() in names
    assert {name.partition("/")[0] for name in names if not name.startswith("openmirror-")} == {
        "openmirror",
        "spark_jobs",
    }


def test_help_runs_from_the_wheel_on_a_bare_interpreter_without_spark(wheel: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(wheel)!r}); sys.argv = ['run', '--help']\n"
        "import runpy\n"
        "try: runpy.run_module('spark_jobs.run', run_name='__main__')\n"
        "finally: print(sorted(m for m in sys.modules if m.partition('.')[0] in "
        "('pyspark', 'pydantic', 'azure', 'openmirror')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        capture_output=True,
        text=True,
        cwd=wheel.parent,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    assert "--until-idle" in done.stdout
    assert done.stdout.rstrip().endswith("[]"), "nothing else is imported for --help"


def test_the_test_builds_with_the_backend_that_the_project_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [backend] = project["build-system"]["requires"]
    assert backend in (ROOT / "constraints.txt").read_text().splitlines()
