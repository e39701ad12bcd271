"""The DFS verbs on filesystems (containers): make, describe, delete, list."""

from __future__ import annotations

import json
from typing import Any

from openmirror.emulator import containers
from openmirror.emulator.account import Account
from openmirror.emulator.addresses import parse_folder
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import permissions_of
from openmirror.emulator.ticks import file_time, http_date
from openmirror.emulator.walking import MOST_ENTRIES, page

_JSON = {"content-type": "application/json;charset=utf-8"}


def list_filesystems(account: Account, call: Call) -> Reply:
    """`GET /?resource=account`."""
    prefix = call.query.get("prefix", "")
    found = [
        {
            "name": node.address.container,
            "etag": node.etag,
            "lastModified": http_date(node.modified),
        }
        for node in account.disk.containers()
        if node.address.container.startswith(prefix)
    ]
    return _json({"filesystems": found})


def list_paths(account: Account, call: Call) -> Reply:
    """`GET ?resource=filesystem`; the folder is in `directory`, or in the URL."""
    account.disk.require_container(call.address)
    folder = call.address
    if call.query.get("directory"):
        folder = parse_folder(call.query["directory"], call.address.container)
    if "recursive" not in call.query:
        raise RefusedCall(Fault.MISSING_QUERY, "recursive")
    node = account.disk.require(folder)
    if not node.is_folder:
        # A file lists itself: Spark's driver asks so for each file that it is to read.
        return _json({"paths": [_entry(call, node)]})
    found = page(
        account.disk,
        folder,
        recursive=call.flag("recursive"),
        most=_most(call),
        token=call.query.get("continuation", ""),
        start=call.query.get("beginfrom", ""),
    )
    reply = _json({"paths": [_entry(call, child) for child in found.nodes]})
    if found.after is None:
        return reply
    return Reply(200, {**reply.headers, "x-ms-continuation": found.after}, reply.content)


def describe(account: Account, call: Call) -> Reply:
    """`HEAD ?resource=filesystem`."""
    headers = containers.described(account.disk.require_container(call.address))
    return Reply(200, {**headers, "x-ms-namespace-enabled": "true"})


def create(account: Account, call: Call) -> Reply:
    """`PUT ?resource=filesystem`."""
    reply = containers.create(account, call)
    return Reply(201, {**reply.headers, "x-ms-namespace-enabled": "true"})


def _most(call: Call) -> int:
    most = call.number("maxresults", MOST_ENTRIES)
    if not most:
        raise RefusedCall(Fault.INVALID_QUERY, "maxResults is at least 1")
    return most


def _entry(call: Call, node: Node) -> dict[str, Any]:
    kind = {"isDirectory": "true"} if node.is_folder else {}
    return {
        "name": call.spelling.path(node.address.path),
        **kind,
        "contentLength": str(node.size),
        "creationTime": str(file_time(node.created)),
        "etag": node.etag,
        "lastModified": http_date(node.modified),
        "owner": node.facts.access.owner,
        "group": node.facts.access.group,
        "permissions": permissions_of(node),
    }


def _json(value: dict[str, Any]) -> Reply:
    return Reply(200, _JSON, json.dumps(value, ensure_ascii=False).encode())
