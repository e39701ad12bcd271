"""Copies within the account: every verb that takes the bytes from a URL instead of a body."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from openmirror.emulator.account import Account
from openmirror.emulator.blob_paths import check_kind, put_folder
from openmirror.emulator.blocks import keep_block
from openmirror.emulator.bodies import Body, copy_range, md5_of
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import NOTHING_KNOWN, CopyRecord, Facts
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import copied, sent_metadata, sent_properties, written

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")
_PIECE = 1 << 20
_ANSWERED = ("x-ms-copy-id", "x-ms-copy-status")


@dataclass(frozen=True)
class _Source:
    """An open file; whatever happens to its name meanwhile, these stay its bytes and facts."""

    node: Node
    fd: int

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Its bytes between two offsets, a megabyte at a time."""
        while start < end:
            piece = os.pread(self.fd, min(_PIECE, end - start), start)
            if not piece:
                raise EOFError("a file became shorter while it was copied")
            yield piece
            start += len(piece)


def copy_blob(account: Account, call: Call) -> Reply:
    """`PUT` with `x-ms-copy-source`: done when it is answered, with `x-ms-requires-sync` or not."""
    found = _found(account, call)
    if found.is_folder:
        # To Blob clients it is a blob without bytes whose metadata say what it is, so it stays one.
        made = put_folder(
            account, call, Facts(metadata=sent_metadata(call) or found.facts.metadata)
        )
        done = {"x-ms-copy-id": str(uuid4()), "x-ms-copy-status": "success"}
        return Reply(202, {**made.headers, **done})
    # As later answers name it: without what may be a secret.
    shown = call.headers["x-ms-copy-source"].partition("?")[0]
    with _source(account, call) as source:
        if "x-ms-source-content-md5" in call.headers:
            _check_md5(call, md5_of(source.pieces(0, source.node.size)))
        facts = Facts(
            metadata=sent_metadata(call) or source.node.facts.metadata,
            properties=source.node.facts.properties,
            blocks=source.node.facts.blocks,
            copy=CopyRecord(str(uuid4()), shown, source.node.size, time.time_ns()),
        )
        node = _written(account, call, source, facts, "CopyBlob")
    shown_copy = copied(node)
    return Reply(202, written(node) | {name: shown_copy[name] for name in _ANSWERED})


def put_blob_from_url(account: Account, call: Call) -> Reply:
    """The same as Put Blob, but for where the bytes come from; no copy is spoken of afterwards."""
    check_kind(call)
    with _source(account, call) as source:
        md5 = md5_of(source.pieces(0, source.node.size))
        _check_md5(call, md5)
        as_it_is = (call.header("x-ms-copy-source-blob-properties") or "true").lower() == "true"
        old = source.node.facts if as_it_is else NOTHING_KNOWN
        facts = Facts(
            metadata=sent_metadata(call) or old.metadata,
            properties={**old.properties, "content-md5": md5} | sent_properties(call),
        )
        node = _written(account, call, source, facts, "PutBlob")
    return Reply(201, written(node) | {"x-ms-request-server-encrypted": "true", "content-md5": md5})


def put_block_from_url(account: Account, call: Call) -> Reply:
    """`PUT ?comp=block` with `x-ms-copy-source`: a block of bytes that lie in the account."""
    with _source(account, call) as source:
        start, end = _range(call, source.node.size)
        block = Body(account.staging.folder)
        try:
            for piece in source.pieces(start, end):
                block.add(piece)
            _check_md5(call, block.md5())
            return keep_block(account, call, block)
        finally:
            block.close()


def abort(account: Account, call: Call) -> Reply:
    """`PUT ?comp=copy&copyid=`: there is never one to abort, since each is done at once."""
    account.disk.require(call.address)
    raise RefusedCall(Fault.NO_COPY)


def _found(account: Account, call: Call) -> Node:
    """What the source's URL names; raises Refused."""
    header, host = call.headers["x-ms-copy-source"], call.header("host") or ""
    address = call.naming.copy_source(header, host)
    found = account.disk.find(address)
    if found is None:
        raise RefusedCall(Fault.COPY_SOURCE_MISSING, f"{address.container}/{address.path}")
    return found


@contextmanager
def _source(account: Account, call: Call) -> Iterator[_Source]:
    """The file that is to be copied, open; raises Refused."""
    found = _found(account, call)
    if found.is_folder:
        raise RefusedCall(Fault.TYPE_MISMATCH, f"{found.address.path} is a directory")
    fd = account.disk.open(found)
    try:
        node = account.disk.node_of(found.address, fd)
        Conditions.of(call, "x-ms-source-").check_source(node)
        yield _Source(node, fd)
    finally:
        os.close(fd)


def _written(account: Account, call: Call, source: _Source, facts: Facts, api: str) -> Node:
    """The copy, at the call's address."""
    if not call.address.path:
        raise RefusedCall(Fault.INVALID_URI, "a blob has a name")
    with account.staging.file() as (content, target):
        copy_range(source.fd, 0, target, 0, source.node.size)
        with account.gate():
            account.disk.require_container(call.address)
            old = account.disk.find(call.address)
            Conditions.of(call).check_create(old)
            node = account.replace_content(call, old, facts, content, call.lease_id)
            account.announce.created(call, api, node)
    return node


def _check_md5(call: Call, found: str) -> None:
    """Raises Refused when the client says that the source is another."""
    if call.header("x-ms-source-content-md5") not in (None, found):
        raise RefusedCall(Fault.MD5_MISMATCH)


def _range(call: Call, size: int) -> tuple[int, int]:
    """Start and end of what is copied; raises Refused."""
    header = call.header("x-ms-source-range")
    if header is None:
        return 0, size
    match = _RANGE.fullmatch(header.strip())
    if match is None or int(match[2]) < int(match[1]):
        raise RefusedCall(Fault.INVALID_HEADER, f"x-ms-source-range: {header!r}")
    if int(match[2]) >= size:
        raise RefusedCall(Fault.INVALID_RANGE, f"the source has {size} bytes")
    return int(match[1]), int(match[2]) + 1
