"""The rows of a small Delta table, read without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.deltalog.actions import Damaged, actions_of
from openmirror.deltalog.listed import ListedLog
from openmirror.ports import Entry, FileStore
from openmirror.table.layout import StorePath, join

_FILES = ("add", "remove")


def rows(store: FileStore, table: StorePath) -> Iterator[dict[str, Any]]:
    """Every row; none where there is no table. For tables as openmirror writes them by default.

    Raises NotThere or ConditionFailed when a file goes meanwhile, Damaged for what it cannot read.
    """
    for name in _files(store, table):
        data = store.read(join(table, *unquote(name).split("/"))).data
        try:
            found = pq.read_table(BytesIO(data)).to_pylist()
        except (pa.ArrowException, OSError) as error:  # pyarrow's own errors are either
            raise Damaged(f"{name} is no whole Parquet file: {error}") from error
        yield from found


def _files(store: FileStore, table: StorePath) -> dict[str, None]:
    """The data files that count in the newest version, in the order of their commits."""
    files = ListedLog(store, table).files
    found: dict[str, None] = {}
    first = 0
    if files.checkpoints:
        newest = files.checkpoints[0]
        first = newest.version + 1
        for part in newest.parts:
            _apply(found, store, table, part)
    for version in range(first, files.newest + 1):
        if version not in files.commits:
            raise Damaged(f"version {version} is missing, version {files.newest} is there")
        _apply(found, store, table, files.commits[version])
    return found


def _apply(found: dict[str, None], store: FileStore, table: StorePath, entry: Entry) -> None:
    for action in actions_of(store, join(table, "_delta_log"), entry, _FILES):
        if add := action.get("add"):
            if add.get("deletionVector"):
                raise Damaged(f"{entry.name} marks rows as deleted, which is not read here")
            found[_path(entry, add)] = None
        elif remove := action.get("remove"):
            found.pop(_path(entry, remove), None)


def _path(entry: Entry, action: Mapping[str, Any]) -> str:
    if "path" not in action:
        raise Damaged(f"{entry.name} has an action of a file without its path")
    return str(action["path"])
