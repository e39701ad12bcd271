"""Records with many fields are made by name, so that no two values of one type change places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.harness.sources import nodes, text

ROOT = Path(__file__).parents[2]
PRODUCT = ("openmirror", "functions", "spark_jobs", "standins", "release")
MOST_BY_POSITION = 5


def _called(decorator: ast.expr) -> tuple[str, dict[str | None, ast.expr]]:
    """A decorator's last name and its keywords."""
    keywords = {}
    if isinstance(decorator, ast.Call):
        keywords = {keyword.arg: keyword.value for keyword in decorator.keywords}
        decorator = decorator.func
    return ast.unparse(decorator).rpartition(".")[2], keywords


def _is_by_name(keywords: dict[str | None, ast.expr]) -> bool:
    given = keywords.get("kw_only")
    return isinstance(given, ast.Constant) and given.value is True


def _fields(record: ast.ClassDef) -> list[ast.AnnAssign]:
    lines = (line for line in record.body if isinstance(line, ast.AnnAssign))
    return [line for line in lines if not ast.unparse(line.annotation).startswith("ClassVar")]


def wide_records(source: str) -> Iterator[str]:
    """Dataclasses and named tuples of a module that take more fields by position than allowed."""
    for node in nodes(source):
        if not isinstance(node, ast.ClassDef) or len(_fields(node)) <= MOST_BY_POSITION:
            continue
        decorators = dict(map(_called, node.decorator_list))
        is_positional = "dataclass" in decorators and not _is_by_name(decorators["dataclass"])
        if is_positional or any(ast.unparse(base).endswith("NamedTuple") for base in node.bases):
            yield node.name


def test_a_record_of_more_than_five_fields_is_made_by_name() -> None:
    paths = [path for part in PRODUCT for path in sorted((ROOT / part).rglob("*.py"))]
    modules = [path for path in paths if "node_modules" not in path.parts]
    assert len(modules) > 300
    found = [f"{m.relative_to(ROOT)}: {name}" for m in modules for name in wide_records(text(m))]
    assert not found, "\n".join(found)


def test_planted_records_are_found_exactly_where_they_are_too_wide() -> None:
    fields = [f"    {name}: int\n" for name in "abcdef"]
    planted = {
        "Bare": "@dataclass\nclass Bare:\n" + "".join(fields),
        "Frozen": "@dataclass(frozen=True)\nclass Frozen:\n" + "".join(fields),
        "Dotted": "@dataclasses.dataclass(kw_only=False)\nclass Dotted:\n" + "".join(fields),
        "Tuple": "class Tuple(NamedTuple):\n" + "".join(fields),
        "Five": "@dataclass\nclass Five:\n    limit: ClassVar[int] = 3\n" + "".join(fields[:5]),
        "ByName": "@dataclass(frozen=True, kw_only=True)\nclass ByName:\n" + "".join(fields),
        "NoRecord": "class NoRecord:\n" + "".join(fields),
    }
    found = list(wide_records("\n".join(planted.values())))
    assert found == ["Bare", "Frozen", "Dotted", "Tuple"]
