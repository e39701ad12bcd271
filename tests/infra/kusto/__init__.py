"""The Kusto language service: what is wrong with a query, what it answers with, its syntax tree."""

from __future__ import annotations

import atexit
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from standins.azurite import NODE

_HERE = Path(__file__).parent
Tree = list[Any]
"""`[kind, text]` of a token, `[kind, [children], type]` of a node."""


@dataclass(frozen=True)
class Analysed:
    """A query as the language service understood it."""

    diagnostics: tuple[str, ...]
    columns: Mapping[str, str]
    """What it answers with: names and types."""
    tree: Tree


def analyse(
    queries: Mapping[str, str], tables: Mapping[str, Mapping[str, str]]
) -> dict[str, Analysed]:
    """All of these queries, against the columns of these tables."""
    asked = {"tables": {name: dict(c) for name, c in tables.items()}, "queries": queries}
    process = _service()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(asked)}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise ChildProcessError(f"the Kusto language service ended with {process.wait()}")
    return {
        name: Analysed(tuple(one["diagnostics"]), one["columns"], one["tree"])
        for name, one in json.loads(answer).items()
    }


@cache
def _service() -> subprocess.Popen[str]:
    """One process for all who ask, since it takes seconds to start; it ends with this one."""
    if not (_HERE / "node_modules" / "installed").exists():
        raise FileNotFoundError("the Kusto language service is not installed: ./dev setup")
    process = subprocess.Popen(
        [NODE, "analyse.cjs"], cwd=_HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process
