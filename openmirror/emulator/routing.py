"""Which verb a request is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from openmirror.emulator import (
    appending,
    blob_lists,
    blob_paths,
    blocks,
    containers,
    copying,
    dfs_filesystems,
    dfs_paths,
    leasing,
    reading,
    renaming,
)
from openmirror.emulator.account import Account
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.errors import Fault, RefusedCall

CallHandler = Callable[[Account, Call], Reply]

_DFS_QUERY = frozenset({"resource", "action", "recursive", "position", "continuation", "mode"})
_BLOB_QUERY = frozenset({"comp", "restype", "blockid", "snapshot", "marker"})
_NOT_IMITATED = frozenset({"snapshot", "versionid", "x-ms-structured-body", "x-ms-encryption-key"})
"""Query parameters and headers that would change what a request means."""
_DFS_CLIENT = re.compile(r"storage-dfs|datalake|Azure Blob FS", re.IGNORECASE)

_DFS_PATCH: dict[str, CallHandler] = {
    "append": appending.append,
    "flush": appending.flush,
    "setproperties": dfs_paths.set_properties,
    "setaccesscontrol": dfs_paths.set_access,
    "setaccesscontrolrecursive": dfs_paths.set_access_below,
}
_DFS_FILESYSTEM: dict[str, CallHandler] = {
    "PUT": dfs_filesystems.create,
    "GET": dfs_filesystems.list_paths,
    "HEAD": dfs_filesystems.describe,
    "DELETE": containers.delete,
    "PATCH": containers.set_metadata,
}
_BLOB_CONTAINER: dict[tuple[str, str], CallHandler] = {
    ("PUT", ""): containers.create,
    ("GET", ""): containers.describe,
    ("HEAD", ""): containers.describe,
    ("DELETE", ""): containers.delete,
    ("GET", "list"): blob_lists.list_blobs,
    ("GET", "metadata"): containers.describe,
    ("HEAD", "metadata"): containers.describe,
    ("PUT", "metadata"): containers.set_metadata,
    ("PUT", "lease"): leasing.lease,
}
_BLOB_PATH: dict[tuple[str, str], CallHandler] = {
    ("PUT", ""): blob_paths.put_blob,
    ("GET", ""): reading.read,
    ("HEAD", ""): reading.get_properties,
    ("DELETE", ""): blob_paths.delete_blob,
    ("PUT", "metadata"): blob_paths.set_metadata,
    ("GET", "metadata"): reading.get_properties,
    ("HEAD", "metadata"): reading.get_properties,
    ("PUT", "properties"): blob_paths.set_properties,
    ("PUT", "lease"): leasing.lease,
    ("PUT", "block"): blocks.put_block,
    ("PUT", "blocklist"): blocks.put_block_list,
    ("GET", "blocklist"): blocks.get_block_list,
    ("PUT", "copy"): copying.abort,
}


def speaks_dfs(query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Whether a request is meant for the DFS endpoint, since one address serves both.

    Where a request is the same on both, the host says it, or else the client's own name.
    """
    host = headers.get("host", "")
    if ".dfs." in host or ".blob." in host:
        return ".dfs." in host
    if _BLOB_QUERY & query.keys() or "x-ms-blob-type" in headers or "x-ms-copy-source" in headers:
        return False
    if _DFS_QUERY & query.keys() or "x-ms-rename-source" in headers:
        return True
    return bool(_DFS_CLIENT.search(headers.get("user-agent", "")))


def verb_of(call: Call) -> CallHandler:
    """What is to be done; raises Refused for what is not imitated."""
    found = None
    if not _NOT_IMITATED & (call.query.keys() | call.headers.keys()):
        found = _dfs(call) if call.dfs else _blob(call)
    if found is None:
        query = "&".join(f"{name}={value}" for name, value in sorted(call.query.items()))
        raise RefusedCall(Fault.NOT_IMITATED, f"{call.method} ?{query}")
    return found


def _dfs(call: Call) -> CallHandler | None:
    if "x-ms-copy-source" in call.headers:
        return None
    resource, action = call.query.get("resource", ""), call.query.get("action", "").lower()
    if not call.address.container:
        return dfs_filesystems.list_filesystems if call.method == "GET" else None
    if call.method == "PUT" and "x-ms-rename-source" in call.headers:
        return renaming.rename
    if resource == "filesystem":
        return _DFS_FILESYSTEM.get(call.method)
    if call.method == "PUT" and resource in ("file", "directory"):
        return dfs_paths.create
    if call.method == "POST" or ("x-ms-lease-action" in call.headers and not action):
        return leasing.lease
    if call.method == "PATCH":
        return _DFS_PATCH.get(action)
    if call.method == "HEAD" and action == "getaccesscontrol":
        return dfs_paths.get_access
    return {
        "HEAD": reading.get_properties,
        "GET": reading.read,
        "DELETE": dfs_paths.delete,
        "PUT": blob_paths.put_blob,
    }.get(call.method)


def _blob(call: Call) -> CallHandler | None:
    comp = call.query.get("comp", "").lower()
    if not call.address.container:
        return blob_lists.list_containers if (call.method, comp) == ("GET", "list") else None
    if call.query.get("restype", "").lower() == "container":
        return _BLOB_CONTAINER.get((call.method, comp))
    if "x-ms-copy-source" in call.headers:
        return _copy(call, comp)
    return _BLOB_PATH.get((call.method, comp))


def _copy(call: Call, comp: str) -> CallHandler | None:
    if (call.method, comp) == ("PUT", "block"):
        return copying.put_block_from_url
    if (call.method, comp) != ("PUT", ""):
        return None
    return copying.put_blob_from_url if "x-ms-blob-type" in call.headers else copying.copy_blob
