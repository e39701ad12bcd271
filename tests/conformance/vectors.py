"""Vectors as tests read them, and rows as their documents write them (tests/vectors/README.md)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from openmirror.protocol.names import TablePath
from openmirror.protocol.schema import Column, ColumnType

HERE = Path(__file__).parent.parent / "vectors"
_EXACT = 2**53 - 1


@dataclass(frozen=True)
class Expected:
    """What must come of one landing folder."""

    folder: TablePath
    table: str
    columns: tuple[Column, ...]
    rows: list[list[Any]]
    state: Any
    applied: str
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Expected:
        columns = tuple(Column(name, ColumnType(kind)) for name, kind in document["columns"])
        return cls(
            folder=TablePath.parse(document["folder"]),
            table=document["table"],
            columns=columns,
            rows=document["rows"],
            state=document["state"],
            applied=document["appliedSequence"],
            warnings=tuple(document.get("warnings", ())),
        )


@dataclass(frozen=True)
class Case:
    """One vector on disk."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def document(self) -> dict[str, Any]:
        return json.loads((self.folder / "case.json").read_text(encoding="utf-8"))

    @property
    def expected(self) -> list[Expected]:
        document = self.document
        tables = [document["expected"], *document.get("others", [])]
        return [Expected.read(table) for table in tables]

    @property
    def steps(self) -> list[Path]:
        several = sorted(self.folder.glob("steps/*/landing"), key=lambda p: int(p.parent.name))
        return several or [self.folder / "landing"]

    @property
    def settings(self) -> Path | None:
        path = self.folder / "mirroring.json"
        return path if path.exists() else None

    def publish(self, step: int, zone: Path) -> None:
        """Copy one step's files; they are as old as the copy."""
        if step < len(self.steps):
            shutil.copytree(
                self.steps[step], zone, dirs_exist_ok=True, copy_function=shutil.copyfile
            )


CASES = [Case(path.parent) for path in sorted(HERE.glob("*/*/case.json"))]
MOST_STEPS = max(len(case.steps) for case in CASES)


@dataclass(frozen=True)
class Outcome:
    """What came of one landing folder, in the words of a vector."""

    columns: tuple[Column, ...]
    rows: list[list[Any]]
    state: Any
    applied: str
    warnings: tuple[str, ...]


def check(expected: Expected, outcome: Outcome) -> None:
    """Compare everything that a vector says of one folder."""
    assert outcome.state == expected.state
    assert outcome.applied == expected.applied
    assert outcome.columns == expected.columns
    assert bag(outcome.rows) == bag(expected.rows)
    assert outcome.warnings == expected.warnings


def bag(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Rows in one order. 1 and 1.0 are one JSON number; so are 0.0 and -0.0."""
    return sorted(
        json.dumps([v + 0.0 if type(v) in (int, float) else v for v in row]) for row in rows
    )


def encoded(row: Mapping[str, Any], columns: Iterable[Column]) -> list[Any]:
    """A row as a vector writes it; columns are found by the table's own spelling."""
    return [_encoded(row[column.name], column.type) for column in columns]


def _encoded(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    if kind in ("float", "double"):
        value = float(value)
        if value != value:
            return "NaN"
        return value if abs(value) != float("inf") else "-Infinity"[value > 0 :]
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").rpartition(",")[2])
        return f"{Decimal(value):.{scale}f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime) and kind == "timestamp_ntz":
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f").rjust(26, "0")
    if isinstance(value, datetime):
        return as_moment(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    return value.isoformat() if isinstance(value, date) else value


def as_moment(value: date) -> datetime:
    """A date, or a time without a zone, as the moment that a table takes it for."""
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
