"""Workspaces and items, by name or GUID, and the mirror that each item is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

from openmirror.errors import CannotStart

WORKSPACE = "openmirror"
"""The workspace of mirrors that no `--map` names."""
SUFFIXES = (".MountedRelationalDatabase", ".MirroredDatabase")
"""Either is the type of a mirrored database; OneLake itself shows the first."""

_NO_MIRROR = re.compile(r"[./\\\x00-\x1f]|^_|^lost\+found$")


@dataclass(frozen=True)
class FabricWorkspace:
    """One workspace."""

    name: str
    id: str
    """A GUID."""


@dataclass(frozen=True)
class Item:
    """One mirrored database, which is a mirror of the root."""

    workspace: FabricWorkspace
    name: str
    id: str
    """A GUID."""
    mirror: str

    @property
    def folder(self) -> str:
        """As OneLake shows it in the workspace."""
        return f"{self.name}{SUFFIXES[0]}"

    def __str__(self) -> str:
        return f"{self.workspace.name}/{self.name}"


@dataclass(frozen=True)
class NamedMirror:
    """One `--map`: what a publisher calls an item, and the mirror behind it."""

    workspace: str
    item: str
    mirror: str

    @classmethod
    def parse(cls, text: str) -> NamedMirror:
        """Read `WORKSPACE/ITEM=MIRROR`; ValueError says what is wrong with it."""
        names, equals, mirror = text.rpartition("=")
        workspace, slash, item = names.partition("/")
        item = without_type(item)
        if not (equals and slash and workspace.strip() and item.strip() and mirror.strip()):
            raise ValueError(f"{text!r} is not WORKSPACE/ITEM=MIRROR")
        if "/" in item or "\\" in names:
            raise ValueError(
                f"{text!r} has more than one slash: a workspace or an item whose name holds one is "
                "named by its GUID"
            )
        check_mirror_name(mirror)
        if is_guid(workspace) != is_guid(item):
            raise ValueError(
                f"{text!r} mixes a name and a GUID: OneLake takes both by name, or both by GUID"
            )
        return cls(workspace, item, mirror)


class Items:
    """All items of this endpoint. They can become more while it runs, and never fewer."""

    def __init__(self, mapped: Iterable[NamedMirror]) -> None:
        self._items: list[Item] = []
        for one in mapped:
            self.add(one)

    def __iter__(self) -> Iterator[Item]:
        return iter(tuple(self._items))

    def add(self, mapped: NamedMirror) -> Item:
        """One more; raises CannotStart when its name stands for another mirror."""
        workspace = self.workspace(mapped.workspace) or _workspace(mapped.workspace)
        known = self.find(workspace, mapped.item)
        if known is not None:
            if known.mirror != mapped.mirror:
                raise CannotStart(
                    f"{known} stands for two mirrors, {known.mirror} and {mapped.mirror}: an item "
                    "is one mirror"
                )
            return known
        made = Item(workspace, mapped.item, _id(workspace.id, mapped.item), mapped.mirror)
        self._items.append(made)
        return made

    @property
    def workspaces(self) -> list[FabricWorkspace]:
        """Each of them once, in the order of their naming."""
        return list(dict.fromkeys(item.workspace for item in self._items))

    def workspace(self, text: str) -> FabricWorkspace | None:
        """The workspace of this name or GUID."""
        wanted = text.casefold()
        for workspace in self.workspaces:
            if wanted in (workspace.name.casefold(), workspace.id):
                return workspace
        return None

    def of(self, workspace: FabricWorkspace) -> list[Item]:
        """The items of a workspace."""
        return [item for item in self._items if item.workspace == workspace]

    def find(self, workspace: FabricWorkspace, text: str) -> Item | None:
        """The item of this name (without its type) or GUID."""
        wanted = text.casefold()
        for item in self.of(workspace):
            if wanted in (item.name.casefold(), item.id):
                return item
        return None

    def of_mirror(self, mirror: str) -> list[Item]:
        """What a mirror is called; it may have several names."""
        return [item for item in self._items if item.mirror == mirror]


def is_guid(text: str) -> bool:
    """Whether a name is a GUID, as Fabric writes them."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def without_type(text: str) -> str:
    """An item's name without the type that OneLake has behind it."""
    for suffix in SUFFIXES:
        if text.casefold().endswith(suffix.casefold()):
            return text[: -len(suffix)]
    return text


def check_mirror_name(name: str) -> None:
    """Raises ValueError unless a mirror can be called so."""
    if not name.strip() or _NO_MIRROR.search(name) or len(name.encode()) > 200:
        raise ValueError(
            f"{name!r} is no mirror's name: without slash, backslash and dot, not beginning with _"
        )


def _workspace(text: str) -> FabricWorkspace:
    return FabricWorkspace(text, text.lower() if is_guid(text) else _id("workspace", text))


def _id(within: str, name: str) -> str:
    """The same in every start, so that a publisher's configuration stays right."""
    if is_guid(name):
        return name.lower()
    return str(uuid5(NAMESPACE_URL, f"openmirror:{within}/{name.casefold()}"))
