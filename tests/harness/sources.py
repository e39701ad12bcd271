"""What the product's sources say, read and parsed once in a run: several tests read them all."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a module's source; whoever asks shares it, and changes nothing in it."""
    return ast.parse(source)


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All that is anywhere in it, in the order of `ast.walk`."""
    return tuple(ast.walk(parsed(source)))


@cache
def text(path: Path) -> str:
    """A file of the checkout, which no test changes."""
    return path.read_text(encoding="utf-8")
