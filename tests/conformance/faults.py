"""What can be wrong with one table of many: how it comes to be, and what must be reported of it.

A new kind of fault is one more entry of `FAULTS`; the mirror of `test_every_third.py` grows by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.errors import SOLUTIONS
from openmirror.protocol.rules import Code
from openmirror.table import layout

MIRROR = "m"


def file_name(number: int) -> str:
    return f"{number:020d}.parquet"


@dataclass(frozen=True)
class OneOfMany:
    """One table folder of the mirror, for whoever publishes there or breaks it."""

    root: Path
    name: str

    @property
    def folder(self) -> Path:
        return self.root / layout.landing_zone(MIRROR) / self.name

    @property
    def delta(self) -> Path:
        return self.root / "lake" / MIRROR / "Tables" / "dbo" / self.name

    @property
    def outside(self) -> Path:
        """A place beside the root, which nothing in it may lead to."""
        place = self.root.parent / "outside" / self.name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def bytes(self, name: str, data: bytes) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        staged = self.folder / f"_{name}"
        staged.write_bytes(data)
        return staged.rename(self.folder / name)

    def metadata(self, document: Mapping[str, object]) -> Path:
        return self.bytes("_metadata.json", json.dumps(document).encode())

    def rows(self, number: int, columns: Mapping[str, Any] | None = None) -> Path:
        """A change file with one row, whose id is its number."""
        data = pa.table(dict(columns or {"id": [number], "v": ["x"]}))
        staged = self.folder / f"_{file_name(number)}"
        pq.write_table(data, staged)
        return staged.rename(self.folder / file_name(number))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way in which a table is not as it should be, after its first file was applied."""

    name: str
    """What its table is called."""
    code: str
    """The code of its problem, or the kind of its wait."""
    place: str
    """Part of the path, file or value that must be named."""
    breaks: Callable[[OneOfMany], object]
    remedy: str = ""
    """Part of what must be advised; by default the remedy of the code."""

    @property
    def advice(self) -> str:
        return self.remedy or SOLUTIONS[Code(self.code)]


def _linked_file(table: OneOfMany) -> None:
    path = table.folder / file_name(2)
    path.rename(table.outside / path.name)
    path.symlink_to(table.outside / path.name)


def _linked_folder(table: OneOfMany) -> None:
    there = table.outside / "folder"
    table.folder.rename(there)
    table.folder.symlink_to(there)


def _loop(table: OneOfMany) -> None:
    path = table.folder / file_name(2)
    path.unlink()
    path.symlink_to(path.name)


def _locked(*parts: str) -> Callable[[OneOfMany], object]:
    return lambda table: table.folder.joinpath(*parts).chmod(0)


def _locked_log(table: OneOfMany) -> None:
    log = table.delta / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    log.chmod(0)


def _folder_for_file(table: OneOfMany) -> None:
    path = table.folder / file_name(2)
    path.unlink()
    path.mkdir()


def _late(table: OneOfMany) -> None:
    (table.folder / file_name(2)).rename(table.folder / file_name(3))


FAULTS = (
    Fault(name="linked_file", code="AccessDenied", place=file_name(2), breaks=_linked_file),
    Fault(name="linked_folder", code="AccessDenied", place="/linked_folder", breaks=_linked_folder),
    Fault(name="loop", code="AccessDenied", place=file_name(2), breaks=_loop),
    Fault(
        name="locked_file",
        code="AccessDenied",
        place=file_name(2),
        breaks=_locked(file_name(2)),
    ),
    Fault(name="locked_folder", code="AccessDenied", place="/locked_folder", breaks=_locked()),
    Fault(
        name="locked_metadata",
        code="AccessDenied",
        place="_metadata.json",
        breaks=_locked("_metadata.json"),
    ),
    Fault(name="locked_log", code="AccessDenied", place="_delta_log", breaks=_locked_log),
    Fault(
        name="damaged",
        code="FileUnreadable",
        place=file_name(2),
        breaks=lambda table: table.bytes(file_name(2), b"id,v\n2,x\n"),
    ),
    Fault(name="folder", code="NotAFile", place=file_name(2), breaks=_folder_for_file),
    Fault(
        name="gap",
        code="gap",
        place=f"{2:020d}",
        breaks=_late,
        remedy="openmirror skip m/dbo.gap --through 2",
    ),
)
