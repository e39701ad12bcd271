"""Headers about a file or folder: read from requests, written into answers."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Mapping
from dataclasses import replace

from openmirror.emulator.calls import Call
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Access, Facts
from openmirror.emulator.leases import LeaseState, is_held, state_of
from openmirror.emulator.nodes import Node
from openmirror.emulator.ticks import http_date

FOLDER_MARK = "hdi_isfolder"
"""The metadata by which Blob clients recognize a folder."""
DEFAULT_TYPE = "application/octet-stream"

_META = "x-ms-meta-"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_CONTENT = (
    "content-type",
    "content-encoding",
    "content-language",
    "content-disposition",
    "cache-control",
    "content-md5",
)
_FULL_FOLDER, _FULL_FILE, _UMASK = 0o777, 0o666, 0o027
_MOST_METADATA = 8192


def sent_metadata(call: Call) -> dict[str, str]:
    """Metadata in `x-ms-properties` (DFS) or `x-ms-meta-…` (Blob). Raises Refused."""
    found = dict(_encoded(call.header("x-ms-properties") or ""))
    for name, value in call.headers.items():
        if name.startswith(_META):
            found[name.removeprefix(_META)] = value
    found.pop(FOLDER_MARK, None)
    for name, value in found.items():
        if not _NAME.fullmatch(name) or "\0" in value or "\r" in value or "\n" in value:
            raise RefusedCall(Fault.INVALID_METADATA, name)
    if sum(map(len, found)) + sum(map(len, found.values())) > _MOST_METADATA:
        raise RefusedCall(Fault.INVALID_METADATA, f"more than {_MOST_METADATA} characters")
    return found


def sent_properties(call: Call) -> dict[str, str]:
    """The content's own headers, as `x-ms-content-type` (DFS) or `x-ms-blob-content-type`."""
    found = {}
    for name in _CONTENT:
        value = call.header(f"x-ms-blob-{name}") or call.header(f"x-ms-{name}")
        if value and value != DEFAULT_TYPE:
            if not _PLAIN.fullmatch(value):
                raise RefusedCall(Fault.INVALID_HEADER, name)
            found[name] = value
    return found


def sent_access(call: Call, access: Access, *, is_folder: bool) -> Access:
    """Owner and rights with what a request says of them."""
    permissions = call.header("x-ms-permissions")
    if permissions is not None:
        umask = _octal(call.header("x-ms-umask")) if "x-ms-umask" in call.headers else 0
        mode = _mode(permissions)
        full = _FULL_FOLDER if is_folder else _FULL_FILE
        access = replace(access, permissions=_symbolic((full if mode is None else mode) & ~umask))
    return replace(
        access,
        owner=_one_line(call, "x-ms-owner") or access.owner,
        group=_one_line(call, "x-ms-group") or access.group,
        acl=_one_line(call, "x-ms-acl") or access.acl,
    )


def described(node: Node) -> dict[str, str]:
    """All headers that HEAD and GET send of a file or folder."""
    facts = node.facts
    now = time.time()
    metadata = shown_metadata(node)
    headers = {
        "accept-ranges": "bytes",
        "content-length": str(node.size),
        "content-type": DEFAULT_TYPE,
        **{name: value for name, value in facts.properties.items() if value},
        **written(node),
        "x-ms-creation-time": http_date(node.created),
        "x-ms-blob-type": "BlockBlob",
        "x-ms-resource-type": "directory" if node.is_folder else "file",
        "x-ms-access-tier": "Hot",
        "x-ms-access-tier-inferred": "true",
        "x-ms-server-encrypted": "true",
        **leased(facts, now),
        **access_of(node),
        **copied(node),
    }
    if metadata:
        headers["x-ms-properties"] = ",".join(
            f"{name}={base64.b64encode(_bytes(value)).decode()}" for name, value in metadata.items()
        )
    for name, value in metadata.items():
        if _PLAIN.fullmatch(value):
            headers[f"{_META}{name}"] = value
    return headers


