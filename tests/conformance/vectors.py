"""Vectors as tests read them, and rows as their documents write them (tests/vectors/README.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from openmirror.protocol.lineage import DECIDED_AT
from openmirror.protocol.names import TableFolder
from openmirror.protocol.rows import DELETED_AT
from openmirror.protocol.schema import Column, ColumnType
from openmirror.protocol.versions import VALID_FROM, VALID_TO
from tests.vectors.run import bag, publish

_TIMES_OF_DECISIONS = (DELETED_AT, DECIDED_AT, VALID_FROM, VALID_TO)
HERE = Path(__file__).parent.parent / "vectors"
_EXACT = 2**53 - 1
DECIDED = "decided"


@dataclass(frozen=True)
class Expected:
    """What must come of one landing folder."""

    folder: TableFolder
    """In no mirror yet."""
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
            folder=TableFolder.of_key("", document["folder"]),
            table=document["table"],
            columns=columns,
            rows=document["rows"],
            state=document["state"],
            applied=document["appliedSequence"],
            warnings=tuple(sorted(document.get("warnings", ()))),
        )


@dataclass(frozen=True)
class Step:
    """What happens before one drain: renames and deletions, then files, then requests."""

    folder: Path
    names: Mapping[str, str]

    @cached_property
    def _document(self) -> dict[str, Any]:
        path = self.folder / "step.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @property
    def renamed(self) -> dict[str, str]:
        return self._document.get("renamed", {})

    @property
    def deleted(self) -> list[str]:
        return self._document.get("deleted", [])

    @property
    def modified(self) -> dict[str, str]:
        """When files were last written, where that matters."""
        return self._document.get("modified", {})

    @property
    def asked(self) -> list[dict[str, str]]:
        """Each with a `verb`, a `folder` and what else the verb needs."""
        return self._document.get("asked", [])

    @property
    def settings(self) -> bytes | None:
        """What `mirroring.json` says from here on, where it changes."""
        path = self.folder / "mirroring.json"
        return path.read_bytes() if path.exists() else None

    def publish(self, zone: Path) -> None:
        """Change a zone as publishers did; files are as old as the copy, or as the step says."""
        publish(self.folder, zone, self.names)


@dataclass(frozen=True)
class Case:
    """One vector on disk."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def document(self) -> dict[str, Any]:
        return json.loads((self.folder / "case.json").read_text(encoding="utf-8"))

    @cached_property
    def expected(self) -> list[Expected]:
        document = self.document
        tables = [document["expected"], *document.get("others", [])]
        return [Expected.read(table) for table in tables]

    @cached_property
    def steps(self) -> list[Step]:
        several = sorted(self.folder.glob("steps/*"), key=lambda path: int(path.name))
        names = self.document.get("names", {})
        return [Step(path, names) for path in several or [self.folder]]

    @property
    def change_files(self) -> list[Path]:
        """Of all its tables and steps; what begins with `_` is something else."""
        landed = (path for path in self.folder.glob("**/landing/**/*") if path.is_file())
        return [path for path in landed if not path.name.startswith("_")]

    @property
    def settings(self) -> bytes | None:
        """What `mirroring.json` says at the beginning."""
        path = self.folder / "mirroring.json"
        return path.read_bytes() if path.exists() else None


CASES = [Case(path.parent) for path in sorted(HERE.glob("*/*/case.json"))]


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


def encoded(
    row: Mapping[str, Any], columns: Iterable[Column], incarnation: str | None = None
) -> list[Any]:
    """A row as a vector writes it; columns are found by the table's own spelling.

    `incarnation` is the folder's present one, by which a history calls it.
    """
    return [
        DECIDED
        if _is_of_this_run(column.name, value)
        else _which(value, incarnation)
        if column.name in _INCARNATIONS
        else _encoded(value, column.type)
        for column in columns
        for value in [row[column.name]]
    ]


def _is_of_this_run(name: str, value: Any) -> bool:
    """Whether it is the time at which a batch was decided: publishers' times are older."""
    if name not in _TIMES_OF_DECISIONS or not isinstance(value, date):
        return False
    return as_moment(value) > datetime.now(UTC) - timedelta(days=1)


_INCARNATIONS = ("_incarnation", "_closed_incarnation")


def _which(value: Any, incarnation: str | None) -> str | None:
    return None if value is None else "this" if value == incarnation else "former"


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
