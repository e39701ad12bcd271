"""Fabric's own REST, as far as publishers ask it: mirrored databases, their status, start, stop."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from openmirror.emulator.onelake.hosts import API, DFS
from openmirror.emulator.onelake.items import FabricWorkspace, Item, Items, NamedMirror
from openmirror.emulator.onelake.small_requests import SmallAnswer, SmallRequest
from openmirror.emulator.onelake.tokens import FABRIC, TokenRefused, Tokens
from openmirror.errors import OpenmirrorError, Unavailable

_log = logging.getLogger("openmirror.emulator.fabric")

_TYPE = "MirroredDatabase"
_DEFINITION = "mirroring.json"


class MirroredDatabases(Protocol):
    """The mirrors behind the items, as they are now. Every call may raise OpenmirrorError."""

    def tables(self, mirror: str) -> list[dict[str, object]]:
        """Each table in the form of getTablesMirroringStatus."""

    def is_stopped(self, mirror: str) -> bool:
        """Whether somebody holds the whole mirror."""

    def trouble(self, mirror: str) -> tuple[str, str] | None:
        """Code and words of what is wrong with the mirror itself."""

    def start(self, mirror: str) -> None:
        """Let it go on, if it is held."""

    def stop(self, mirror: str) -> None:
        """Hold it, unless it is held."""

    def make(self, mirror: str, definition: bytes | None) -> bool:
        """Make it, with its mirroring.json; answers False, and does nothing, if it is there.

        Raises WrongRequest for a definition that cannot be one.
        """

    def definition(self, mirror: str) -> bytes | None:
        """Its mirroring.json; None without one."""


@dataclass(eq=False)
class _Refused(Exception):
    """An error as Fabric words it."""

    status: int
    code: str
    words: str

    def answered(self) -> SmallAnswer:
        value = {"requestId": str(uuid4()), "errorCode": self.code, "message": self.words}
        return SmallAnswer(self.status, value, {"x-ms-public-api-error-code": self.code})


@dataclass(frozen=True)
class Fabric:
    """`https://api.fabric.microsoft.com`, over the items of this endpoint."""

    items: Items
    mirrors: MirroredDatabases
    tokens: Tokens
    page: int = 100
    """Tables in one answer."""

    def answer(self, asked: SmallRequest) -> SmallAnswer:
        """What Fabric would say to this request."""
        try:
            self._check(asked)
            return self._answer(asked)
        except _Refused as refused:
            _log.info(
                "%s /%s: %s %s: %s",
                asked.method,
                "/".join(asked.parts),
                refused.status,
                refused.code,
                refused.words,
            )
            return refused.answered()
        except Unavailable as error:
            return _Refused(503, "ServiceUnavailable", str(error)).answered()
        except OpenmirrorError as error:
            return _Refused(400, "OperationNotSupportedForItem", str(error)).answered()

    def _check(self, asked: SmallRequest) -> None:
        scheme, _, text = asked.headers.get("authorization", "").partition(" ")
        try:
            self.tokens.check(text if scheme.lower() == "bearer" else "", FABRIC)
        except TokenRefused as error:
            raise _Refused(401, "InvalidToken", f"The token is not valid here: {error}") from error

    def _answer(self, asked: SmallRequest) -> SmallAnswer:
        if asked.parts[:2] != ("v1", "workspaces"):
            raise _unknown(asked)
        match asked.method, asked.parts[2:]:
            case "GET", ():
                return _list([_workspace(one) for one in self.items.workspaces])
            case "GET", (workspace,):
                return SmallAnswer(200, _workspace(self._workspace(workspace)))
            case "GET", (workspace, "items"):
                wanted = asked.query.get("type", _TYPE)
                found = self.items.of(self._workspace(workspace)) if wanted == _TYPE else []
                return _list([_item(item) for item in found])
            case "GET", (workspace, "mirroredDatabases"):
                found = self.items.of(self._workspace(workspace))
                return _list([self._database(item) for item in found])
            case "POST", (workspace, "mirroredDatabases" | "items"):
                return self._make(self._workspace(workspace), asked)
            case method, (workspace, "mirroredDatabases" | "items", item, *rest):
                found_item = self._find(self._workspace(workspace), item)
                return self._of_item(method, found_item, tuple(rest), asked)
        raise _unknown(asked)

    def _of_item(
        self, method: str, item: Item, rest: tuple[str, ...], asked: SmallRequest
    ) -> SmallAnswer:
        match method, rest:
            case "GET", ():
                return SmallAnswer(200, self._database(item))
            case "POST", ("getMirroringStatus",):
                return SmallAnswer(200, self._status(item))
            case "POST", ("getTablesMirroringStatus",):
                return SmallAnswer(
                    200, self._tables(item, asked.query.get("continuationtoken", ""))
                )
            case "POST", ("startMirroring",):
                self.mirrors.start(item.mirror)
                return SmallAnswer(200)
            case "POST", ("stopMirroring",):
                self.mirrors.stop(item.mirror)
                return SmallAnswer(200)
            case "POST", ("getDefinition",):
                return SmallAnswer(200, {"definition": {"parts": self._parts(item)}})
            case "DELETE", ():
                raise _Refused(
                    403,
                    "InsufficientPrivileges",
                    "a mirror is not deleted from here: delete its folders from the root",
                )
        raise _unknown(asked)

    def _status(self, item: Item) -> dict[str, object]:
        stopped = self.mirrors.is_stopped(item.mirror)
        value: dict[str, object] = {"status": "Stopped" if stopped else "Running"}
        if trouble := self.mirrors.trouble(item.mirror):
            value["error"] = {"errorCode": trouble[0], "message": trouble[1]}
        return value

    def _tables(self, item: Item, token: str) -> dict[str, object]:
        """A page of the tables, in the order of their names, after the one of the token."""
        tables = sorted(self.mirrors.tables(item.mirror), key=_key)
        if token:
            after = _decoded(token)
            tables = [table for table in tables if _key(table) > after]
        value: dict[str, object] = {"data": tables[: self.page]}
        if len(tables) > self.page:
            going_on = _encoded(_key(tables[self.page - 1]))
            path = f"v1/workspaces/{item.workspace.id}/mirroredDatabases/{item.id}"
            value["continuationToken"] = going_on
            value["continuationUri"] = (
                f"https://{API}/{path}/getTablesMirroringStatus?continuationToken={going_on}"
            )
        return value

    def _make(self, workspace: FabricWorkspace, asked: SmallRequest) -> SmallAnswer:
        wanted = _object(asked.body)
        name = wanted.get("displayName")
        if not isinstance(name, str) or not name.strip():
            raise _Refused(400, "InvalidInput", "displayName is missing")
        if wanted.get("type", _TYPE) != _TYPE:
            raise _Refused(400, "InvalidItemType", f"only a {_TYPE} is made here")
        try:
            mapped = NamedMirror.parse(f"{workspace.name}/{name}={name}")
        except ValueError as error:
            raise _Refused(400, "InvalidInput", str(error)) from error
        taken = self.items.find(workspace, name) is not None
        if taken or not self.mirrors.make(name, _definition(wanted)):
            raise _Refused(
                409, "ItemDisplayNameAlreadyInUse", f"there is an item or a mirror called {name!r}"
            )
        item = self.items.add(mapped)
        _log.info("made mirror %s; add --map '%s=%s' when you start again", name, item, name)
        path = f"v1/workspaces/{workspace.id}/mirroredDatabases/{item.id}"
        return SmallAnswer(201, self._database(item), {"location": f"https://{API}/{path}"})

    def _database(self, item: Item) -> dict[str, object]:
        base = f"https://{DFS}/{item.workspace.id}/{item.id}"
        return {**_item(item), "properties": {"oneLakeTablesPath": f"{base}/Tables"}}

    def _parts(self, item: Item) -> list[dict[str, str]]:
        content = self.mirrors.definition(item.mirror)
        if content is None:
            return []
        payload = base64.b64encode(content).decode()
        return [{"path": _DEFINITION, "payload": payload, "payloadType": "InlineBase64"}]

    def _workspace(self, text: str) -> FabricWorkspace:
        for workspace in self.items.workspaces:
            if workspace.id == text.lower():
                return workspace
        raise _Refused(404, "WorkspaceNotFound", f"there is no workspace {text}: ask by its GUID")

    def _find(self, workspace: FabricWorkspace, text: str) -> Item:
        for item in self.items.of(workspace):
            if item.id == text.lower():
                return item
        raise _Refused(404, "EntityNotFound", f"there is no item {text}: ask by its GUID")


def _unknown(asked: SmallRequest) -> _Refused:
    path = "/".join(asked.parts)
    return _Refused(404, "EndpointNotFound", f"{asked.method} /{path} is not imitated here")


def _list(values: Sequence[Mapping[str, object]]) -> SmallAnswer:
    return SmallAnswer(200, {"value": list(values)})


def _workspace(workspace: FabricWorkspace) -> dict[str, object]:
    return {
        "id": workspace.id,
        "displayName": workspace.name,
        "description": "",
        "type": "Workspace",
    }


def _item(item: Item) -> dict[str, object]:
    return {
        "id": item.id,
        "type": _TYPE,
        "displayName": item.name,
        "description": f"mirror {item.mirror}",
        "workspaceId": item.workspace.id,
    }


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise _Refused(400, "InvalidInput", f"the body is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise _Refused(400, "InvalidInput", "the body is no object")
    return value


def _definition(wanted: Mapping[str, Any]) -> bytes | None:
    """The mirroring.json among a definition's parts; None without a definition."""
    definition = wanted.get("definition")
    if definition is None:
        return None
    try:
        for part in definition["parts"]:
            if part["path"] == _DEFINITION:
                return base64.b64decode(part["payload"], validate=True)
    except (KeyError, TypeError, binascii.Error, ValueError) as error:
        raise _Refused(
            400, "InvalidDefinitionFormat", "a definition has parts, each in Base64"
        ) from error
    raise _Refused(400, "InvalidDefinitionParts", f"the definition has no {_DEFINITION}")


def _key(table: Mapping[str, object]) -> tuple[str, str]:
    return str(table["sourceSchemaName"]), str(table["sourceTableName"])


def _encoded(key: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _decoded(token: str) -> tuple[str, str]:
    try:
        value = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        schema, table = value
    except (binascii.Error, ValueError, TypeError) as error:
        raise _Refused(400, "InvalidParameter", "this continuationToken is none of ours") from error
    return str(schema), str(table)
