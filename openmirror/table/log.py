"""What is read from a Delta table's own log: the one owner of "what was applied"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NewType

from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.table.layout import StorePath
from openmirror.table.phases import Phase, Phases

AppId = NewType("AppId", str)
"""An epoch as the Delta log names it: `openmirror/<mirror>/<folder>/<incarnation>/<epoch>`."""

_OURS = "openmirror"


@dataclass(frozen=True)
class Epoch:
    """One unbroken count of applied positions of one incarnation of one landing folder."""

    folder: TableFolder
    incarnation: Incarnation
    number: int

    @property
    def app_id(self) -> AppId:
        """The name that transactions of this epoch carry."""
        return AppId(f"{_OURS}/{self.folder}/{self.incarnation}/{self.number}")

    @classmethod
    def parse(cls, app_id: str) -> Epoch | None:
        """The epoch that this appId names; None for a stranger's."""
        parts = app_id.split("/")
        if len(parts) < 5 or parts[0] != _OURS or not parts[-1].isdecimal():
            return None
        try:
            folder = TableFolder.of_key(parts[1], "/".join(parts[2:-2]))
        except ValueError:
            return None
        return cls(folder, Incarnation(parts[-2]), int(parts[-1]))


@dataclass(frozen=True)
class Totals:
    """Running totals since the table began."""

    operations: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class BatchRecord:
    """What one commit of ours wrote about itself into the log, for people and for status."""

    operation: str
    folder: str
    kind: str
    first: int
    last: int
    files: int
    rows: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0
    totals: Totals = Totals()
    landed_at: datetime | None = None
    """When the oldest file of the batch was last written."""
    app_id: AppId = AppId("")
    """The epoch of the commit; empty in batch records of versions before this one."""
    started_at: datetime | None = None
    """When its runner began to read the batch."""
    schema_changed: bool = False
    """Whether it added or widened columns of a table that was there."""
    begun_at: datetime | None = None
    """When the observation began that it was planned by; None in those of versions before."""
    phases: Phases = field(default_factory=dict)
    """What its phases took up to the commit, whose own end nobody knew when this was written."""
    committed_at: datetime | None = None

    @property
    def lag_seconds(self) -> float | None:
        """From landing to commit."""
        if self.landed_at is None or self.committed_at is None:
            return None
        return max(0.0, (self.committed_at - self.landed_at).total_seconds())

    @property
    def wait_seconds(self) -> float | None:
        """From landing until it was begun."""
        if self.landed_at is None or self.begun_at is None:
            return None
        return max(0.0, (self.begun_at - self.landed_at).total_seconds())

    @property
    def all_phases(self) -> Phases:
        """What each phase took; the commit took what is left until the log's own time of it.

        Empty where the record says nothing of them.
        """
        if self.begun_at is None or self.committed_at is None:
            return self.phases
        whole = (self.committed_at - self.begun_at).total_seconds()
        left = max(0.0, whole - sum(self.phases.values()))
        before = self.phases.get(Phase.COMMIT, 0.0)
        return {**self.phases, Phase.COMMIT: round(before + left, 4)}


@dataclass(frozen=True, kw_only=True)
class TableProtocol:
    """What a reader, and a writer, must know to use a table."""

    reader_version: int = 1
    writer_version: int = 2
    reader_features: frozenset[str] = frozenset()
    """By Delta's own names; those that version 3 lists, or that version 2 stands for."""
    writer_features: frozenset[str] = frozenset()
    """Those that version 7 lists."""


@dataclass(frozen=True, kw_only=True)
class TableLog:
    """One state of one Delta log."""

    path: StorePath
    table_id: str
    """The table's identity in its own metadata; a log made anew has another one."""
    version: int
    transactions: Mapping[AppId, Position]
    schema: TableSchema = TableSchema()
    properties: Mapping[str, str] = field(default_factory=dict)
    clustering: tuple[str, ...] = ()
    """The columns that Delta clusters it by."""
    protocol: TableProtocol = TableProtocol()
    before_fence: Mapping[AppId, Position] = field(default_factory=dict)
    """For each fenced epoch the position that it had before; only read when nothing is live."""
    batch_record: BatchRecord | None = None
    """The newest commit of ours that is still in the log's history."""

    @cached_property
    def epochs(self) -> Mapping[Epoch, Position]:
        """Every epoch of ours in this log."""
        found = ((Epoch.parse(app), version) for app, version in self.transactions.items())
        return {epoch: version for epoch, version in found if epoch is not None}

    @cached_property
    def live(self) -> tuple[Epoch, Position] | None:
        """The one epoch that is not fenced, and how far it is applied."""
        return next(((e, v) for e, v in self.epochs.items() if v != FENCED), None)

    @property
    def last_fenced(self) -> tuple[Epoch, Position] | None:
        """The newest fenced epoch that had applied something, and how much."""
        fenced = [
            (epoch, self.before_fence.get(epoch.app_id, START))
            for epoch, version in self.epochs.items()
            if version == FENCED
        ]
        applied = [(epoch, position) for epoch, position in fenced if position > START]
        return max(applied, key=lambda item: item[0].number, default=None)

    @property
    def owners(self) -> frozenset[TableFolder]:
        """The landing folders that may write here; empty for a stranger's table."""
        if self.live:
            return frozenset({self.live[0].folder})
        return frozenset(epoch.folder for epoch in self.epochs)


@dataclass(frozen=True)
class BrokenLog:
    """A log from which no state can be read, and why."""

    path: StorePath
    reason: str
