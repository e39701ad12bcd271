"""Blocks, and the list that makes a blob of them."""

from __future__ import annotations

import base64
import binascii
import os
import time
from collections.abc import Iterator
from xml.etree import ElementTree

from openmirror.emulator.account import Account
from openmirror.emulator.bodies import Body, copy_range
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Facts
from openmirror.emulator.leases import check_write
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import sent_metadata, sent_properties, written
from openmirror.emulator.xml import parsed, rendered

_MOST_BLOCKS = 50_000
_LONGEST_ID = 64


def put_block(account: Account, call: Call) -> Reply:
    """`PUT ?comp=block&blockid=`."""
    return keep_block(account, call, call.body)


def keep_block(account: Account, call: Call, content: Body) -> Reply:
    """Stage a block for the call's address, wherever its bytes come from."""
    block_id = call.query.get("blockid", "")
    _check_id(block_id)
    with account.gate():
        account.disk.require_container(call.address)
        old = account.disk.find(call.address)
        check_write(old.facts.lease if old else None, call.lease_id, time.time())
        account.staging.put_block(call.address, block_id, content)
    headers = {"x-ms-request-server-encrypted": "true", "content-md5": content.md5()}
    return Reply(201, headers)


def put_block_list(account: Account, call: Call) -> Reply:
    """`PUT ?comp=blocklist`: the blob is these blocks, in this order."""
    wanted = list(_wanted(call))
    facts = Facts(metadata=sent_metadata(call), properties=sent_properties(call))
    with account.gate(), account.staging.file() as (content, target):
        account.disk.require_container(call.address)
        old = account.disk.find(call.address)
        Conditions.of(call).check_create(old)
        blocks = _assemble(account, call, old, wanted, target)
        facts = Facts(metadata=facts.metadata, properties=facts.properties, blocks=blocks)
        node = account.replace_content(call, old, facts, content, call.lease_id)
        account.announce.created(call, "PutBlockList", node)
    return Reply(201, written(node) | {"x-ms-request-server-encrypted": "true"})


def get_block_list(account: Account, call: Call) -> Reply:
    """`GET ?comp=blocklist`."""
    node = account.disk.find(call.address)
    uncommitted = account.staging.blocks(call.address)
    if node is None and not uncommitted:
        account.disk.require(call.address)
    kind = call.query.get("blocklisttype", "committed").lower()
    lists = {
        "CommittedBlocks": [] if node is None else list(node.facts.blocks),
        "UncommittedBlocks": [(block.id, block.size) for block in uncommitted],
    }
    root = ElementTree.Element("BlockList")
    for name, blocks in lists.items():
        if kind in ("all", name.removesuffix("Blocks").lower()):
            element = ElementTree.SubElement(root, name)
            for block_id, size in blocks:
                block = ElementTree.SubElement(element, "Block")
                ElementTree.SubElement(block, "Name").text = block_id
                ElementTree.SubElement(block, "Size").text = str(size)
    headers = {"content-type": "application/xml"}
    if node is not None:
        headers |= written(node) | {"x-ms-blob-content-length": str(node.size)}
    return Reply(200, headers, rendered(root))


def _wanted(call: Call) -> Iterator[tuple[str, str]]:
    """Kind and id of each block of the list; raises Refused."""
    root = parsed(call.body)
    if root.tag != "BlockList" or len(root) > _MOST_BLOCKS:
        raise RefusedCall(Fault.XML, f"a BlockList of at most {_MOST_BLOCKS} blocks")
    for element in root:
        if element.tag not in ("Latest", "Committed", "Uncommitted"):
            raise RefusedCall(Fault.XML, f"there is no <{element.tag}> in a block list")
        yield element.tag, (element.text or "").strip()


def _assemble(
    account: Account, call: Call, old: Node | None, wanted: list[tuple[str, str]], target: int
) -> tuple[tuple[str, int], ...]:
    """Write the blocks into an open file; answers their ids and sizes."""
    uncommitted = {block.id: block for block in account.staging.blocks(call.address)}
    committed = _committed(old)
    source = account.disk.open(old) if old is not None and not old.is_folder else None
    done: list[tuple[str, int]] = []
    offset = 0
    try:
        for kind, block_id in wanted:
            staged = uncommitted.get(block_id) if kind != "Committed" else None
            if staged is not None:
                account.staging.copy_block(staged, target, offset)
                size = staged.size
            elif kind != "Uncommitted" and block_id in committed and source is not None:
                start, size = committed[block_id]
                copy_range(source, start, target, offset, size)
            else:
                raise RefusedCall(Fault.BLOCK_LIST, f"there is no block {block_id!r}")
            done.append((block_id, size))
            offset += size
    finally:
        if source is not None:
            os.close(source)
    return tuple(done)


def _committed(old: Node | None) -> dict[str, tuple[int, int]]:
    """Offset and size of each block of the present content, by id."""
    found: dict[str, tuple[int, int]] = {}
    start = 0
    for block_id, size in old.facts.blocks if old else ():
        found[block_id] = (start, size)
        start += size
    # Somebody has written the file behind our back: its blocks are no longer known.
    return found if old is not None and start == old.size else {}


def _check_id(block_id: str) -> None:
    try:
        size = len(base64.b64decode(block_id, validate=True))
    except (binascii.Error, ValueError) as error:
        raise RefusedCall(Fault.INVALID_QUERY, "blockid is not Base64") from error
    if not 0 < size <= _LONGEST_ID:
        raise RefusedCall(Fault.INVALID_QUERY, f"blockid is of 1 to {_LONGEST_ID} bytes")
