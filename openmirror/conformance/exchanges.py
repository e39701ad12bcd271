"""One request of a publisher and what came of it, in the protocol's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from openmirror.emulator.addresses import parse_folder
from openmirror.emulator.places import Naming
from openmirror.table import layout
from openmirror.table.layout import StorePath


class Deed(StrEnum):
    """What a request does to files."""

    MAKE_FILE = "make-file"
    """A file that is empty at first (DFS create)."""
    APPEND = "append"
    """Bytes that nobody sees yet."""
    FLUSH = "flush"
    """What was appended is seen from now on."""
    PUT = "put"
    """A whole file at once: Put Blob, a block list, a copy."""
    RENAME = "rename"
    DELETE = "delete"
    MAKE_FOLDER = "make-folder"
    CHANGE = "change"
    """Properties, metadata or rights; what is in the file stays."""
    LIST = "list"
    READ = "read"
    OTHER = "other"


class InjectedFault(StrEnum):
    """What was done to a request instead of carrying it out and answering it."""

    BUSY = "503"
    """Not carried out, and answered by 503 with Retry-After."""
    CONDITION = "412"
    """Not carried out, and answered as if another had taken the name."""
    LOST = "lost"
    """Carried out, and never answered."""
    CUT = "cut"
    """Neither carried out nor answered: the connection broke."""
    RESTART_AFTER = "restart-after"
    """Carried out, and the publisher was killed before it heard so."""
    RESTART_BEFORE = "restart-before"
    """Not carried out: the publisher was killed while it asked."""

    @property
    def is_restart(self) -> bool:
        """Whether the publisher was killed and started again."""
        return self in (InjectedFault.RESTART_AFTER, InjectedFault.RESTART_BEFORE)


RETRY_AFTER_SECONDS = 1
"""What a 503 asks for."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a request asks for."""

    deed: Deed
    path: StorePath
    """What it is about, as `landing/<mirror>/Files/LandingZone/…`, whatever the container."""
    source: StorePath | None = None
    """Of a rename: the old path."""
    new_only: bool = False
    """Whether it forbids that something has the name already (`If-None-Match: *`)."""
    recursive: bool = False
    closes: bool = False
    """Of a flush or an append: whether it says that the file is finished."""
    position: int = 0
    """Of an append: where its bytes go; of a flush: the length of the file after it."""
    flushes: bool = False
    """Of an append: whether what it appends is seen at once."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request and its answer."""

    number: int
    """Counted from 1, in the order in which requests came."""
    at: datetime
    asked: Asked
    status: int | None = None
    """The answer's; None when there was none."""
    done: bool = True
    """Whether the account carried it out, whatever the publisher heard of it."""
    size: int = 0
    """Bytes of its body."""
    body: bytes | None = None
    """Of small requests about JSON files."""
    body_hash: str | None = None
    """Of its body, as far as one was computed."""
    rows_hash: str | None = None
    """Of the rows of the change file that it brought, whatever its bytes; None when unknown."""
    staged_rows: str | None = None
    """Of a restart before a rename: the same of the file that was to be renamed."""
    fault: InjectedFault | None = None


def read_request(
    method: str, raw_path: str, query: Mapping[str, str], headers: Mapping[str, str], naming: Naming
) -> Asked:
    """What a request asks for; query and headers by name in lower case.

    Raises RefusedCall for a path that is none.
    """
    place = naming.place(raw_path, query)
    address = place.address
    path = _landing(address.container, address.path)
    comp, action = query.get("comp", "").lower(), query.get("action", "").lower()
    source = None
    if "x-ms-rename-source" in headers:
        old = naming.rename_source(headers["x-ms-rename-source"])
        source = _landing(old.container, old.path)
    listed = _listed(place.query, comp)
    if listed is not None:
        below = parse_folder(listed, address.container).path or address.path
        path = _landing(address.container, below)
    return Asked(
        deed=_deed(method.upper(), query, headers, comp, action),
        path=path,
        source=source,
        new_only=headers.get("if-none-match", "").strip().strip('"') == "*",
        recursive=_is_recursive(query, comp),
        closes=query.get("close", "").lower() == "true",
        position=_number(query.get("position")),
        flushes=query.get("flush", "").lower() == "true",
    )


def _landing(container: str, path: str) -> StorePath:
    """A publisher's path as the local form has it: OneLake has a workspace for a container."""
    if not path:
        return StorePath(container)
    parts = path.split("/")
    in_zone = len(parts) > 2 and tuple(parts[1:3]) == layout.ZONE
    return layout.join(layout.LANDING if in_zone else StorePath(container), path)


def _listed(query: Mapping[str, str], comp: str) -> str | None:
    if query.get("resource", "").lower() == "filesystem":
        return query.get("directory", "")
    if comp == "list":
        return query.get("prefix", "").rpartition("/")[0]
    return None


def _is_recursive(query: Mapping[str, str], comp: str) -> bool:
    if comp == "list":
        return "delimiter" not in query
    return query.get("recursive", "").lower() == "true"


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0


def _deed(
    method: str, query: Mapping[str, str], headers: Mapping[str, str], comp: str, action: str
) -> Deed:
    is_list = comp == "list" or query.get("resource", "").lower() == "filesystem"
    match method:
        case "GET" | "HEAD":
            return Deed.LIST if is_list and method == "GET" else Deed.READ
        case "DELETE":
            return Deed.OTHER if is_list or "restype" in query else Deed.DELETE
        case "PATCH":
            changed = Deed.OTHER if is_list else Deed.CHANGE
            return {"append": Deed.APPEND, "flush": Deed.FLUSH}.get(action, changed)
        case "PUT":
            return _put(query, headers, comp)
    return Deed.OTHER


def _put(query: Mapping[str, str], headers: Mapping[str, str], comp: str) -> Deed:
    if "x-ms-rename-source" in headers:
        return Deed.RENAME
    match query.get("resource", "").lower():
        case "file":
            return Deed.MAKE_FILE
        case "directory":
            return Deed.MAKE_FOLDER
        case "filesystem":
            return Deed.MAKE_FOLDER
    if query.get("restype", "").lower() == "container":
        return Deed.OTHER if comp else Deed.MAKE_FOLDER
    if comp == "block":
        return Deed.APPEND
    if comp in ("", "blocklist"):
        return Deed.PUT
    return Deed.CHANGE if comp in ("metadata", "properties") else Deed.OTHER
