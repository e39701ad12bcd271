"""The DFS verbs that make, rename, change and delete files and folders."""

from __future__ import annotations

import json
from dataclasses import replace

from openmirror.emulator.account import Account
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Facts
from openmirror.emulator.properties import (
    access_of,
    acl_of,
    sent_access,
    sent_metadata,
    sent_properties,
    written,
)


def create(account: Account, call: Call) -> Reply:
    """`PUT ?resource=file|directory`."""
    if not call.address.path:
        raise RefusedCall(Fault.INVALID_URI, "a container is made with resource=filesystem")
    return (_create_folder if call.query["resource"] == "directory" else _create_file)(
        account, call
    )


def _create_file(account: Account, call: Call) -> Reply:
    facts = _sent_facts(call, is_folder=False)
    with account.gate(), account.staging.file() as (content, _):
        old = account.disk.find(call.address)
        Conditions.of(call).check_create(old)
        node = account.replace_content(call, old, facts, content, call.lease_id)
        account.announce.created(call, "CreateFile", node, size=0)
    return Reply(201, written(node) | {"x-ms-request-server-encrypted": "true"})


def _create_folder(account: Account, call: Call) -> Reply:
    facts = _sent_facts(call, is_folder=True)
    with account.gate():
        old = account.disk.find(call.address)
        Conditions.of(call).check_create(old)
        if old is None:
            node = account.disk.make_folder(call.address, facts)
            account.announce.folder_created(call, node)
        elif old.is_folder:
            # It stays the same folder, with all in it.
            node = account.disk.touch(old, replace(facts, lease=old.facts.lease))
        else:
            raise RefusedCall(Fault.EXISTS, f"{old.address.path} is a file")
    return Reply(201, written(node))


def _sent_facts(call: Call, *, is_folder: bool) -> Facts:
    facts = Facts(metadata=sent_metadata(call), properties=sent_properties(call))
    return replace(facts, access=sent_access(call, facts.access, is_folder=is_folder))


def delete(account: Account, call: Call) -> Reply:
    """`DELETE`, of a folder with all in it when `recursive` is true."""
    recursive = call.flag("recursive")
    account.delete(call, recursive=recursive)
    return Reply(200)


def set_properties(account: Account, call: Call) -> Reply:
    """`PATCH ?action=setProperties`: metadata are replaced, headers of the content changed."""
    with account.changing(call) as node:
        facts = node.facts
        if "x-ms-properties" in call.headers:
            facts = replace(facts, metadata=sent_metadata(call))
        facts = replace(facts, properties={**facts.properties, **sent_properties(call)})
        return Reply(200, written(account.disk.touch(node, facts)))


def set_access(account: Account, call: Call) -> Reply:
    """`PATCH ?action=setAccessControl`: kept and shown, never enforced."""
    with account.changing(call) as node:
        access = sent_access(call, node.facts.access, is_folder=node.is_folder)
        if "x-ms-permissions" in call.headers:
            access = replace(access, acl="")
        return Reply(200, written(account.disk.touch(node, replace(node.facts, access=access))))


def set_access_below(account: Account, call: Call) -> Reply:
    """`PATCH ?action=setAccessControlRecursive`: kept for the folder itself only."""
    with account.changing(call) as node:
        access = sent_access(call, node.facts.access, is_folder=node.is_folder)
        account.disk.touch(node, replace(node.facts, access=access))
    done = {
        "directoriesSuccessful": int(node.is_folder),
        "filesSuccessful": int(not node.is_folder),
        "failureCount": 0,
        "failedEntries": [],
    }
    return Reply(200, {"content-type": "application/json"}, json.dumps(done).encode())


def get_access(account: Account, call: Call) -> Reply:
    """`HEAD ?action=getAccessControl`."""
    node = account.disk.require(call.address)
    Conditions.of(call).check_read(node)
    return Reply(200, written(node) | access_of(node) | {"x-ms-acl": acl_of(node)})
