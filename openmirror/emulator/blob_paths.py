"""The Blob verbs that write, change and delete single blobs."""

from __future__ import annotations

from dataclasses import replace

from openmirror.emulator.account import Account
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Facts
from openmirror.emulator.properties import FOLDER_MARK, sent_metadata, sent_properties, written


def put_blob(account: Account, call: Call) -> Reply:
    """`PUT` with `x-ms-blob-type`: the whole content at once."""
    check_kind(call)
    if not call.address.path:
        raise RefusedCall(Fault.INVALID_URI, "a blob has a name")
    metadata = sent_metadata(call)
    if call.header(f"x-ms-meta-{FOLDER_MARK}") == "true" and not call.body.size:
        return put_folder(account, call, Facts(metadata=metadata))
    properties = {"content-md5": call.body.md5()} | sent_properties(call)
    with account.staging.file() as (content, target):
        call.body.write_to(target, 0)
        with account.gate():
            account.disk.require_container(call.address)
            old = account.disk.find(call.address)
            Conditions.of(call).check_create(old)
            facts = Facts(metadata=metadata, properties=properties)
            node = account.replace_content(call, old, facts, content, call.lease_id)
            account.announce.created(call, "PutBlob", node)
    headers = {"x-ms-request-server-encrypted": "true", "content-md5": call.body.md5()}
    return Reply(201, written(node) | headers)


def check_kind(call: Call) -> None:
    """Raises Refused for what is no block blob."""
    kind = call.header("x-ms-blob-type")
    if kind is None:
        raise RefusedCall(Fault.MISSING_HEADER, "x-ms-blob-type")
    if kind != "BlockBlob":
        raise RefusedCall(Fault.NOT_IMITATED, f"only block blobs, not {kind}")


def put_folder(account: Account, call: Call, facts: Facts) -> Reply:
    """How Blob clients make a folder where there is a hierarchical namespace."""
    with account.gate():
        old = account.disk.find(call.address)
        Conditions.of(call).check_create(old)
        if old is None:
            node = account.disk.make_folder(call.address, facts)
            account.announce.folder_created(call, node)
        elif old.is_folder:
            node = account.disk.touch(old, replace(old.facts, metadata=facts.metadata))
        else:
            raise RefusedCall(Fault.TYPE_MISMATCH, f"{old.address.path} is a file")
    return Reply(201, written(node) | {"x-ms-request-server-encrypted": "true"})


def delete_blob(account: Account, call: Call) -> Reply:
    """`DELETE`: a file, or an empty folder."""
    account.delete(call, recursive=False)
    return Reply(202, {"x-ms-delete-type-permanent": "true"})


def set_metadata(account: Account, call: Call) -> Reply:
    """`PUT ?comp=metadata`: all of it is replaced."""
    with account.changing(call) as node:
        changed = replace(node.facts, metadata=sent_metadata(call))
        return Reply(200, written(account.disk.touch(node, changed)))


def set_properties(account: Account, call: Call) -> Reply:
    """`PUT ?comp=properties`: all headers of the content are replaced."""
    with account.changing(call) as node:
        changed = replace(node.facts, properties=sent_properties(call), copy=None)
        return Reply(200, written(account.disk.touch(node, changed)))
