"""SOURCES.md says of each type of PostgreSQL what `cdc run` makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from openmirror.cdc.postgresql.types import documented_types

SOURCES = Path(__file__).parents[3] / "docs" / "SOURCES.md"
_TABLE = "| PostgreSQL | Delta | Notes |\n|---|---|---|\n"
_NAME = re.compile(r"`([^`]+)`|\*(\w+)\*")
_ROW = re.compile(r"^\| (.+?) \| (.+?) \| .*\|$")


def documented() -> Mapping[str, str]:
    """The table of SOURCES.md: the Delta type of each type and kind that it names."""
    _, _, table = SOURCES.read_text().partition(_TABLE)
    found: dict[str, str] = {}
    for line in table.partition("\n\n")[0].splitlines():
        row = _ROW.match(line)
        assert row, line
        for name, kind in _NAME.findall(row[1]):
            assert (name or kind) not in found, f"{name or kind} stands there twice"
            found[name or kind] = row[2].strip("`")
    return found


def test_the_documented_types_are_those_that_are_read() -> None:
    assert documented() == documented_types()
