"""A public class name means one thing in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.harness.sources import nodes, parsed, text

PACKAGE = Path(__file__).parents[2] / "openmirror"


def _is_a_class_name(name: str) -> bool:
    return name[0].isupper() and not name.isupper()


def _defined(source: str) -> Iterator[str]:
    """Public classes, and the module's aliases of types, which are written like classes."""
    for node in nodes(source):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
    for node in parsed(source).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and _is_a_class_name(target.id):
                yield target.id


def defined_twice(modules: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names that more than one place defines, with those places; of modules and their sources."""
    places = defaultdict(list)
    for module, source in modules:
        for name in _defined(source):
            places[name].append(module)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_public_classes_have_one_name() -> None:
    modules = [
        (str(path.relative_to(PACKAGE)), text(path)) for path in sorted(PACKAGE.rglob("*.py"))
    ]
    assert len(modules) > 300
    assert defined_twice(modules) == {}


def test_planted_twins_are_found_and_nothing_else() -> None:
    modules = [
        ("a.py", "class Page: ...\nclass _Own: ...\nRow = dict[str, int]\nLIMIT = 3\nclass X: ..."),
        ("b.py", "class Page: ...\nclass _Own: ...\nLIMIT = 3\nclass Y: ..."),
        ("c.py", "def f():\n    class Row: ...\n    Y = 3"),
    ]
    assert defined_twice(modules) == {"Page": ["a.py", "b.py"], "Row": ["a.py", "c.py"]}
