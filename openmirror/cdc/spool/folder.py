"""A spool's folder: its identity, and segments whose names say which records they hold.

    spool.json                                              the stream's identity
    00000000000000000000-00000000000000000182.arrow         records 0 to 181
    00000000000000000182-00000000000000000190.arrow         records 182 to 189

A segment is written whole under another name, flushed, and renamed, and the folder is flushed.
Whoever lists the folder flushes it, too, before it believes what it sees: else an offset that was
read could mean another record after a power cut.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

from openmirror.errors import OpenmirrorError
from openmirror.protocol.streams import Offset, StreamIdentity

IDENTITY = "spool.json"
_VERSION = 2
_NAME = re.compile(r"([0-9]{20})-([0-9]{20})\.arrow\Z")
_ANEW = "Remove the folder, and begin the stream anew from a new snapshot"


class SpoolDamaged(OpenmirrorError):
    """A spool's folder is not as it was written; the message names the file and the remedy."""


@dataclass(frozen=True, order=True)
class Segment:
    """One file of records."""

    first: Offset
    next: Offset
    """The first record behind it."""

    @property
    def name(self) -> str:
        """Its file name."""
        return f"{self.first:020d}-{self.next:020d}.arrow"


def made_or_found(folder: Path) -> StreamIdentity:
    """The identity of the spool in a folder, which is made where there is none.

    Segments without an identity are of a stream that was given up: they go first. An identity
    without segments may have had some, which would be counted from 0 again: it is another one then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / IDENTITY).exists() and segments(folder):
        return identity_of(folder)
    for path in list(folder.iterdir()):
        if _NAME.match(path.name):
            path.unlink()
    flush(folder)
    document = {"version": _VERSION, "identity": uuid4().hex}
    write_whole(folder, IDENTITY, json.dumps(document).encode())
    return identity_of(folder)


def given_up(folder: Path) -> None:
    """The stream of a folder ends here: the next one that is made there is another one."""
    (folder / IDENTITY).unlink(missing_ok=True)
    flush(folder)


def identity_of(folder: Path) -> StreamIdentity:
    """The identity of the spool in a folder; raises SpoolDamaged."""
    path = folder / IDENTITY
    try:
        document = json.loads(path.read_bytes())
        if document["version"] == _VERSION:
            return StreamIdentity(document["identity"])
        why = f"it has version {document['version']}, and this openmirror reads {_VERSION}"
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = str(error)
    raise SpoolDamaged(f"{path} cannot be read ({why}). {_ANEW}")


def segments(folder: Path) -> list[Segment]:
    """All segments, in order; raises SpoolDamaged where they do not follow each other."""
    before: list[Segment] | None = None
    while True:
        found = _listed(folder)
        gap = next((pair for pair in pairwise(found) if pair[0].next != pair[1].first), None)
        if gap is None:
            return found
        # A listing may miss what comes or goes meanwhile: only a gap that is there twice is one.
        if found == before:
            raise SpoolDamaged(
                f"{folder / gap[1].name} does not follow {gap[0].name}: a file is missing, or does "
                f"not belong there. {_ANEW}"
            )
        before = found


def _listed(folder: Path) -> list[Segment]:
    names = [path.name for path in folder.iterdir()]
    flush(folder)
    return sorted(
        Segment(Offset(int(match[1])), Offset(int(match[2])))
        for match in map(_NAME.match, names)
        if match
    )


def write_whole(folder: Path, name: str, content: bytes | memoryview) -> None:
    """Write a file that is there whole and for good, or not at all."""
    fresh = folder / f"_{name}"
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(folder / name)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    flush(folder)


def flush(folder: Path) -> None:
    """Make the folder's list of names last."""
    with _opened(folder) as file:
        os.fsync(file)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield file
    finally:
        os.close(file)
