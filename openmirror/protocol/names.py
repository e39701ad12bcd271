"""What things in a landing zone are called (PROTOCOL §2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

Incarnation = NewType("Incarnation", str)
"""The identity of one table folder, from its creation to its deletion; a folder that is created
again under the same name has another one."""

ETag = NewType("ETag", str)
"""The store's opaque mark of one content of one file; it changes with every write."""

METADATA_FILE = "_metadata.json"
PARTNER_EVENTS_FILE = "_partnerEvents.json"
ARCHIVE_FOLDER = "_ProcessedFiles"
SCHEMA_SUFFIX = ".schema"
MOST_NAME_BYTES = 250
"""The longest name of a table folder, in UTF-8: file systems end at 255, and documents that are
called after a table need the rest (PROTOCOL §2.2)."""
ROW_MARKER_COLUMN = "__rowMarker__"

NOT_A_CHARACTER = "\N{REPLACEMENT CHARACTER}"
"""Stands in a listing for bytes of a name that are no text."""


def fold_case(name: str) -> str:
    """The form under which two column or table names are the same name (PROTOCOL §6.1)."""
    return name.lower()


def is_unicode(text: str) -> bool:
    """Whether a text has a form in UTF-8.

    Half of a surrogate pair has none, nor has a name of the file system in another encoding.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_reserved(name: str) -> bool:
    """Whether the protocol leaves an item of this name alone: staging, metadata, archive."""
    return name.startswith("_")


@dataclass(frozen=True, order=True)
class TablePath:
    """Where a table's folder lies below the landing zone, in the publisher's own case.

    `schema` is empty for a folder directly under the landing zone (PROTOCOL §2.1).
    """

    schema: str
    table: str

    @classmethod
    def parse(cls, text: str) -> TablePath:
        """Read `Orders` or `Sales.schema/Orders`; ValueError when it is neither."""
        parent, slash, table = text.rpartition("/")
        schema = parent.removesuffix(SCHEMA_SUFFIX)
        if not table or (slash and (schema == parent or not schema)) or "/" in schema:
            raise ValueError(f"{text!r} is not a table folder: <Table> or <schema>.schema/<Table>")
        return cls(schema, table)

    def __str__(self) -> str:
        return f"{self.schema}{SCHEMA_SUFFIX}/{self.table}" if self.schema else self.table


class Facet(StrEnum):
    """Which of the tables that a landing folder feeds."""

    CURRENT = "current"
    """The table as its publisher has it now."""
    HISTORY = "history"
    """Every version that its rows have had (PROTOCOL §5.9)."""


HISTORY_SUFFIX = "__history"
"""What the name of a history has behind that of its current table."""
_HISTORIES = "_history/"
"""Before the folder's path in what names a history: no landing folder begins so."""


@dataclass(frozen=True, order=True)
class TableFolder:
    """One landing folder of one mirror, as it feeds one table: the unit of work, of ordering and of
    failure."""

    mirror: str
    path: TablePath
    facet: Facet = Facet.CURRENT

    @classmethod
    def of_key(cls, mirror: str, key: str) -> TableFolder:
        """The folder that has this `key`; ValueError where there can be none."""
        path = key.removeprefix(_HISTORIES)
        facet = Facet.CURRENT if path == key else Facet.HISTORY
        return cls(mirror, TablePath.parse(path), facet)

    @property
    def key(self) -> str:
        """What names it in its mirror, and never another: `Orders`, or `_history/Orders`."""
        return f"{_HISTORIES if self.is_history else ''}{self.path}"

    @property
    def is_history(self) -> bool:
        """Whether its table is a history."""
        return self.facet is Facet.HISTORY

    @property
    def current(self) -> TableFolder:
        """The same folder as it feeds its current table."""
        return TableFolder(self.mirror, self.path)

    @property
    def history(self) -> TableFolder:
        """The same folder as it feeds its history."""
        return TableFolder(self.mirror, self.path, Facet.HISTORY)

    def __str__(self) -> str:
        return f"{self.mirror}/{self.key}"


@dataclass(frozen=True, order=True)
class TableName:
    """The name under which readers find a table: always with a schema."""

    schema: str
    table: str

    def __str__(self) -> str:
        return ".".join(_quoted(part) for part in (self.schema, self.table))

    @property
    def folded(self) -> TableName:
        """The same name for every spelling that a case-blind reader would take for it."""
        return TableName(fold_case(self.schema), fold_case(self.table))


def name_refused(path: TablePath, facet: Facet = Facet.CURRENT) -> str | None:
    """Why no table can be called after this folder (PROTOCOL §2.2); None when one can."""
    if NOT_A_CHARACTER in str(path):
        return f"{path}: this name is not valid UTF-8"
    size = len(path.table.encode())
    most = MOST_NAME_BYTES - (len(HISTORY_SUFFIX) if facet is Facet.HISTORY else 0)
    if size > most:
        of = " where it has a history" if facet is Facet.HISTORY else ""
        return f"{path}: this name has {size} bytes, and may have {most}{of}"
    return None


def table_name(path: TablePath, default_schema: str) -> TableName:
    """The table that a landing folder feeds (PROTOCOL §2.2)."""
    return TableName(path.schema or default_schema, path.table)


def name_of(folder: TableFolder, default_schema: str) -> TableName:
    """The table that a landing folder feeds, its current one or its history."""
    name = table_name(folder.path, default_schema)
    return TableName(name.schema, name.table + HISTORY_SUFFIX) if folder.is_history else name


def _quoted(part: str) -> str:
    return "`" + part.replace("`", "``") + "`" if "." in part or "`" in part else part


_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`/]+)")


@dataclass(frozen=True)
class TableArgument:
    """A table as an operator names it: `[mirror/]schema.table`, dotted parts in backquotes."""

    mirror: str | None
    name: TableName

    @classmethod
    def parse(cls, text: str) -> TableArgument:
        """Read an operator's table; ValueError says what a table looks like."""
        mirror, slash, rest = text.rpartition("/") if "`" not in text else _split_mirror(text)
        parts: list[str] = []
        at = 0
        while match := _NAME_PART.match(rest, at):
            parts.append((match[1] or match[2]).replace("``", "`"))
            at = match.end()
            if at < len(rest) and rest[at] == ".":
                at += 1
        if len(parts) != 2 or at != len(rest) or (slash and not mirror):
            raise ValueError(
                f"{text!r} is not a table: write [mirror/]schema.table, such as dbo.orders or "
                "sales/dbo.orders; a part with a dot goes in backquotes: dbo.`orders.2024`"
            )
        return cls(mirror or None, TableName(parts[0], parts[1]))


def _split_mirror(text: str) -> tuple[str, str, str]:
    before, slash, after = text.partition("/")
    return (before, slash, after) if slash and "`" not in before else ("", "", text)
