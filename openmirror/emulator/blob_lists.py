"""The XML lists of the Blob endpoint: containers, and the blobs of one."""

from __future__ import annotations

import time
from xml.etree.ElementTree import Element, SubElement

from openmirror.emulator.account import Account
from openmirror.emulator.addresses import Address, parse_folder
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node
from openmirror.emulator.properties import (
    DEFAULT_TYPE,
    copied,
    leased,
    permissions_of,
    shown_metadata,
)
from openmirror.emulator.ticks import http_date
from openmirror.emulator.walking import MOST_ENTRIES, NodePage, page
from openmirror.emulator.xml import add_name, rendered

_XML = {"content-type": "application/xml"}


def list_containers(account: Account, call: Call) -> Reply:
    """`GET /?comp=list`."""
    prefix = call.query.get("prefix", "")
    root = Element("EnumerationResults", ServiceEndpoint=f"http://{account.name}/")
    listed = SubElement(root, "Containers")
    for node in account.disk.containers():
        if not node.address.container.startswith(prefix):
            continue
        container = SubElement(listed, "Container")
        add_name(container, node.address.container)
        _add(SubElement(container, "Properties"), _times(node) | _lease(node))
        if "metadata" in call.query.get("include", ""):
            _add(SubElement(container, "Metadata"), dict(node.facts.metadata))
    SubElement(root, "NextMarker")
    return Reply(200, _XML, rendered(root))


def list_blobs(account: Account, call: Call) -> Reply:
    """`GET ?restype=container&comp=list`: flat, or with `/` as delimiter by folder.

    Folders are there as blobs without bytes, marked by their metadata.
    """
    account.disk.require_container(call.address)
    delimiter = call.query.get("delimiter", "")
    if delimiter not in ("", "/"):
        raise RefusedCall(Fault.INVALID_QUERY, "the delimiter is / where there are folders")
    found = _found(account, call, recursive=not delimiter)
    root = Element(
        "EnumerationResults",
        ServiceEndpoint=f"http://{account.name}/",
        ContainerName=call.spelling.container(call.address),
    )
    for name in ("prefix", "marker", "maxresults", "delimiter"):
        if call.query.get(name):
            title = {"maxresults": "MaxResults"}.get(name, name.capitalize())
            shown = call.query[name]
            _add(root, {title: call.spelling.path(shown) if name == "prefix" else shown})
    blobs = SubElement(root, "Blobs")
    include = call.query.get("include", "").split(",")
    for node in found.nodes:
        if delimiter and node.is_folder:
            add_name(SubElement(blobs, "BlobPrefix"), f"{call.spelling.path(node.address.path)}/")
        else:
            _add_blob(blobs, call.spelling.path(node.address.path), node, include)
    SubElement(root, "NextMarker").text = found.after
    return Reply(200, _XML, rendered(root))


def _found(account: Account, call: Call, *, recursive: bool) -> NodePage:
    prefix = call.query.get("prefix", "")
    above, _, beginning = prefix.rpartition("/")
    folder = parse_folder(above, call.address.container)
    start = _start(call.query.get("startfrom", ""), folder)
    if start is None:
        return NodePage((), None)
    return page(
        account.disk,
        folder,
        recursive=recursive,
        most=call.number("maxresults", MOST_ENTRIES),
        token=call.query.get("marker", ""),
        prefix=beginning,
        start=start,
    )


def _start(full: str, folder: Address) -> str | None:
    """Where a list of the folder begins when it starts from a full path; None: nowhere in it."""
    parts = full.split("/")
    above = folder.path.split("/") if folder.path else []
    if parts[: len(above)] == above:
        return "/".join(parts[len(above) :])
    return "" if parts < above else None


def _add_blob(blobs: Element, name: str, node: Node, include: list[str]) -> None:
    blob = SubElement(blobs, "Blob")
    add_name(blob, name)
    properties = {
        "Creation-Time": http_date(node.created),
        **_times(node),
        "ResourceType": "directory" if node.is_folder else "file",
        "Owner": node.facts.access.owner,
        "Group": node.facts.access.group,
        "Permissions": permissions_of(node),
        "Content-Length": str(node.size),
        "Content-Type": DEFAULT_TYPE,
        **{header.title(): value for header, value in node.facts.properties.items()},
        "BlobType": "BlockBlob",
        "AccessTier": "Hot",
        "AccessTierInferred": "true",
        **_lease(node),
        "ServerEncrypted": "true",
    }
    if "Content-Md5" in properties:
        properties["Content-MD5"] = properties.pop("Content-Md5")
    if "copy" in include:
        for header, value in copied(node).items():
            properties[header.removeprefix("x-ms-").title().replace("-", "")] = value
    _add(SubElement(blob, "Properties"), properties)
    if "metadata" in include:
        _add(SubElement(blob, "Metadata"), shown_metadata(node))


def _times(node: Node) -> dict[str, str]:
    return {"Last-Modified": http_date(node.modified), "Etag": node.etag}


def _lease(node: Node) -> dict[str, str]:
    lease = leased(node.facts, time.time())
    return {
        "LeaseStatus": lease["x-ms-lease-status"],
        "LeaseState": lease["x-ms-lease-state"],
    }


def _add(parent: Element, values: dict[str, str]) -> None:
    for name, value in values.items():
        SubElement(parent, name).text = value
