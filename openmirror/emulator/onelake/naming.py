"""OneLake's paths: a workspace for a filesystem, an item as its first folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from xml.etree.ElementTree import Element, SubElement

from openmirror.emulator.account import Account
from openmirror.emulator.addresses import Address, check_text, checked_path, decoded_path
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node
from openmirror.emulator.onelake.hosts import HostPart, part_of
from openmirror.emulator.onelake.items import (
    SUFFIXES,
    FabricWorkspace,
    Item,
    Items,
    is_guid,
    without_type,
)
from openmirror.emulator.places import Place, Spelling
from openmirror.emulator.routing import CallHandler, verb_of
from openmirror.emulator.ticks import http_date
from openmirror.emulator.xml import add_name, rendered
from openmirror.table.layout import FILES, LAKE, LANDING

_TABLES = "Tables"
_READING = ("GET", "HEAD")


@dataclass(frozen=True)
class OneLakeNaming:
    """The names of items, which lie in the containers of the account as mirrors."""

    items: Items

    def place(self, raw_path: str, query: Mapping[str, str]) -> Place:
        """What a URL means; a folder that the query names is taken into the address."""
        parts = _parts(decoded_path(raw_path, Fault.INVALID_URI))
        if not parts:
            return Place(Address(), query, answer=self._list_workspaces)
        workspace = self._workspace(parts[0])
        of_container = query.get("resource") == "filesystem" or query.get("restype") == "container"
        if not of_container:
            if len(parts) == 1:
                return Place(Address(), query, answer=_only_described(workspace))
            return self._in_item(workspace, parts[1:], query)
        if "directory" in query:
            check_text(query["directory"], Fault.INVALID_QUERY)
            parts += _parts(query["directory"])
            query = {name: value for name, value in query.items() if name != "directory"}
        prefix = query.get("prefix", "")
        if query.get("comp") == "list" and "/" in prefix:
            return self._listed_by_prefix(workspace, query)
        if len(parts) == 1:
            return Place(Address(), query, answer=self._of_workspace(workspace))
        place = self._in_item(workspace, parts[1:], query)
        return Place(place.address, query, place.spelling, answer=_refuse_unless_read)

    def rename_source(self, header: str) -> Address:
        """`/workspace/item/path`, or a whole URL; either with a query, either percent-encoded."""
        if "://" in header:
            url = _url(header, Fault.SOURCE_INVALID)
            if part_of(url.netloc) is not HostPart.STORAGE:
                raise RefusedCall(Fault.SOURCE_INVALID, f"{url.netloc} is not OneLake")
            path = url.path
        else:
            path = header.partition("?")[0]
        return self._source(path, Fault.SOURCE_INVALID)

    def copy_source(self, header: str, host: str) -> Address:
        """A URL of OneLake."""
        url = _url(header, Fault.INVALID_HEADER)
        if url.netloc and part_of(url.netloc) is not HostPart.STORAGE and url.netloc != host:
            raise RefusedCall(
                Fault.NOT_IMITATED, f"copies are made within OneLake, not from {url.netloc}"
            )
        return self._source(url.path, Fault.INVALID_HEADER)

    def _source(self, path: str, fault: Fault) -> Address:
        parts = _parts(decoded_path(path, fault))
        if len(parts) < 3:
            raise RefusedCall(fault, f"{unquote(path)!r} names no path in an item")
        address = self._in_item(self._workspace(parts[0]), parts[1:], {}).address
        if address.container != LANDING:
            raise RefusedCall(Fault.FORBIDDEN, "Tables are the mirror's own, and only read")
        return address

    def _workspace(self, text: str) -> FabricWorkspace:
        found = self.items.workspace(text)
        if found is None:
            known = ", ".join(repr(one.name) for one in self.items.workspaces)
            raise RefusedCall(
                Fault.CONTAINER_MISSING, f"no workspace {text!r} is mapped here, but {known}"
            )
        return found

    def _item(self, workspace: FabricWorkspace, text: str) -> Item:
        name = without_type(text)
        found = self.items.find(workspace, name)
        if found is None:
            known = ", ".join(repr(one.folder) for one in self.items.of(workspace))
            raise RefusedCall(
                Fault.MISSING, f"no item {text!r} is mapped in {workspace.name!r}, but {known}"
            )
        if name == text and not is_guid(text):
            raise RefusedCall(
                Fault.MISSING, f"an item's name ends with its type: {text}{SUFFIXES[0]}"
            )
        return found

    def _in_item(
        self, workspace: FabricWorkspace, parts: list[str], query: Mapping[str, str]
    ) -> Place:
        item = self._item(workspace, parts[0])
        container = LAKE if parts[1:2] == [_TABLES] else LANDING
        path = checked_path([item.mirror, *parts[1:]])
        spelling = Spelling(workspace.name, item.mirror, parts[0])
        answer = None
        if len(parts) > 1 and parts[1] not in (FILES, _TABLES):
            answer = _refuse_new
        elif container == LAKE or len(parts) < 3:
            answer = _refuse_unless_read
        return Place(Address(container, path), query, spelling, answer)

    def _listed_by_prefix(self, workspace: FabricWorkspace, query: Mapping[str, str]) -> Place:
        first, _, rest = query["prefix"].partition("/")
        place = self._in_item(workspace, [first, *_parts(rest)], query)
        mirror = place.spelling.folder
        changed = {**query, "prefix": f"{mirror}/{rest}"}
        if "startfrom" in query:
            changed["startfrom"] = mirror + query["startfrom"][len(first) :]
        address = Address(place.address.container)
        return Place(address, changed, place.spelling, answer=_refuse_unless_read)

    def _list_workspaces(self, account: Account, call: Call) -> Reply:
        """`GET /?resource=account`, and the Blob endpoint's list of containers."""
        del account  # what it has are mirrors
        if call.method != "GET":
            raise RefusedCall(Fault.FORBIDDEN, "workspaces are made in Fabric, not through storage")
        prefix = call.query.get("prefix", "")
        names = [one.name for one in self.items.workspaces if one.name.startswith(prefix)]
        if call.dfs:
            return _json({"filesystems": [{"name": name} for name in names]})
        root = Element("EnumerationResults", ServiceEndpoint=f"https://{call.header('host')}/")
        listed = SubElement(root, "Containers")
        for name in names:
            add_name(SubElement(listed, "Container"), name)
        SubElement(root, "NextMarker")
        return Reply(200, {"content-type": "application/xml"}, rendered(root))

    def _of_workspace(self, workspace: FabricWorkspace) -> CallHandler:
        def answer(account: Account, call: Call) -> Reply:
            if call.method == "HEAD" or (call.method == "GET" and not _is_list(call)):
                return _described(workspace)
            if call.method != "GET":
                raise RefusedCall(
                    Fault.FORBIDDEN, "workspaces are made and deleted in Fabric, not here"
                )
            if call.flag("recursive") or (not call.dfs and not call.query.get("delimiter")):
                raise RefusedCall(
                    Fault.NOT_IMITATED, "a whole workspace at once: list one item, or its folder"
                )
            prefix = call.query.get("prefix", "")
            items = [
                (item.folder, node)
                for item in self.items.of(workspace)
                if item.folder.startswith(prefix)
                and (node := account.disk.find(Address(LANDING, item.mirror))) is not None
            ]
            if call.dfs:
                return _json({"paths": [_entry(name, node) for name, node in items]})
            root = Element("EnumerationResults", ContainerName=workspace.name)
            blobs = SubElement(root, "Blobs")
            for name, _ in items:
                add_name(SubElement(blobs, "BlobPrefix"), f"{name}/")
            SubElement(root, "NextMarker")
            return Reply(200, {"content-type": "application/xml"}, rendered(root))

        return answer


