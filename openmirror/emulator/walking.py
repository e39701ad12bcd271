"""Listing in pages: folders and files in a fixed order, going on after any of them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from openmirror.emulator.addresses import Address
from openmirror.emulator.disk import Disk
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node

MOST_ENTRIES = 5000
"""Of one page, as in Azure."""


@dataclass(frozen=True)
class NodePage:
    """Some of what is below a folder; `after` goes on where it ends."""

    nodes: tuple[Node, ...]
    after: str | None


def page(
    disk: Disk,
    folder: Address,
    *,
    recursive: bool,
    most: int,
    token: str,
    prefix: str = "",
    start: str = "",
) -> NodePage:
    """At most so many entries after what the token stands for. Raises Refused.

    A folder comes before what is in it. Of the folder itself, names begin with `prefix`. `start` is
    the path in the folder, not necessarily there, that nothing listed comes before; one that is not
    recursive begins with a name.
    """
    first = tuple(start.split("/")) if recursive else (start.removesuffix("/"),)
    if "/" in first[0]:
        raise RefusedCall(Fault.INVALID_QUERY, "a list that is not recursive starts from one name")
    after = tuple(_decoded(token).split("/")) if token else ()
    most = min(most, MOST_ENTRIES) or MOST_ENTRIES
    found: list[Node] = []
    for node in _walk(disk, folder, prefix, after, first, recursive=recursive):
        if len(found) == most:
            return NodePage(tuple(found), _encoded(found[-1].address.path))
        found.append(node)
    return NodePage(tuple(found), None)


def _walk(
    disk: Disk,
    folder: Address,
    prefix: str,
    after: tuple[str, ...],
    start: tuple[str, ...],
    *,
    recursive: bool,
) -> Iterator[Node]:
    depth = folder.path.count("/") + 1 if folder.path else 0
    # While we are on the way to where the last page ended, smaller names are done.
    bound = after[depth] if len(after) > depth else ""
    first = start[0] if start else ""
    place = disk.path_of(folder)
    for name in disk.names(folder):
        if not name.startswith(prefix) or name < bound or name < first:
            continue
        address = folder.child(name)
        on_the_way = name == bound
        node = disk.find_in(place, address)
        if node is None:
            continue
        deeper = start[1:] if name == first else ()
        if not on_the_way and not deeper:
            yield node
        if recursive and node.is_folder:
            rest = after if on_the_way else ()
            yield from _walk(disk, address, "", rest, deeper, recursive=True)


def _encoded(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def _decoded(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise RefusedCall(Fault.INVALID_QUERY, "this continuation is none of ours") from error
