"""How a table's change files are found, called and ordered, by its options (PROTOCOL §3).

By default files are numbered, and their numbers are their order. A table whose files are found by
their time, or that has partition folders, has no such order in its names alone: it keeps a ledger.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from openmirror.protocol.metadata import Detection
from openmirror.protocol.names import NOT_A_CHARACTER, fold_case, is_reserved
from openmirror.protocol.sequence import (
    LAST_SEQUENCE,
    PARQUET,
    ChangeFileName,
    NotAChangeFile,
    Sequence,
    parse_change_file,
)

_PARTITION = re.compile(rf"[^=/_{NOT_A_CHARACTER}][^=/{NOT_A_CHARACTER}]*=[^/{NOT_A_CHARACTER}]*\Z")

_DATA = frozenset({"parquet", "csv", "tsv", "psv", "json", "jsonl", "ndjson", "avro", "orc"})
_COMPRESSED = frozenset({"gz", "gzip", "zst", "zstd", "snappy", "sz", "bz2", "lz4", "br", "zip"})
_UNFINISHED = frozenset({"tmp", "temp", "part", "partial", "filepart", "crdownload", "crc", "bak"})
_NUMBERED = re.compile(r"[0-9]+(\.[^.]+)?\Z")

DEEPEST_PARTITION = 16
"""Folders within folders; whatever lies deeper is nobody's partition."""


@dataclass(frozen=True)
class NamingScheme:
    """Which files of a table folder are change files, and what orders them."""

    detection: Detection = Detection.SEQUENTIAL
    partitioned: bool = False
    extension: str = PARQUET

    @property
    def has_ledger(self) -> bool:
        """Whether the order of files has to be written down as it is decided (PROTOCOL §3.3)."""
        return self.partitioned or self.detection is Detection.LAST_UPDATE_TIME

    @property
    def is_numbered(self) -> bool:
        """Whether each file's own name has its number, in its partition or in the table."""
        return self.detection is Detection.SEQUENTIAL


@dataclass(frozen=True)
class ParsedName:
    """What the name of a change file says."""

    partition: str = ""
    """`Key=Value` folders with `/` between them; empty for a file directly in the table folder."""
    number: Sequence | None = None
    """Its number there; None where files are found by their time."""


ANY_FILE = NamingScheme(Detection.LAST_UPDATE_TIME, partitioned=True, extension="")
"""Every file that is not reserved, where a table's own options do not matter."""


def is_partition(folder: str) -> bool:
    """Whether a folder of this name holds a partition of a partitioned table."""
    return _PARTITION.match(folder) is not None


def read_name(naming: NamingScheme, name: str) -> ParsedName | NotAChangeFile | None:
    """What a name means, given from the table folder on; None for names that are left alone."""
    partition, _, own = name.rpartition("/")
    if is_reserved(own) or any(is_reserved(part) for part in partition.split("/")):
        return None
    if partition and not naming.partitioned:
        return NotAChangeFile("change files lie directly in the table folder")
    if partition and not all(is_partition(part) for part in partition.split("/")):
        return NotAChangeFile("a partition's folder is called Key=Value")
    if NOT_A_CHARACTER in own:
        return NotAChangeFile("its name is not valid UTF-8")  # no path leads to it
    if naming.is_numbered:
        parsed = parse_change_file(own, naming.extension)
        if isinstance(parsed, ChangeFileName):
            return ParsedName(partition, parsed.sequence)
        return parsed
    if naming.extension and not fold_case(own).endswith("." + fold_case(naming.extension)):
        return NotAChangeFile(f"this table's change files end in .{naming.extension}")
    return ParsedName(partition)


def may_hold_changes(naming: NamingScheme, name: str, *, is_folder: bool) -> bool:
    """Whether a publisher may take what is called so for changes that it has sent.

    Asked of names that are no change file's: a folder, data by its ending, or a number. What an
    operating system or an upload leaves behind (`.DS_Store`, `7.parquet.tmp`) is none of these.
    """
    own = fold_case(name.rpartition("/")[2])
    if own.startswith("."):
        return False
    if is_folder:
        return True
    endings = own.split(".")[1:]
    if endings and endings[-1] in _UNFINISHED:
        return False
    if _NUMBERED.match(own):
        return True
    if endings and endings[-1] in _COMPRESSED:
        endings = endings[:-1]
    declared = fold_case(naming.extension).rpartition(".")[2]
    return bool(endings) and endings[-1] in _DATA | {declared}


def name_within(path: str) -> str:
    """A change file's name, with its partition, out of any path that ends in it."""
    *folders, own = path.replace("\\", "/").split("/")
    kept = list(takewhile(is_partition, reversed(folders)))
    return "/".join([*reversed(kept), own])


@dataclass(frozen=True)
class Through:
    """Numbers that are given up, as an operator writes it: `12`, `Year=2024/12`, or `/12`."""

    last: Sequence
    partition: str | None = None
    """The partition whose own numbers they are; empty for files outside of every partition."""

    @classmethod
    def parse(cls, text: str) -> Through:
        """Read it; ValueError says what it looks like."""
        partition, slash, number = text.rpartition("/")
        is_number = number.isascii() and number.isdigit() and 1 <= int(number) <= LAST_SEQUENCE
        known = not partition or all(is_partition(part) for part in partition.split("/"))
        if not is_number or not known:
            raise ValueError(
                f"{text!r} is not a number from 1 to {LAST_SEQUENCE}, nor one of a partition, "
                "such as Year=2024/12"
            )
        return cls(Sequence(int(number)), partition if slash else None)

    def __str__(self) -> str:
        return str(self.last) if self.partition is None else f"{self.partition}/{self.last}"
