"""What can be wrong with one table of many: how it comes to be, and what must be reported of it.

A new kind of fault is one more entry of `FAULTS`; the mirror of `test_every_third.py` grows by it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.errors import SOLUTIONS
from openmirror.protocol.rules import WARNINGS, Code
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
    """The code of its problem or of its warning, or the kind of its wait."""
    place: str
    """Part of the path, file or value that must be named."""
    breaks: Callable[[OneOfMany], object]
    remedy: str = ""
    """Part of what must be advised; by default the remedy of the code."""
    is_of_applied: bool = False
    """Whether it is one only after the table's first file was applied."""

    @property
    def advice(self) -> str:
        return self.remedy or SOLUTIONS[Code(self.code)]

    @property
    def is_wait(self) -> bool:
        return self.code[0].islower()

    @property
    def is_warning(self) -> bool:
        """Whether nothing stops: what was sent and is never read is all that is left."""
        return not self.is_wait and Code(self.code) in WARNINGS


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


def _lost(table: OneOfMany) -> None:
    shutil.rmtree(table.delta)
    (table.folder / file_name(1)).unlink()


def _other_format(table: OneOfMany) -> None:
    (table.folder / file_name(2)).rename(table.folder / f"{2:020d}.csv")


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
        name="cut_off",
        code="incomplete",
        place=file_name(2),
        remedy="Finish writing the file, or replace it.",
        breaks=lambda table: table.bytes(file_name(2), b"PAR1 and nothing more"),
    ),
    Fault(
        name="other_keys",
        code="KeyColumnsChanged",
        place="keyColumns",
        breaks=lambda table: table.metadata({"keyColumns": ["v"]}),
        is_of_applied=True,
    ),
    Fault(
        name="no_json",
        code="MetadataInvalid",
        place="line 1, column 2",
        breaks=lambda table: table.bytes("_metadata.json", b"{"),
    ),
    Fault(
        name="written_over",
        code="AppliedFileChanged",
        place=file_name(1),
        breaks=lambda table: table.rows(1, {"id": [1], "v": ["another"]}),
        is_of_applied=True,
    ),
    Fault(
        name="lost",
        code="TableLost",
        place=f"{1:020d}",
        breaks=_lost,
        is_of_applied=True,
    ),
    Fault(
        name="other_format",
        code="FileNeverRead",
        place=f"{2:020d}.csv",
        breaks=_other_format,
        is_of_applied=True,
    ),
    Fault(
        name="gap",
        code="gap",
        place=f"{2:020d}",
        breaks=_late,
        remedy="openmirror skip m/dbo.gap --through 2",
    ),
)
