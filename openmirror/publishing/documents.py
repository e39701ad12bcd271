"""Small documents of a landing zone that other programs may write as well."""

from __future__ import annotations

from collections.abc import Callable

from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import ABSENT, Absent, FileStore
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath

_TRIES = 20


def bring_to(store: FileStore, path: StorePath, wanted: Callable[[bytes], bytes | None]) -> None:
    """Bring a document to what is wanted, under its ETag, however others change it meanwhile.

    `wanted` gets what it holds now, nothing where there is none, and answers what it shall hold;
    None where it is right. Raises ConditionFailed where others never rest, and what the store
    raises: after a read that failed nothing is written.
    """
    for _ in range(_TRIES):
        there, etag = _read(store, path)
        content = wanted(there)
        if content is None:
            return
        try:
            store.write(path, content, only_if=etag)
        except (ConditionFailed, NotThere):
            continue
    raise ConditionFailed(f"{path} changes faster than it can be merged")


def _read(store: FileStore, path: StorePath) -> tuple[bytes, ETag | Absent]:
    try:
        content = store.read(path)
    except NotThere:
        return b"", ABSENT
    return content.data, content.etag
