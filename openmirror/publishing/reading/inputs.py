"""Which files are read, and what kind each of them is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from openmirror.errors import WrongRequest
from openmirror.formats.first_bytes import ENCRYPTED_PARQUET, PARQUET, kind_of

_HEAD = 1 << 12


class InputKind(StrEnum):
    """What a file's rows are written in."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON_LINES = "jsonl"


_BY_ENDING = {
    "parquet": InputKind.PARQUET,
    "csv": InputKind.CSV,
    "tsv": InputKind.CSV,
    "tab": InputKind.CSV,
    "psv": InputKind.CSV,
    "txt": InputKind.CSV,
    "jsonl": InputKind.JSON_LINES,
    "ndjson": InputKind.JSON_LINES,
    "json": InputKind.JSON_LINES,
}
_PACKED = ("gz", "gzip", "zst", "zstd", "snappy", "sz")
_WORKBOOKS = ("xlsx", "xlsm", "xlsb", "xls", "ods")
_SAVE_AS_TEXT = (
    "cells of a workbook are numbers and formats, not typed columns. Save the sheet as "
    "'CSV UTF-8' or 'Unicode Text', or export it as Parquet, and publish that"
)


@dataclass(frozen=True)
class TextOptions:
    """How text is written, where it does not say itself."""

    separator: str | None = None
    """One character between values; None: what the header has."""
    encoding: str = "utf-8"
    """Of text without a byte order mark."""
    null: str = ""
    """What stands, without quotes, for NULL."""


@dataclass(frozen=True)
class InputFile:
    """A file of rows."""

    name: str
    """As messages call it: its path as it was given, or below the folder that was given."""
    path: Path
    kind: InputKind


def find_inputs(path: Path, kind: InputKind | None = None) -> list[InputFile]:
    """The file, or every file of rows directly in a folder, by name.

    Names that begin with a dot or an underscore are left alone. `kind` says what all of them are,
    whatever they are called. Raises WrongRequest for what cannot be read, which names the file.
    """
    if not path.exists():
        raise WrongRequest(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return [_input(str(path), path, kind)]
    inside = sorted(p for p in path.iterdir() if p.name[0] not in "._")
    folders = [p.name for p in inside if p.is_dir()]
    if folders:
        raise WrongRequest(
            f"{path} has folders in it ({folders[0]}): only files directly in a folder are "
            "published; give each folder by itself"
        )
    if not inside:
        raise WrongRequest(f"{path} has no files in it")
    return [_input(p.name, p, kind) for p in inside]


def input_from_stream(stream: BinaryIO, kind: InputKind | None, into: Path) -> InputFile:
    """Everything that a stream has, kept in a file of the folder `into`; for standard input."""
    path = into / "input"
    with path.open("wb") as kept:
        shutil.copyfileobj(stream, kept, 1 << 20)
    if kind is None:
        with path.open("rb") as content:
            head = content.read(_HEAD)
        if not head.startswith(PARQUET):
            raise WrongRequest("standard input: say what it is: --format csv, jsonl or parquet")
        kind = InputKind.PARQUET
    return _input("standard input", path, kind)


def _input(name: str, path: Path, kind: InputKind | None) -> InputFile:
    with path.open("rb") as content:
        head = content.read(_HEAD)
    endings = [ending.lower() for ending in path.name.split(".")[1:]]
    while endings and endings[-1] in _PACKED:
        endings.pop()
    ending = endings[-1] if endings else ""
    _need_readable(name, head, ending)
    if head.startswith(PARQUET):
        kind = kind or InputKind.PARQUET
    found = kind or _BY_ENDING.get(ending)
    if found is None:
        endings_known = ", ".join(f".{known}" for known in _BY_ENDING)
        raise WrongRequest(
            f"{name}: its name does not say what it is ({endings_known}): say it with --format"
        )
    if found is InputKind.PARQUET and not head.startswith(PARQUET):
        what = "it is empty" if not head else "its first bytes are not those of Parquet"
        raise WrongRequest(f"{name}: {what}")
    return InputFile(name, path, found)


def _need_readable(name: str, head: bytes, ending: str) -> None:
    is_office = kind_of(head) in ("a zip archive", "an old Office document")
    if ending in _WORKBOOKS or (is_office and ending not in _BY_ENDING):
        raise WrongRequest(f"{name} is a workbook: {_SAVE_AS_TEXT}")
    if head.startswith(ENCRYPTED_PARQUET):
        raise WrongRequest(f"{name} is encrypted Parquet, which nobody could read from the zone")
    if is_office:
        raise WrongRequest(f"{name} is {kind_of(head)}, not rows: unpack it, or save it as text")


def names_of(inputs: list[InputFile]) -> Iterator[str]:
    """What the inputs are called."""
    return (given.name for given in inputs)
