"""Append and flush: the two steps by which DFS clients write a file."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from openmirror.emulator.account import Account
from openmirror.emulator.bodies import Reserved
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.leases import check_write
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import sent_properties, written


def append(account: Account, call: Call) -> Reply:
    """`PATCH ?action=append&position=`; with `flush=true` the flush in the same request."""
    position = call.number("position")
    with account.gate():
        node = _file(account, call)
        check_write(node.facts.lease, call.lease_id, time.time())
        # As in Azure, bytes below the file's end are taken here, and refused by the flush.
        if call.body.size:
            account.staging.append(node, position, call.body)
        if call.flag("flush"):
            node = _flush(account, call, node, position + call.body.size)
            return Reply(202, written(node) | {"x-ms-request-server-encrypted": "true"})
    return Reply(202, {"x-ms-request-server-encrypted": "true"})


def reserve(account: Account, call: Call) -> Reserved | None:
    """Where the body of an append belongs, before it came; None where it must be kept elsewhere."""
    length, position = call.headers.get("content-length", ""), call.query.get("position", "")
    given = (length, position)
    if not all(text.isascii() and text.isdigit() and len(text) < 14 for text in given):
        return None
    with account.gate():
        node = account.disk.find(call.address)
        if node is None or node.is_folder:
            return None
        return account.staging.reserve(node, int(position), int(length))


def flush(account: Account, call: Call) -> Reply:
    """`PATCH ?action=flush&position=`: readers see all that was appended, at once."""
    position = call.number("position")
    if call.body.size:
        raise RefusedCall(Fault.INVALID_INPUT, "a flush has no body")
    with account.gate():
        node = _flush(account, call, _file(account, call), position)
    return Reply(200, written(node) | {"content-length": "0"})


def _flush(account: Account, call: Call, node: Node, position: int) -> Node:
    # Once refused they are gone, or they would keep every later flush from going through.
    overwrites = account.staging.forget_overwriting(node)
    Conditions.of(call).check_change(node)
    if overwrites:
        raise RefusedCall(
            Fault.FLUSH_POSITION, f"what was appended begins below the file's {node.size} bytes"
        )
    properties = {**node.facts.properties, **sent_properties(call)}
    facts = replace(node.facts, created=node.created, properties=properties, copy=None)
    whole = account.staging.take_whole(node, position)
    if whole is not None:
        node = account.replace_content(call, node, facts, whole, call.lease_id)
    else:
        with account.staging.file() as (content, target):
            committed = account.disk.open(node)
            try:
                account.staging.assemble(node, committed, position, target)
            finally:
                os.close(committed)
            node = account.replace_content(call, node, facts, content, call.lease_id)
    if call.flag("close"):
        account.announce.created(call, "FlushWithClose", node)
    return node


def _file(account: Account, call: Call) -> Node:
    node = account.disk.require(call.address)
    if node.is_folder:
        raise RefusedCall(Fault.TYPE_MISMATCH, f"{call.address.path} is a directory")
    return node