def _url(text: str, fault: Fault) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError as error:
        raise RefusedCall(fault, str(error)) from error


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_list(call: Call) -> bool:
    return call.query.get("resource") == "filesystem" or call.query.get("comp") == "list"


def _only_described(workspace: FabricWorkspace) -> CallHandler:
    def answer(account: Account, call: Call) -> Reply:
        del account
        if call.method not in _READING:
            raise RefusedCall(
                Fault.FORBIDDEN, f"nothing is written into {workspace.name!r} but in an item"
            )
        return _described(workspace)

    return answer


def _described(workspace: FabricWorkspace) -> Reply:
    return Reply(
        200,
        {
            "etag": f'"{workspace.id}"',
            "last-modified": http_date(0),
            "x-ms-namespace-enabled": "true",
            "x-ms-resource-type": "directory",
        },
    )


def _refuse_unless_read(account: Account, call: Call) -> Reply:
    """Storage requests read what Fabric manages, and do not change it."""
    if call.method not in _READING:
        if call.method == "PUT" and call.query.get("resource") == "filesystem":
            raise RefusedCall(Fault.CONTAINER_EXISTS, call.spelling.filesystem)
        raise RefusedCall(
            Fault.FORBIDDEN, "Fabric manages this folder: publishers write below Files/LandingZone"
        )
    return verb_of(call)(account, call)


def _refuse_new(account: Account, call: Call) -> Reply:
    del account
    if call.method not in _READING:
        raise RefusedCall(Fault.FORBIDDEN, "an item has Files and Tables, and nothing beside them")
    raise RefusedCall(Fault.MISSING, "an item has Files and Tables, and nothing beside them")


def _entry(name: str, node: Node) -> dict[str, str]:
    return {
        "name": name,
        "isDirectory": "true",
        "contentLength": "0",
        "etag": node.etag,
        "lastModified": http_date(node.modified),
    }


def _json(value: dict[str, object]) -> Reply:
    headers = {"content-type": "application/json;charset=utf-8"}
    return Reply(200, headers, json.dumps(value, ensure_ascii=False).encode())
