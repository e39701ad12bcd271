"""Which database is captured, and where to."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot
from openmirror.errors import WrongRequest

_SCHEMES = ("postgresql", "postgres")
_FORM = "postgresql://user:password@host:5432/database"
_STREAM = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_TABLE = re.compile(r"[^.]+\.[^.]+\Z")


@dataclass(frozen=True)
class DatabaseUrl:
    """A PostgreSQL database, and who reads it."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read it; raises WrongRequest, which never shows the password."""
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
class CaptureSettings:
    """One capture of one database."""

    url: DatabaseUrl
    stream: str
    """What the replication slot and the publication are called by: openmirror_<stream>."""
    spool: Path
    class_path: str = field(default="", repr=False)
    """Debezium's jars."""
    tables: tuple[str, ...] = ()
    """`schema.table`, where `*` stands for any characters; none means all."""
    heartbeat_seconds: float = 5.0
    anew: bool = False
    """Whether the stream is given up, and begins anew with a snapshot."""
    snapshot: AskedSnapshot | None = None
    """A new snapshot of one table, to be taken once it has begun."""

    def __post_init__(self) -> None:
        if not _STREAM.match(self.stream):
            raise WrongRequest(
                f"stream {self.stream!r}: write a to z, 0 to 9 and _, first one of a to z, "
                "40 at most: PostgreSQL's replication slot is called by it"
            )
        for table in self.tables:
            if not _TABLE.match(table):
                raise WrongRequest(f"table {table!r}: write schema.table, such as public.orders")

    @property
    def slot(self) -> str:
        """PostgreSQL's replication slot, and the publication."""
        return f"openmirror_{self.stream}"

    def as_json(self) -> str:
        """As a capturing process is given it, on its standard input: it holds the password."""
        return json.dumps({**asdict(self), "spool": str(self.spool)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` made."""
        given = json.loads(text)
        return cls(
            **{
                **given,
                "url": DatabaseUrl(**given["url"]),
                "spool": Path(given["spool"]),
                "tables": tuple(given["tables"]),
                "snapshot": given["snapshot"] and AskedSnapshot(**given["snapshot"]),
            }
        )
