"""Rename: the one verb that takes two addresses."""

from __future__ import annotations

import time

from openmirror.emulator.account import Account
from openmirror.emulator.addresses import Address
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.leases import check_write
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import written


def rename(account: Account, call: Call) -> Reply:
    """`PUT` with `x-ms-rename-source`; what has the new name is replaced, unless forbidden."""
    source_address = call.naming.rename_source(call.headers["x-ms-rename-source"])
    if not call.address.path:
        raise RefusedCall(Fault.INVALID_URI, "a container cannot be the destination of a rename")
    with account.gate():
        source = _source(account, call, source_address)
        destination = account.disk.find(call.address)
        Conditions.of(call).check_create(destination)
        _check_destination(account, call, source, destination)
        if destination is not None and destination.identity == source.identity:
            return Reply(201, written(source))
        if destination is not None:
            account.staging.forget_appended(destination)
        account.staging.forget_blocks(call.address)
        node = account.disk.rename(source, call.address)
        account.announce.renamed(call, source_address, node)
    return Reply(201, written(node))


def _source(account: Account, call: Call, address: Address) -> Node:
    source = account.disk.find(address)
    if source is None:
        account.disk.require_container(address)
        raise RefusedCall(Fault.SOURCE_MISSING, address.path)
    Conditions.of(call, "x-ms-source-").check_source(source)
    lease_id = call.header("x-ms-source-lease-id")
    check_write(source.facts.lease, lease_id.lower() if lease_id else None, time.time())
    return source


def _check_destination(
    account: Account, call: Call, source: Node, destination: Node | None
) -> None:
    """Raises Refused unless the source may take this name."""
    account.disk.require_container(call.address)
    if source.is_folder and source.address.contains(call.address):
        raise RefusedCall(Fault.SOURCE_INTO_ITSELF)
    if destination is None:
        parent = account.disk.find(call.address.parent)
        if parent is None:
            raise RefusedCall(Fault.DESTINATION_PARENT_MISSING, call.address.parent.path)
        if not parent.is_folder:
            raise RefusedCall(Fault.PATH_CONFLICT, f"{parent.address.path} is a file")
        return
    check_write(destination.facts.lease, call.lease_id, time.time())
    if source.is_folder != destination.is_folder:
        raise RefusedCall(Fault.EXISTS, "it is a directory and the other a file")
    if destination.is_folder and not account.disk.is_empty(call.address):
        raise RefusedCall(Fault.NOT_EMPTY, "the destination is not empty")
