"""The Kusto language service: what is wrong with a query, what it answers with, its syntax tree."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
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
    """All queries in one process of Node.js, against the columns of these tables."""
    if not (_HERE / "node_modules" / "installed").exists():
        raise FileNotFoundError("the Kusto language service is not installed: ./dev setup")
    asked = json.dumps(
        {"tables": {name: dict(c) for name, c in tables.items()}, "queries": queries}
    )
    done = subprocess.run(
        [NODE, "analyse.cjs"], cwd=_HERE, input=asked, capture_output=True, text=True, check=True
    )
    return {
        name: Analysed(tuple(one["diagnostics"]), one["columns"], one["tree"])
        for name, one in json.loads(done.stdout).items()
    }
