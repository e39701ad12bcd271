"""The app as `./dev package` packs it, with nothing else of the checkout to be found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openmirror.ports import WorkItem
from standins.functions_host import FunctionsHost, host
from tests.functions.conftest import Publisher, Queues
from tests.functions.test_app import TRIGGERS
from tests.harness.publishing import table

ROOT = Path(__file__).parents[2]

# Loaded before anything else of the process. The checkout is installed in place, which puts it on
# the path of every process here, and no process in Azure has it.
_WITHOUT_CHECKOUT = f"""
import sys
sys.path[:] = [place for place in sys.path if place.rstrip("/") != {str(ROOT)!r}]
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed")
    script = (
        "import sys; from pathlib import Path; from release.archive import *; "
        "from release.contents import app_files; root, out = map(Path, sys.argv[1:]); "
        "write_folder(out / 'functions', contents(root, app_files(root)))"
    )
    subprocess.run([sys.executable, "-c", script, ROOT, out], cwd=ROOT, check=True)
    return out / "functions"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that make a process of Python forget the checkout."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "sitecustomize.py").write_text(_WITHOUT_CHECKOUT)
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def app(settings: dict[str, str], packed: Path, alone: dict[str, str]) -> Iterator[FunctionsHost]:
    with host({**settings, **alone}, packed) as running:
        yield running


def test_a_process_without_the_checkout_finds_nothing_of_it(
    packed: Path, alone: dict[str, str]
) -> None:
    script = (
        "import importlib.util as u, json, sys; sys.path.insert(0, sys.argv[1]); "
        "print(json.dumps([u.find_spec(n) is not None for n in "
        "('function_app', 'openmirror', 'openmirror.cli', 'spark_jobs', 'standins', 'tests')]))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script, packed],
        cwd=packed,
        env={"PATH": os.environ["PATH"], **alone},
        capture_output=True,
        text=True,
    )
    assert json.loads(shown.stdout) == [True, True, False, False, False, False], shown.stderr


def test_the_runtime_indexes_every_function_of_the_packed_app(app: FunctionsHost) -> None:
    assert set(TRIGGERS) <= set(app.functions)
    assert "status" in app.functions


def test_the_packed_app_sweeps_and_shows_its_page_with_its_version(
    app: FunctionsHost, publisher: Publisher, queues: Queues, root: Path
) -> None:
    publisher.metadata()
    publisher.land(1)
    assert app.timer("sweep").error is None
    woken = {work_item.folder for work_item in queues.wake_ups() if isinstance(work_item, WorkItem)}
    assert table("m", publisher.table) in woken
    assert (root / "landing" / "m" / "Files" / "Monitoring" / "tables.json").exists()
    page = app.http("status").value["body"]
    assert publisher.table in page
    assert '<meta name="generator" content="openmirror ' in page
