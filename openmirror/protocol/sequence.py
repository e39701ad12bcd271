"""Change files and their order (PROTOCOL §3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NewType

from openmirror.protocol.names import fold_case, is_reserved

Sequence = NewType("Sequence", int)
"""The number in a change file's name, counted from 1 without a gap."""

Position = NewType("Position", int)
"""How far a table is applied: the last sequence of its last batch; 0 is before the first file."""

START = Position(0)
FENCED = Position(2**63 - 1)
"""The version at which an epoch is closed for good; never a position that rows were applied at."""

LAST_SEQUENCE = Sequence(2**63 - 2)

PARQUET = "parquet"
"""The extension of change files, where `_metadata.json` names no other."""

_DIGITS = 20
_CHANGE_FILE = re.compile(r"([0-9]{20})\.([^/]+)\Z")
_TWO_EXTENSIONS = re.compile(r"[0-9]{20}\.[^./]+\.[^/]*\Z")
_ALMOST = re.compile(r"[0-9]+(\.[^/]*)?\Z")


def position_after(sequence: Sequence) -> Position:
    """The position of a table whose newest applied file has this sequence."""
    return Position(sequence)


def next_sequence(position: Position) -> Sequence:
    """The number that must come next at this position."""
    return Sequence(position + 1)


def file_stem(sequence: int) -> str:
    """A sequence as it stands in names and messages: 20 digits, so that names sort as numbers."""
    return f"{sequence:0{_DIGITS}d}"


@dataclass(frozen=True, order=True)
class ChangeFileName:
    """A change file's name, `<20 digits>.<extension>`, as a value; `str` writes it again."""

    sequence: Sequence
    extension: str

    def __str__(self) -> str:
        return f"{file_stem(self.sequence)}.{self.extension}"


@dataclass(frozen=True)
class NotAChangeFile:
    """A name in a table folder that no rule lets us read, with the reason in words."""

    reason: str


def parse_change_file(
    name: str, extension: str = PARQUET
) -> ChangeFileName | NotAChangeFile | None:
    """What a name in a table folder means; None for reserved names, which are nobody's fault."""
    if is_reserved(name):
        return None
    match = _CHANGE_FILE.match(name)
    is_right = match is not None and fold_case(match[2]) == fold_case(extension)
    if not is_right and _TWO_EXTENSIONS.match(name):
        return NotAChangeFile(f"a change file's number is followed by .{extension} alone")
    if match is None:
        if _ALMOST.match(name):
            return NotAChangeFile(f"a change file's number has exactly {_DIGITS} digits")
        return NotAChangeFile(
            f"a change file is called <{_DIGITS} digits>.{extension}, unless fileDetectionStrategy "
            "is LastUpdateTimeFileDetection"
        )
    if not is_right:
        why = "" if extension == PARQUET else ", as _metadata.json says"
        return NotAChangeFile(f"this table's change files end in .{extension}{why}")
    number = int(match[1])
    if number == 0:
        return NotAChangeFile("the first change file has the number 1")
    if number > LAST_SEQUENCE:
        return NotAChangeFile(f"sequences end at 2^63-2 ({LAST_SEQUENCE})")
    return ChangeFileName(Sequence(number), match[2])
