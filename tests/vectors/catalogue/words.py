"""The few words that cases are written in."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ORDERS = "Orders"
IDLE = "idle"
Columns = str | list[tuple[str, Any]]


@dataclass(frozen=True)
class Item:
    """One file of a landing zone; its path is relative to the zone."""

    path: str
    data: bytes
    modified: str | None = None
    """When it was last written; None: just now."""


@dataclass(frozen=True)
class Deleted:
    """A file or folder that is gone before the files of its step are published."""

    path: str


@dataclass(frozen=True)
class Renamed:
    """A folder that has another name before the files of its step are published."""

    path: str
    to: str


@dataclass(frozen=True)
class Asked:
    """What an operator asks for, once the files of its step are there."""

    verb: str
    folder: str
    file: str | None = None
    through: str | None = None


@dataclass(frozen=True)
class Settings:
    """The mirror's settings from this step on."""

    document: Mapping[str, Any]


Event = Item | Deleted | Renamed | Asked | Settings


@dataclass(frozen=True)
class Vector:
    """One case: what publishers wrote, step by step, and what must come of it."""

    name: str
    title: str
    protocol: tuple[str, ...]
    steps: tuple[tuple[Event, ...], ...]
    expected: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any] | None = None
    names: Mapping[str, str] | None = None


def vector(
    name: str,
    title: str,
    protocol: str,
    *items: Item | tuple[Event, ...],
    expected: Mapping[str, Any] | tuple[Mapping[str, Any], ...],
    settings: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Vector:
    """A case from single files (one step), or from steps, each with its files.

    `names` says what a folder is really called that has a tamer name in the vector.
    """
    steps = tuple(item for item in items if not isinstance(item, Item))
    single = tuple(item for item in items if isinstance(item, Item))
    assert not (steps and single), f"{name}: either files or steps"
    tables = expected if isinstance(expected, tuple) else (expected,)
    sections = tuple(protocol.split())
    return Vector(name, title, sections, steps or (single,), tables, settings, names)


def step(*events: Event) -> tuple[Event, ...]:
    """What is published, and what else happens, before the next drain."""
    return events


def deleted(path: str = ORDERS) -> Deleted:
    """A folder or file that somebody deletes."""
    return Deleted(path)


def renamed(path: str, to: str) -> Renamed:
    """A folder that somebody renames."""
    return Renamed(path, to)


def asked(
    verb: str,
    folder: str = ORDERS,
    *,
    file: int | str | None = None,
    through: int | str | None = None,
) -> Asked:
    """What an operator asks for, by the verbs of OPERATIONS.md."""
    name = f"{file:020d}.parquet" if isinstance(file, int) else file
    return Asked(verb, folder, name, None if through is None else str(through))


def file(
    number: int,
    columns: Columns,
    *rows: tuple[Any, ...],
    folder: str = ORDERS,
    extension: str = "parquet",
    **options: Any,
) -> Item:
    """A change file. `m` alone stands for `__rowMarker__:int32`; options go to the writer."""
    fields = [(name, _arrow(kind)) for name, kind in _pairs(columns)]
    for row in rows:
        assert len(row) == len(fields), f"{row} does not fit {fields}"
    arrays = [pa.array([row[at] for row in rows], kind) for at, (_, kind) in enumerate(fields)]
    return table_file(
        number,
        pa.Table.from_arrays(arrays, [name for name, _ in fields]),
        folder=folder,
        extension=extension,
        **options,
    )


def table_file(
    number: int,
    table: pa.Table,
    *,
    folder: str = ORDERS,
    extension: str = "parquet",
    **options: Any,
) -> Item:
    """A change file from an Arrow table."""
    return raw(f"{number:020d}.{extension}", parquet(table, **options), folder=folder)


def parquet(table: pa.Table, **options: Any) -> bytes:
    """The smallest file that holds a table."""
    buffer = io.BytesIO()
    chosen = {"compression": "none", "write_statistics": False, "use_dictionary": False}
    pq.write_table(table, buffer, **{**chosen, **options})
    return buffer.getvalue()


def raw(name: str, data: bytes, *, folder: str = ORDERS) -> Item:
    """Any file at all."""
    return Item(f"{folder}/{name}" if folder else name, data)


def meta(document: Mapping[str, Any] | bytes, *, folder: str = ORDERS) -> Item:
    """`_metadata.json`, as a document or as the very bytes of one."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return raw("_metadata.json", data, folder=folder)


def keys(*names: str, folder: str = ORDERS, **more: Any) -> Item:
    """`_metadata.json` with these key columns."""
    return meta({"keyColumns": list(names), **more}, folder=folder)


def expect(
    columns: Columns = "",
    *rows: tuple[Any, ...],
    applied: int,
    state: Any = IDLE,
    warnings: tuple[str, ...] = (),
    folder: str = ORDERS,
    table: str | None = None,
) -> dict[str, Any]:
    """The table that must be there, its rows as README.md encodes them; no columns: no table."""
    return {
        "folder": folder,
        "table": table or f"dbo.{folder}",
        "columns": [[name, kind] for name, kind in _pairs(columns)],
        "rows": [list(row) for row in rows],
        "state": state,
        "appliedSequence": str(applied),
        **({"warnings": list(warnings)} if warnings else {}),
    }


def mapped(
    name: str,
    title: str,
    columns: Mapping[str, pa.Array],
    seen: str,
    *rows: tuple[Any, ...],
    protocol: str = "6.5",
    **options: Any,
) -> Vector:
    """One file, and what its Parquet types become."""
    return vector(
        name,
        title,
        protocol,
        table_file(1, pa.table(dict(columns)), **options),
        expected=expect(seen, *rows, applied=1),
    )


def waits(kind: str, sequence: int | None = None, partition: str | None = None) -> dict[str, Any]:
    """The state of a table that waits."""
    number = {"sequence": str(sequence)} if sequence else {}
    return {"waiting": kind, **number, **({} if partition is None else {"partition": partition})}


def paused(code: str, file: int | str | None = None) -> dict[str, Any]:
    """The state of a table that a problem stops, in front of a file or as a whole."""
    return {"paused": code, "file": f"{file:020d}.parquet" if isinstance(file, int) else file}


def _pairs(columns: Columns) -> list[tuple[str, Any]]:
    if not isinstance(columns, str):
        return columns
    words = ("__rowMarker__:int32" if word == "m" else word for word in columns.split())
    return [(name, kind) for name, _, kind in (word.rpartition(":") for word in words)]


def _arrow(kind: Any) -> pa.DataType:
    if isinstance(kind, str) and kind.startswith("decimal("):
        precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return pa.type_for_alias(kind) if isinstance(kind, str) else kind
