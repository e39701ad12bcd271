"""The containers on disk: folders of the root, with plain files in them."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from openmirror.emulator.addresses import Address, check_container_name
from openmirror.emulator.birth import Identity, identity_of
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.facts import Facts
from openmirror.emulator.names import in_azures_words, is_hidden
from openmirror.emulator.nodes import Node
from openmirror.emulator.state import EndpointState
from openmirror.emulator.ticks import Ticks
from openmirror.emulator.trash import throw_away
from openmirror.errors import AccessDenied, WrongRequest
from openmirror.protocol.names import is_unicode
from openmirror.stores.local.paths import OURS, place
from openmirror.table.layout import StorePath

_TRASH = f"{OURS}trash-"


class Disk:
    """Files and folders below a root, with what is remembered of them."""

    def __init__(self, root: Path, state: EndpointState, ticks: Ticks) -> None:
        self.root = root.resolve()
        self._state = state
        self._ticks = ticks

    def containers(self) -> list[Node]:
        """All of them, by name."""
        found = []
        for name in sorted(path.name for path in self.root.iterdir()):
            try:
                check_container_name(name)
                node = self.find(Address(name))
            except RefusedCall:
                continue
            if node is not None and node.is_folder:
                found.append(node)
        return found

    def find(self, address: Address) -> Node | None:
        """What lies there; None for nothing, and for what is hidden."""
        with in_azures_words(address):
            path = self.path_of(address)
            try:
                facts = path.stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            return self._node(address, os.fspath(path), facts)

    def find_in(self, folder: Path, address: Address) -> Node | None:
        """The same, quicker, where the folder's own place was found before."""
        path = f"{folder}/{address.name}"
        try:
            facts = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(facts.st_mode):
            try:
                return self.find(address)
            except RefusedCall:  # it leads out of the root
                return None
        return self._node(address, path, facts)

    def require_container(self, address: Address) -> Node:
        """The container of an address; raises Refused without one."""
        node = self.find(Address(address.container))
        if node is None or not node.is_folder:
            raise RefusedCall(Fault.CONTAINER_MISSING, address.container)
        return node

    def require(self, address: Address) -> Node:
        """What lies there; raises Refused when there is nothing."""
        node = self.find(address)
        if node is None:
            self.require_container(address)
            raise RefusedCall(Fault.MISSING, address.path)
        return node

    def names(self, folder: Address) -> list[str]:
        """The names in a folder, in order; some of them may be hidden or gone by now."""
        try:
            names = [path.name for path in self.path_of(folder).iterdir()]
            # One in another encoding no answer can have.
            return sorted(filter(is_unicode, names))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_empty(self, folder: Address) -> bool:
        """Whether clients see nothing in it."""
        path = self.path_of(folder)
        return not any(self.find_in(path, folder.child(name)) for name in self.names(folder))

    def make_folder(self, address: Address, facts: Facts | None = None) -> Node:
        """Make a folder that is not there, and those above it. Raises Refused."""
        if address.path:
            self.make_parents(address)
        self._refuse_hidden(address, is_folder=True)
        path = self.path_of(address)
        with in_azures_words(address):
            path.mkdir()
        identity = identity_of(os.fspath(path), path.stat())
        born = self._ticks.next()
        self._state.remember(identity, _born(facts or Facts(), born))
        return self.require(address)

    def make_parents(self, address: Address) -> None:
        """Make the folders above an address. Raises Refused when a file is in the way."""
        parent = address.parent
        node = self.find(parent)
        if node is None:
            self.require_container(address)
            self.make_folder(parent)
        elif not node.is_folder:
            raise RefusedCall(Fault.PATH_CONFLICT, f"{parent.path} is a file")

    def put(self, address: Address, content: Path, facts: Facts) -> Node:
        """Let a finished file take this name, in place of what has it. Raises Refused."""
        self._refuse_hidden(address, is_folder=False)
        path = self.path_of(address)
        old = self.find(address)
        # Only a time that always grows keeps an ETag from coming back with a reused inode.
        written = self._ticks.next(old.written if old else 0)
        os.utime(content, ns=(written, written))
        with in_azures_words(address):
            beside = self._beside(content, path)
            identity = identity_of(os.fspath(beside), beside.stat())
            # Before the name: a crash in between must not leave a file without its facts.
            self._state.remember(identity, facts)
            beside.rename(path)
        if old is not None:
            self._state.forget(old.identity)
        return self.require(address)

    def touch(self, node: Node, facts: Facts) -> Node:
        """Change what is remembered, and the ETag with it."""
        now = self._ticks.next(node.modified)
        if node.is_folder:
            facts = _changed(facts, node.created, now)
        else:
            os.utime(self.path_of(node.address), ns=(now, now))
        self._state.remember(node.identity, facts)
        return self.require(node.address)

    def rename(self, source: Node, destination: Address) -> Node:
        """Give a file or folder another name, in place of what has that name."""
        self._refuse_hidden(destination, is_folder=source.is_folder)
        old = self.find(destination)
        with in_azures_words(destination):
            if old is not None and old.is_folder:
                # rename(2) only takes the place of a folder without hidden files.
                throw_away(self.remove(old))
            self.path_of(source.address).rename(self.path_of(destination))
        if old is not None and old.identity != source.identity:
            self._state.forget(old.identity)
        return self.require(destination)

    def remove(self, node: Node) -> Path | None:
        """Take away the name. A folder's remains are answered, for the caller to delete."""
        path = self.path_of(node.address)
        trash = None
        if node.is_folder:
            trash = path.with_name(f"{_TRASH}{uuid4().hex}")
            path.rename(trash)
        else:
            path.unlink()
        self._state.forget(node.identity)
        return trash

    def open(self, node: Node) -> int:
        """A descriptor for reading this very content; raises Refused when it is gone."""
        with in_azures_words(node.address):
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(self.path_of(node.address), flags)

    def node_of(self, address: Address, fd: int) -> Node:
        """What is open, as seen under this address; raises Refused unless it is a file."""
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise RefusedCall(Fault.MISSING, address.path)
        return self._as_node(address, facts, identity_of(fd, facts))

    def path_of(self, address: Address) -> Path:
        """Where it lies; raises Refused when that is not below the root."""
        parts = (address.container, address.path) if address.path else (address.container,)
        try:
            return place(self.root, StorePath("/".join(parts)))
        except (AccessDenied, WrongRequest) as error:
            raise RefusedCall(Fault.INVALID_URI, str(error)) from error

    def _node(self, address: Address, path: str, facts: os.stat_result) -> Node | None:
        is_folder = stat.S_ISDIR(facts.st_mode)
        if not is_folder and not stat.S_ISREG(facts.st_mode):
            return None
        if is_hidden(address.name or address.container, is_folder=is_folder):
            return None
        return self._as_node(address, facts, identity_of(path, facts))

    def _as_node(self, address: Address, facts: os.stat_result, identity: Identity) -> Node:
        is_folder = stat.S_ISDIR(facts.st_mode)
        return Node(
            address=address,
            is_folder=is_folder,
            size=0 if is_folder else facts.st_size,
            written=facts.st_mtime_ns,
            identity=identity,
            facts=self._state.facts(identity),
        )

    def _refuse_hidden(self, address: Address, *, is_folder: bool) -> None:
        if is_hidden(address.name, is_folder=is_folder):
            raise RefusedCall(
                Fault.INVALID_NAME,
                f"{address.name!r} is a name that a local root keeps for itself",
            )

    def _beside(self, content: Path, path: Path) -> Path:
        """The content on the same file system as the path, which may be another mount."""
        if content.stat().st_dev == path.parent.stat().st_dev:
            return content
        beside = path.with_name(f"{OURS}{uuid4().hex}")
        shutil.copy2(content, beside)
        content.unlink()
        return beside


def _born(facts: Facts, at: int) -> Facts:
    return _changed(facts, at, at)


def _changed(facts: Facts, created: int, at: int) -> Facts:
    return replace(facts, created=created, changed=at)
