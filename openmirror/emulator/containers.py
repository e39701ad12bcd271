"""Making, describing and deleting containers, which DFS clients call filesystems."""

from __future__ import annotations

import time
from dataclasses import replace

from openmirror.emulator.account import Account
from openmirror.emulator.addresses import check_container_name
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Facts
from openmirror.emulator.leases import check_write
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import leased, sent_metadata, written
from openmirror.emulator.trash import throw_away


def create(account: Account, call: Call) -> Reply:
    """Make a container; raises Refused when there is one."""
    name = call.address.container
    check_container_name(name)
    if name == account.name:
        raise RefusedCall(Fault.INVALID_NAME, "in URLs that name would mean the account")
    with account.gate():
        if account.disk.find(call.address) is not None:
            raise RefusedCall(Fault.CONTAINER_EXISTS, name)
        node = account.disk.make_folder(call.address, Facts(metadata=sent_metadata(call)))
    return Reply(201, written(node))


def describe(account: Account, call: Call) -> Reply:
    """The container's headers."""
    return Reply(200, described(account.disk.require_container(call.address)))


def described(node: Node) -> dict[str, str]:
    """All headers about a container."""
    metadata = {f"x-ms-meta-{name}": value for name, value in node.facts.metadata.items()}
    return {
        **written(node),
        **leased(node.facts, time.time()),
        "x-ms-has-immutability-policy": "false",
        "x-ms-has-legal-hold": "false",
        "x-ms-default-encryption-scope": "$account-encryption-key",
        "x-ms-deny-encryption-scope-override": "false",
        **metadata,
    }


def set_metadata(account: Account, call: Call) -> Reply:
    """Replace the container's metadata."""
    with account.gate():
        node = account.disk.require_container(call.address)
        Conditions.of(call).check_change(node)
        changed = replace(node.facts, metadata=sent_metadata(call))
        return Reply(200, written(account.disk.touch(node, changed)))


def delete(account: Account, call: Call) -> Reply:
    """Delete a container with all in it; as in Azure, there is no event for its files."""
    with account.gate():
        node = account.disk.require_container(call.address)
        Conditions.of(call).check_change(node)
        check_write(node.facts.lease, call.lease_id, time.time())
        trash = account.disk.remove(node)
    throw_away(trash)
    return Reply(202)
