"""The parts of one storage account that all verbs work on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from openmirror.emulator.alone import give_back, take
from openmirror.emulator.calls import Call
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.disk import Disk
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.events import Announcer, Envelope, Sink
from openmirror.emulator.facts import Facts
from openmirror.emulator.gate import Gate
from openmirror.emulator.leases import check_write
from openmirror.emulator.nodes import Node
from openmirror.emulator.staging import Staging
from openmirror.emulator.state import EndpointState
from openmirror.emulator.ticks import Ticks
from openmirror.emulator.trash import throw_away
from openmirror.table.layout import LAKE, LANDING

ENDPOINT_FOLDER = ".endpoint"
"""Below the root, beside the containers: state, uncommitted data, certificate."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """One storage account over a root."""

    name: str
    disk: Disk
    staging: Staging
    state: EndpointState
    gate: Gate
    announce: Announcer
    lock: int

    def close(self) -> None:
        """Write the state down; nothing may be asked of it afterwards."""
        self.state.close()
        give_back(self.lock)

    def replace_content(
        self, call: Call, old: Node | None, facts: Facts, content: Path, lease_id: str | None
    ) -> Node:
        """Put a finished file at the call's address. To be called within the gate.

        A lease stays with the name. Raises Refused when it is held by somebody else.
        """
        lease = check_write(old.facts.lease if old else None, lease_id, time.time())
        if old is not None and old.is_folder:
            raise RefusedCall(Fault.TYPE_MISMATCH, f"{old.address.path} is a directory")
        self.disk.make_parents(call.address)
        node = self.disk.put(call.address, content, replace(facts, lease=lease))
        if old is not None:
            self.staging.forget_appended(old)
        self.staging.forget_blocks(call.address)
        return node

    @contextmanager
    def changing(self, call: Call) -> Iterator[Node]:
        """What is at the call's address, to be changed under its conditions and lease."""
        with self.gate():
            node = self.disk.require(call.address)
            Conditions.of(call).check_change(node)
            check_write(node.facts.lease, call.lease_id, time.time())
            yield node

    def delete(self, call: Call, *, recursive: bool) -> None:
        """Delete what is at the call's address, unless that is a container."""
        if not call.address.path:
            raise RefusedCall(Fault.INVALID_URI, "this would delete a whole container")
        with self.changing(call) as node:
            if node.is_folder and not recursive and not self.disk.is_empty(node.address):
                raise RefusedCall(Fault.NOT_EMPTY)
            self.staging.forget_appended(node)
            trash = self.disk.remove(node)
            self.announce.deleted(call, node, recursive=recursive)
        throw_away(trash)


def open_account(
    root: Path, name: str, sink: Sink | None = None, envelope: Envelope = Envelope.EVENT_GRID
) -> Account:
    """The account over a root, with its two containers made if they are missing.

    Raises RootLocked when it is open elsewhere.
    """
    for container in (LANDING, LAKE):
        (root / container).mkdir(parents=True, exist_ok=True)
    folder = root / ENDPOINT_FOLDER
    folder.mkdir(exist_ok=True)
    lock = take(folder / "lock")
    ticks = Ticks()
    state = EndpointState(folder / "state.sqlite3")
    gate = Gate(root.resolve())
    return Account(
        name=name,
        disk=Disk(root, state, ticks),
        staging=Staging(folder / "staging", state),
        state=state,
        gate=gate,
        announce=Announcer(name, ticks, gate, sink, envelope),
        lock=lock,
    )
