"""Which database is read, and what of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote, urlsplit

from openmirror.cdc.postgresql.reload_limits import ReloadLimits
from openmirror.errors import WrongRequest
from openmirror.protocol.names import TablePath

_SCHEMES = ("postgresql", "postgres")
_FORM = "postgresql://user:password@host:5432/database"
_STREAM = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_TABLE = re.compile(r".+\..+\Z", re.DOTALL)
_COLUMN = re.compile(r".+\..+\..+\Z", re.DOTALL)


@dataclass(frozen=True)
class DatabaseUrl:
    """A PostgreSQL database, and the user who reads it."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL. Raises WrongRequest, whose message never shows the password."""
        try:
            parts = urlsplit(text)
            port = parts.port or 5432
        except ValueError as error:
            raise WrongRequest(f"the database's URL cannot be read: {error}; {_FORM}") from None
        if parts.scheme not in _SCHEMES:
            shown = f"{parts.scheme}://…" if parts.scheme else "it"
            raise WrongRequest(f"{shown} is no URL of a database that can be read: {_FORM}")
        database = unquote(parts.path.lstrip("/"))
        missing = [
            name
            for name, value in (
                ("host", parts.hostname),
                ("user", parts.username),
                ("database", database),
            )
            if not value
        ]
        if missing:
            raise WrongRequest(f"the database's URL names no {' and no '.join(missing)}: {_FORM}")
        if parts.query or parts.fragment:
            raise WrongRequest(f"the database's URL has more behind the database's name: {_FORM}")
        return cls(
            host=parts.hostname or "",
            port=port,
            database=database,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.database}"


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """One stream of one database."""

    url: DatabaseUrl
    stream: str
    """The name in the replication slot's and the publication's: `openmirror_<stream>`."""
    tables: tuple[str, ...] = ()
    """Patterns of `schema.table` to mirror, `*` for any characters; empty for all tables."""
    excluded: tuple[str, ...] = ()
    """Patterns of `schema.table` to leave out, also where `tables` has them."""
    as_text: tuple[str, ...] = ()
    """Columns, `schema.table.column`, that are mirrored as the server's own text."""
    without_columns: tuple[str, ...] = ()
    """Columns, `schema.table.column`, that are left out."""
    anew: bool = False
    """Whether the stream is given up and begins anew, with a load of every table."""
    range_seconds: float = 10.0
    """The longest transaction in which rows of a table are read."""
    again: tuple[TablePath, ...] = ()
    """Tables that are loaded again once the stream begins."""
    reloads: ReloadLimits = field(default_factory=ReloadLimits)
    """Which tables are loaded again by themselves, and when."""

    def __post_init__(self) -> None:
        if not _STREAM.match(self.stream):
            raise WrongRequest(
                f"stream {self.stream!r}: write a to z, 0 to 9 and _, first one of a to z, "
                "40 at most: PostgreSQL's replication slot is called by it"
            )
        for table in (*self.tables, *self.excluded):
            if not _TABLE.match(table):
                raise WrongRequest(f"table {table!r}: write schema.table, such as public.orders")
        for column in (*self.as_text, *self.without_columns):
            if not _COLUMN.match(column):
                raise WrongRequest(
                    f"column {column!r}: write schema.table.column, such as public.orders.price"
                )
        if both := sorted(set(self.as_text) & set(self.without_columns)):
            raise WrongRequest(f"column {both[0]}: give --as-text or --without-column, not both")
        if not 0 < self.range_seconds <= 3600:
            raise WrongRequest("the time to read a range of rows: above 0 and at most 3600 seconds")

    @property
    def slot(self) -> str:
        """The name of PostgreSQL's replication slot, of the publication, and of connections."""
        return f"openmirror_{self.stream}"

    def wants(self, title: str) -> bool:
        """Whether the patterns choose a table; `title` is its `schema.table`."""
        if any(is_like(title, pattern) for pattern in self.excluded):
            return False
        return not self.tables or any(is_like(title, pattern) for pattern in self.tables)


def is_like(title: str, pattern: str) -> bool:
    """Whether a pattern, in which `*` stands for any characters, matches a whole `schema.table`."""
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch(".*".join(parts), title, re.DOTALL) is not None


def columns_of(wanted: Iterable[str], title: str) -> frozenset[str]:
    """Return the columns of the table `title` among names of the form `schema.table.column`."""
    prefix = f"{title}."
    return frozenset(name.removeprefix(prefix) for name in wanted if name.startswith(prefix))
