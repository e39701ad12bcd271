"""Who may import whom (docs/ARCHITECTURE.md, Layers), read from the source of every module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.layers import FORMS, LAYERS, PACKAGE, ROOT, Module, breaches, modules, table

PURE = ("protocol", "errors", "table", "plan", "views", "ports")
"""Layers that run without any package installed, but for what reads mirroring.json."""


@pytest.mark.parametrize("room", sorted(room for layer in LAYERS for room in layer.rooms))
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    found = [module for module in modules("openmirror") if module.room == room]
    assert found
    assert not breaches(found)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_the_product_uses_what_wiring_built(form: str) -> None:
    found = modules(form)
    assert found
    assert not breaches(found)


def test_every_room_stands_in_one_layer_and_every_layer_in_the_package() -> None:
    named = [room for layer in LAYERS for room in layer.rooms]
    assert sorted(named) == sorted({module.room for module in modules("openmirror")})


def test_no_room_of_the_product_imports_what_stands_in_for_azure() -> None:
    assert not [m.path for m in modules("openmirror") if "standins" in m.source.split()]


PLANTED = [
    ("openmirror/protocol/names.py", "from openmirror.plan import plan", "plan is not below"),
    ("openmirror/protocol/names.py", "import pyarrow", "no use for pyarrow"),
    ("openmirror/plan/cut.py", "from openmirror import settings", "settings is not below"),
    ("openmirror/reconcile/apply.py", "from openmirror.stores import local", "is not below"),
    ("openmirror/spark/engine.py", "from openmirror.reconcile import apply", "do not know of each"),
    ("openmirror/stores/memory/files.py", "import azure.storage.blob", "another SDK"),
    ("openmirror/deployment/verify.py", "import azure.mgmt.web", "another SDK"),
    ("openmirror/plan/cut.py", "from . import facts", "absolute"),
    ("openmirror/plan/cut.py", "def f():\n    import requests", "no use for requests"),
    ("openmirror/cli/app.py", "from openmirror.nowhere import x", "no room nowhere"),
    ("openmirror/novel/x.py", "from openmirror.plan import plan", "stands in no layer"),
    ("functions/sweep.py", "from openmirror.cli import app", "not for this form"),
    ("functions/sweep.py", "import pyspark", "not for this form"),
    ("spark_jobs/run.py", "from functions import sweep", "not for this form"),
]


@pytest.mark.parametrize(("path", "line", "why"), PLANTED)
def test_a_planted_breach_is_found_and_nothing_else(path: str, line: str, why: str) -> None:
    file = ROOT / path
    source = file.read_text() if file.exists() else ""
    assert not breaches([Module(path, source)])
    (found,) = breaches([Module(path, f"{source}\n{line}\n")])
    assert why in found


def test_the_pure_layers_run_on_a_bare_interpreter() -> None:
    rooms = [room for layer in LAYERS if layer.name in PURE for room in layer.rooms]
    names = [
        "openmirror." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for room in rooms
        if room != "mirroring"  # reads mirroring.json with pydantic
        for path in (sorted((PACKAGE / room).rglob("*.py")) or [PACKAGE / f"{room}.py"])
    ]
    # -I and -S: no environment, no site-packages, nothing that happens to be installed.
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {', '.join(names)}"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_table_in_the_documents_is_the_one_that_is_held() -> None:
    shown = (Path(ROOT) / "docs" / "ARCHITECTURE.md").read_text()
    assert table() in shown, "write it anew: python -m tests.house.layers"