def shown_metadata(node: Node) -> dict[str, str]:
    """What clients set, and the mark of a folder."""
    mark = {FOLDER_MARK: "true"} if node.is_folder else {}
    return mark | dict(node.facts.metadata)


def written(node: Node) -> dict[str, str]:
    """What every answer to a write says."""
    return {"etag": node.quoted_etag, "last-modified": http_date(node.modified)}


def leased(facts: Facts, now: float) -> dict[str, str]:
    """The state of the lease."""
    state = state_of(facts.lease, now)
    headers = {
        "x-ms-lease-state": str(state),
        "x-ms-lease-status": "locked" if is_held(facts.lease, now) else "unlocked",
    }
    if facts.lease and state is LeaseState.LEASED:
        headers["x-ms-lease-duration"] = "infinite" if facts.lease.seconds < 0 else "fixed"
    return headers


def copied(node: Node) -> dict[str, str]:
    """The copy that the content came by; nothing without one."""
    copy = node.facts.copy
    if copy is None:
        return {}
    return {
        "x-ms-copy-id": copy.id,
        "x-ms-copy-source": copy.source,
        "x-ms-copy-status": "success",
        "x-ms-copy-progress": f"{copy.size}/{copy.size}",
        "x-ms-copy-completion-time": http_date(copy.completed),
    }


def access_of(node: Node) -> dict[str, str]:
    """Owner, group and permissions, as in `rwxr-x---`."""
    access = node.facts.access
    return {
        "x-ms-owner": access.owner,
        "x-ms-group": access.group,
        "x-ms-permissions": permissions_of(node),
    }


def permissions_of(node: Node) -> str:
    """As `rwxr-x---`, with a plus for an ACL that says more."""
    full = _FULL_FOLDER if node.is_folder else _FULL_FILE
    shown = node.facts.access.permissions or _symbolic(full & ~_UMASK)
    extended = node.facts.access.acl.count(",") > 2
    return f"{shown}+" if extended else shown


def acl_of(node: Node) -> str:
    """The ACL that was set, or the one that the permissions amount to."""
    if node.facts.access.acl:
        return node.facts.access.acl
    shown = permissions_of(node)
    return f"user::{shown[:3]},group::{shown[3:6]},other::{shown[6:9]}"


def _encoded(header: str) -> Mapping[str, str]:
    found = {}
    for part in header.split(","):
        if not part.strip():
            continue
        name, separator, value = part.strip().partition("=")
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RefusedCall(Fault.INVALID_HEADER, "x-ms-properties is not Base64") from error
        if not separator:
            raise RefusedCall(Fault.INVALID_HEADER, "x-ms-properties is name=value, …")
        found[name] = decoded.decode("latin-1")
    return found


def _bytes(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()


def _one_line(call: Call, name: str) -> str | None:
    value = call.header(name)
    if value is not None and not _PLAIN.fullmatch(value):
        raise RefusedCall(Fault.INVALID_HEADER, name)
    return value


def _octal(text: str | None) -> int:
    try:
        value = int(text or "0", 8)
    except ValueError as error:
        raise RefusedCall(Fault.INVALID_HEADER, f"{text!r} is no octal number") from error
    return value & 0o7777


def _mode(text: str) -> int | None:
    """The mode in four octal digits, or in the symbolic form `rwxr-x---`."""
    if re.fullmatch(r"[0-7]{3,4}", text):
        return int(text, 8)
    if re.fullmatch(r"([r-][w-][x-]){2}[r-][w-][xtT-]\+?", text):
        return sum(1 << (8 - index) for index, flag in enumerate(text[:9]) if flag in "rwxt")
    raise RefusedCall(Fault.INVALID_HEADER, f"x-ms-permissions: {text!r}")


def _symbolic(mode: int) -> str:
    return "".join(
        flag if mode >> (8 - index) & 1 else "-" for index, flag in enumerate("rwxrwxrwx")
    )
