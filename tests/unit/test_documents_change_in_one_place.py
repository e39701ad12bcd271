"""Only `plan/transitions` makes one control document out of another, as all sources show.

A call of `dataclasses.replace` is known by the fields that it sets, whatever its first argument is
called: a keyword that only the documents have says that a document is changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from openmirror.table.control import ControlDocument, IncarnationRecord, MirrorDocument
from tests.harness.sources import nodes, text

ROOT = Path(__file__).parents[2]
PRODUCT = ("openmirror", "functions", "spark_jobs")
TRANSITIONS = "openmirror/plan/transitions/"

# `version` is a field of a table's log as well: a document's is never set by anybody.
DOCUMENTS = {f.name for kind in (ControlDocument, MirrorDocument) for f in fields(kind)} - {
    "version"
}
# The pure layer may imagine another record for itself; nobody else makes one out of another.
RECORD = {field.name for field in fields(IncarnationRecord)} - {"incarnation"}
FOLDER = "folder"
"""All that the document of a table without any history has."""


def changes(source: str, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """The places where a module makes a document, or an incarnation record, of another or anew.

    `own` are fields that it may set.
    """
    found_in = nodes(source)
    names = _names(found_in)
    for call in (node for node in found_in if isinstance(node, ast.Call)):
        called = _called(call, names)
        set_here = {keyword.arg for keyword in call.keywords}
        if called == "replace":
            found = (set_here & (DOCUMENTS | RECORD)) - own
            if None in set_here and not found:
                found = {"**"}  # which fields it sets does not show
        elif called in ("ControlDocument", "MirrorDocument"):
            found = (set_here & DOCUMENTS) - own - {FOLDER, "default_schema", "zone"}
        else:
            continue
        if found:
            yield f"line {call.lineno} sets {', '.join(sorted(str(name) for name in found))}"


def _names(found_in: Iterable[ast.AST]) -> dict[str, str]:
    """What imported names stand for, whatever a module calls them."""
    return {
        alias.asname or alias.name: alias.name
        for node in found_in
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _called(call: ast.Call, names: dict[str, str]) -> str | None:
    match call.func:
        case ast.Name(name):
            return names.get(name)
        case ast.Attribute(ast.Name("dataclasses" | "copy"), "replace"):
            return "replace"
        case ast.Attribute(_, "__replace__"):
            return "replace"
        case ast.Attribute(_, "ControlDocument" | "MirrorDocument" as name):
            return name
    return None


def _modules() -> dict[str, Path]:
    paths = (path for part in PRODUCT for path in sorted((ROOT / part).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): path for path in paths}


def test_only_transitions_make_one_document_out_of_another() -> None:
    breaches = []
    for name, path in _modules().items():
        if name.startswith(TRANSITIONS):
            continue
        own = frozenset(RECORD) if name.startswith("openmirror/plan/") else frozenset()
        breaches += [f"{name}: {change}" for change in changes(text(path), own)]
    assert not breaches, "\n".join(breaches)


def test_every_transition_is_found_by_the_same_search() -> None:
    """The search is not blind: wherever documents are changed, it says so."""
    found = {
        name.removeprefix(TRANSITIONS)
        for name, path in _modules().items()
        if name.startswith(TRANSITIONS) and list(changes(text(path)))
    }
    every = {name.removeprefix(TRANSITIONS) for name in _modules() if name.startswith(TRANSITIONS)}
    assert found == every - {"__init__.py"}


@pytest.mark.parametrize(
    "planted",
    [
        "from dataclasses import replace\nreplace(control, hold=None)",
        "from dataclasses import replace\nreplace(seen.observed.control, failures=None)",
        "from dataclasses import replace as other\nother(whatever, problem=None, at=now)",
        "import dataclasses\ndataclasses.replace(document, confirmed_drops=())",
        "from dataclasses import replace\nreplace(record, archived=())",
        "from dataclasses import replace\nreplace(control, **changed)",
        "control.__replace__(request=None)",
        "from openmirror.table.control import ControlDocument\n"
        "ControlDocument(folder=f, hold=hold)",
        "from openmirror import control\ncontrol.ControlDocument(folder=f, epoch=3)",
    ],
)
def test_a_planted_change_is_noticed(planted: str) -> None:
    assert list(changes(planted))


@pytest.mark.parametrize(
    "harmless",
    [
        "from dataclasses import replace\nreplace(observed, control=control)",
        "from dataclasses import replace\nreplace(seen, observed=observed)",
        "name.replace('a', 'b')",
        "from openmirror.table.control import ControlDocument\nControlDocument(folder=f)",
    ],
)
def test_what_changes_no_document_is_left_alone(harmless: str) -> None:
    assert not list(changes(harmless))
