"""HEAD and GET of a file or folder, the same on both endpoints."""

from __future__ import annotations

import base64
import hashlib
import os
import re

from openmirror.emulator.account import Account
from openmirror.emulator.calls import Call, FilePart, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import described

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_MOST_HASHED = 4 << 20


def get_properties(account: Account, call: Call) -> Reply:
    """What HEAD answers."""
    node = account.disk.require(call.address)
    Conditions.of(call).check_read(node)
    return Reply(headers=described(node))


def read(account: Account, call: Call) -> Reply:
    """A file's bytes, or a range of them, all of one content."""
    node = account.disk.require(call.address)
    if node.is_folder:
        Conditions.of(call).check_read(node)
        return Reply(headers=described(node))
    fd = account.disk.open(node)
    try:
        # What was opened may be newer than what was found; its own facts go with its bytes.
        opened = account.disk.node_of(call.address, fd)
        Conditions.of(call).check_read(opened)
        return _part(call, opened, fd)
    except BaseException:
        os.close(fd)
        raise


def _part(call: Call, node: Node, fd: int) -> Reply:
    headers = described(node)
    asked = _asked(call)
    if asked is None:
        return Reply(200, headers, FilePart(fd, 0, node.size))
    first, last = asked
    if first >= node.size:
        raise RefusedCall(Fault.INVALID_RANGE, f"the file has {node.size} bytes")
    end = node.size if last is None else min(last + 1, node.size)
    headers |= {
        "content-length": str(end - first),
        "content-range": f"bytes {first}-{end - 1}/{node.size}",
    }
    whole_md5 = headers.pop("content-md5", None)
    if whole_md5:
        headers["x-ms-blob-content-md5"] = whole_md5
    if call.header("x-ms-range-get-content-md5") == "true":
        if end - first > _MOST_HASHED:
            raise RefusedCall(Fault.INVALID_HEADER, "an MD5 is made of ranges up to 4 MiB")
        md5 = hashlib.md5(os.pread(fd, end - first, first), usedforsecurity=False)
        headers["content-md5"] = base64.b64encode(md5.digest()).decode()
    return Reply(206, headers, FilePart(fd, first, end - first))


def _asked(call: Call) -> tuple[int, int | None] | None:
    header = call.header("x-ms-range") or call.header("range")
    if header is None:
        return None
    match = _RANGE.fullmatch(header.strip())
    # As HTTP wants it, a range that makes no sense is one that was not asked for.
    if match is None or (match[2] and int(match[2]) < int(match[1])):
        return None
    return int(match[1]), int(match[2]) if match[2] else None
