"""Actions of data files: which file each is about, and those that a checkpoint has of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from openmirror.deltalog.actions import LogAction, actions_of
from openmirror.deltalog.listing import Checkpoint
from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.table.layout import StorePath, join

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UUID_DIGITS = 20


class FileKey(NamedTuple):
    """How the log distinguishes data files: a path, and which of its rows are deleted."""

    path: str
    deletion_vector: str


def key_of(action: Mapping[str, Any]) -> FileKey:
    """Which file an `add` or a `remove` is about."""
    vector = action.get("deletionVector") or {}
    parts = (vector.get("storageType"), vector.get("pathOrInlineDv"), vector.get("offset"))
    return FileKey(str(action["path"]), "/".join(map(str, parts)) if vector else "")


def paths_of(action: Mapping[str, Any]) -> Iterator[str]:
    """The files that a reader opens for an `add`, from the table's folder on.

    One that lies elsewhere is a URL. Raises ValueError or KeyError for an action that makes no
    sense.
    """
    yield unquote(str(action["path"]))
    vector = action.get("deletionVector") or {}
    kind, where = vector.get("storageType"), str(vector.get("pathOrInlineDv"))
    if kind == "u":
        prefix, digits = where[:-_UUID_DIGITS], where[-_UUID_DIGITS:]
        name = f"deletion_vector_{_uuid(digits)}.bin"
        yield f"{prefix}/{name}" if prefix else name
    elif kind == "p":
        yield where


def _uuid(digits: str) -> uuid.UUID:
    """Five digits to the base 85 are four bytes."""
    groups = [digits[at : at + 5] for at in range(0, len(digits), 5)]
    numbers = (sum(_Z85.index(d) * 85**i for i, d in enumerate(reversed(g))) for g in groups)
    try:
        return uuid.UUID(bytes=b"".join(number.to_bytes(4, "big") for number in numbers))
    except OverflowError:
        raise ValueError(f"{digits!r} names no deletion vector") from None


def checkpoint_actions(
    store: FileStore, table: StorePath, checkpoint: Checkpoint, wanted: Sequence[str]
) -> Iterator[LogAction]:
    """The actions of a checkpoint and of its sidecars; of Parquet only those that are `wanted`.

    Raises Damaged, ConditionFailed, and NotThere where a sidecar is gone: so is its checkpoint.
    """
    folder = join(table, "_delta_log")
    sidecars: list[str] = []
    for part in checkpoint.parts:
        for action in actions_of(store, folder, part, (*wanted, "sidecar")):
            if sidecar := action.get("sidecar"):
                sidecars.append(str(sidecar["path"]).rpartition("/")[2])
            else:
                yield action
    if sidecars:
        yield from _in_sidecars(store, join(folder, "_sidecars"), sidecars, wanted)


def _in_sidecars(
    store: FileStore, folder: StorePath, names: list[str], wanted: Sequence[str]
) -> Iterator[LogAction]:
    there = {entry.name: entry for entry in store.list_folder(folder).entries}
    files = [name for name in wanted if name.startswith(("add", "remove"))]
    for name in names:
        if name not in there:
            raise NotThere(f"{name} went while the log was read")
        yield from actions_of(store, folder, there[name], files)
