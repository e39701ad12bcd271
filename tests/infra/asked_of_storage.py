"""From requests that were recorded to what storage asks the roles for; what is not known raises."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from openmirror.emulator.routing import speaks_dfs
from tests.infra.access import LAKE, RUNTIME, Files, Messages, Operation
from tests.infra.recording import Request

_ACCESS = frozenset({"setaccesscontrol", "setaccesscontrolrecursive"})


class NotKnown(Exception):
    """A request of which nobody here knows what it asks for."""


def of_the_lake(request: Request) -> Operation:
    """What a request to the lake account asks for, at either of its endpoints."""
    container, path = _place(request.path)
    if not container:
        raise NotKnown(f"a request to the account itself: {request}")
    files = Files(LAKE, container)
    found = (
        _data_lake(request, files, path)
        if speaks_dfs(request.query, request.headers)
        else _blob(request, files, path)
    )
    return _known(request, found)


def of_the_dead_letters(request: Request) -> Operation:
    """What a request to the runtime account's blobs asks for."""
    container, path = _place(request.path)
    return _known(request, _blob(request, Files(RUNTIME, container), path))


def of_the_queues(request: Request) -> Operation:
    """What a request to the runtime account's queues asks for."""
    name, path = _place(request.path)
    queue = Messages(name)
    if not path:
        metadata = request.query.get("comp") == "metadata"
        itself = {"PUT": queue.make, "DELETE": queue.remove}
        found = queue.count if metadata else itself.get(request.method)
    elif path == "messages":
        taking = queue.peek if request.query.get("peekonly") == "true" else queue.take
        found = {"POST": queue.send, "GET": taking, "DELETE": queue.clear}.get(request.method)
    else:
        found = {"DELETE": queue.delete, "PUT": queue.renew}.get(request.method)
    return _known(request, found() if found else None)


def _place(path: str) -> tuple[str, str]:
    """Container or queue, and what is named in it; the first part is the emulator's account."""
    _, _, rest = path.lstrip("/").partition("/")
    name, _, inside = rest.lstrip("/").partition("/")
    return name, inside.strip("/")


def _data_lake(request: Request, files: Files, path: str) -> Operation | None:
    resource = request.query.get("resource", "")
    action = request.query.get("action", "").lower()
    source = request.headers.get("x-ms-rename-source")
    if resource == "filesystem":
        folder = request.query.get("directory", "").strip("/")
        whole = {"HEAD": files.describe, "PUT": files.make, "DELETE": files.remove}
        if request.method == "GET":
            return files.list(folder or path)
        return whole[request.method]() if request.method in whole else None
    match request.method:
        case "GET" | "HEAD":
            return files.read(path)
        case "DELETE":
            return files.delete(path)
        case "PUT" if source is not None:
            within = urlsplit(source).path if "://" in source else source.partition("?")[0]
            inside = unquote(within).lstrip("/").partition("/")
            account_first = inside[0] != files.name
            old = inside[2].partition("/")[2] if account_first else inside[2]
            return files.rename(old, path)
        case "PUT" if resource in ("file", "directory"):
            return files.write(path)
        case "PATCH" if action in ("append", "flush"):
            return files.write(path)
        case "PATCH" if action == "setproperties":
            return files.change(path)
        case "PATCH" if action in _ACCESS:
            return files.set_access(path)
        case "POST":  # a lease
            return files.change(path)
    return None


def _blob(request: Request, files: Files, path: str) -> Operation | None:
    comp = request.query.get("comp", "").lower()
    if request.query.get("restype") == "container":
        if comp == "list":
            return files.list_names(request.query.get("prefix", ""))
        whole = {
            "GET": files.describe,
            "HEAD": files.describe,
            "PUT": files.make,
            "DELETE": files.remove,
        }
        return whole[request.method]() if not comp else None
    match request.method:
        case "GET" | "HEAD":
            return files.read(path)
        case "DELETE":
            return files.delete(path)
        case "PUT" if not comp:
            return files.write(path)
        case "PUT" if comp in ("lease", "block", "blocklist", "metadata", "properties"):
            return files.change(path)
    return None


def _known(request: Request, found: Operation | None) -> Operation:
    if found is None:
        raise NotKnown(f"{request.method} {request.path} {dict(request.query)}")
    return found
