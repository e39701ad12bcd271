"""What a table is called, and which folder of the zone is its own (PROTOCOL §2.1, §2.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from openmirror.errors import NotThere, PublishRefused
from openmirror.ports import FileStore
from openmirror.protocol.names import (
    SCHEMA_SUFFIX,
    TableArgument,
    TableName,
    TablePath,
    fold_case,
    is_reserved,
    is_unicode,
    name_refused,
    table_name,
)
from openmirror.protocol.rules import Broken, Code
from openmirror.table.layout import StorePath, join

_ONE_QUOTED = re.compile(r"`((?:[^`]|``)+)`\Z")


def table_path(name: str) -> TablePath:
    """The folder that a name means: `dbo.orders` is `dbo.schema/orders`, `orders` is `orders`.

    A part with a dot goes in backquotes. Raises PublishRefused for what no table can be called.
    """
    try:
        path = _read(name)
    except ValueError as error:
        raise _impossible(error) from error
    need_possible(path)
    return path


def need_possible(path: TablePath) -> None:
    """Raise PublishRefused for a folder that no table can have."""
    try:
        _need_names(path)
    except ValueError as error:
        raise _impossible(error) from error


def _impossible(error: ValueError) -> PublishRefused:
    remedy = "Write schema.table or table; a part with a dot goes in backquotes."
    return PublishRefused(Broken(Code.TABLE_NAME_INVALID, str(error), remedy), "2.1")


def _read(name: str) -> TablePath:
    if quoted := _ONE_QUOTED.match(name):
        return TablePath("", quoted[1].replace("``", "`"))
    if "/" in name or not any(mark in name for mark in ".`"):
        return TablePath("", name)
    argument = TableArgument.parse(name)
    return TablePath(argument.name.schema, argument.name.table)


def _need_names(path: TablePath) -> None:
    for part in (path.schema, path.table) if path.schema else (path.table,):
        if not part or part in (".", "..") or "/" in part or "\0" in part:
            raise ValueError(f"{part!r} is no name of a folder")
        if not is_unicode(part):
            raise ValueError(f"{part!r} is no Unicode text")
        if is_reserved(part):
            raise ValueError(f"{part!r} begins with _, and such folders are never tables")
    if not path.schema and path.table.endswith(SCHEMA_SUFFIX):
        raise ValueError(f"{path.table!r} ends in {SCHEMA_SUFFIX}, which a schema's folder does")
    if why := name_refused(path):
        raise ValueError(why)


def need_own_name(store: FileStore, zone: StorePath, path: TablePath, default_schema: str) -> None:
    """Raise PublishRefused where another folder feeds the same table, or one that reads the same.

    `dbo.orders` beside a bare `orders` is one table for a mirror whose default schema is `dbo`,
    and so are names that differ in case only (PROTOCOL §2.2).
    """
    wanted = table_name(path, default_schema)
    others = table_folders(store, zone, wanted.folded.schema, default_schema)
    need_no_other(
        path, [o for o in others if table_name(o, default_schema).folded == wanted.folded], wanted
    )


def need_no_other(path: TablePath, folders: Iterable[TablePath], table: TableName) -> None:
    """Raise PublishRefused where one of the folders that feed a table is not `path`."""
    for other in folders:
        if other != path:
            detail = f"{other} and {path} would feed one table, {table}"
            remedy = f"Publish into {other}, which is there, or drop it first."
            raise PublishRefused(Broken(Code.TABLE_NAME_COLLISION, detail, remedy), "2.2")


def table_folders(
    store: FileStore, zone: StorePath, schema: str, default_schema: str
) -> list[TablePath]:
    """Return the table folders that are there and feed tables of one case-folded schema."""
    found = []
    for name in _subfolders(store, zone):
        if name.endswith(SCHEMA_SUFFIX):
            own = name.removesuffix(SCHEMA_SUFFIX)
            if own and fold_case(own) == schema:
                found += [TablePath(own, table) for table in _subfolders(store, join(zone, name))]
        elif fold_case(default_schema) == schema:
            found.append(TablePath("", name))
    return found


def _subfolders(store: FileStore, folder: StorePath) -> list[str]:
    try:
        entries = store.list_folder(folder).entries
    except NotThere:
        return []
    return [e.name for e in entries if e.is_folder and not is_reserved(e.name)]
