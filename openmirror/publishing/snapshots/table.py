"""A table that is kept by snapshots: what of them has landed, and what is to land next.

1. The differences to the last snapshot, and the keys and row hashes of the new one, are written
   into a folder of their own below `_snapshot`.
2. `_snapshot/state.json` names them as open, under its ETag: one of several publishers wins.
3. The differences land as one batch of the source `snapshot`, whose position is the snapshot's
   number. Every footer says how many rows of it have landed.
4. `state.json` names the snapshot as the current one; its plan and older folders are removed.

Whoever finds an open plan finishes it before anything else is compared: what of it has landed is
no part of the state yet, and would never be deleted again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from openmirror.errors import (
    ConditionFailed,
    NotThere,
    OpenmirrorError,
    OtherPublisher,
    WrongRequest,
)
from openmirror.ports import ABSENT, Absent, FileStore
from openmirror.protocol.names import ETag, Incarnation, fold_case
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.newest import (
    ZoneState,
    change_files,
    gone,
    need_same_folder,
    zone_state,
)
from openmirror.publishing.positions import NOTHING_YET, SourceProgress
from openmirror.publishing.snapshots.comparing import KeptKeys, SnapshotComparison
from openmirror.publishing.snapshots.document import (
    OpenPlan,
    SnapshotDocument,
    SnapshotState,
    parse_document,
)
from openmirror.publishing.snapshots.grouping import GroupLimits
from openmirror.publishing.snapshots.parts import (
    PartDamaged,
    keep_parts,
    tables_of,
    write_parts,
)
from openmirror.table.layout import StorePath, join

SOURCE = "snapshot"
"""Whose positions are the numbers of snapshots."""
FOLDER = "_snapshot"
DOCUMENT = "state.json"
_TRIES = 20
_PARTS = GroupLimits(rows=2_000_000, size=64 << 20)


class SnapshotLost(OpenmirrorError):
    """What the table was made of is not known any more; only beginning anew makes it right."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}. So nobody knows what the table holds, and no difference to it can be found. "
            "Begin it anew: --rebase deletes its folder and publishes the snapshot as a first one"
        )


class PlanWriter(Protocol):
    """What is needed of the table's writer; a TableWriter of the source `snapshot` has it."""

    def batch(self, position: int) -> AbstractContextManager[None]:
        """All rows inside are one batch of the source."""
        ...

    def publish(self, rows: object) -> None:
        """Take rows with their markers."""
        ...

    def flush(self) -> Sequence[object]:
        """Land all that waits."""
        ...


@dataclass(frozen=True)
class ObservedSnapshots:
    """How a table stands, as it was read at one moment."""

    document: SnapshotDocument
    etag: ETag | Absent
    progress: SourceProgress = NOTHING_YET
    """Of the source `snapshot`, by the newest footer."""
    columns: TableSchema = TableSchema()
    """What the table has, by the newest footer; an empty one has its keys alone."""

    @property
    def left(self) -> int:
        """Change rows of the open plan that have not landed."""
        plan = self.document.open
        if plan is None or self.progress.position == plan.snapshot.number:
            return 0
        batch = self.progress.batch
        begun = batch is not None and batch.position == plan.snapshot.number
        return plan.rows - (batch.rows if begun and batch is not None else 0)


@dataclass(frozen=True)
class LandedSnapshot:
    """A plan that has landed whole."""

    number: int
    rows: int
    """Change rows of the plan."""
    files: int = 0
    """Change files that they are in, where that is known."""


class SnapshotTable:
    """The `_snapshot` folder of one table folder.

    Every method raises FolderReplaced when the table folder was deleted or made anew since it was
    opened, SnapshotLost when its state is missing, damaged or not that of the files, and what the
    store raises. After a crash anywhere, a new one goes on.
    """

    def __init__(
        self,
        store: FileStore,
        folder: StorePath,
        incarnation: Incarnation | None,
        limits: GroupLimits = _PARTS,
    ) -> None:
        self._store = store
        self._folder = folder
        self._incarnation = incarnation
        self._limits = limits

    def observe(self, key: Sequence[str]) -> ObservedSnapshots:
        """How the table stands; raises WrongRequest where it has another key."""
        for _ in range(_TRIES):
            document, etag = self._read()
            zone = self._zone()
            lost = self._lost(document, zone)
            if lost is None:
                document = document or SnapshotDocument(self._incarnation)
                _need_key(document, key)
                return ObservedSnapshots(
                    document, etag, zone.progress(SOURCE), _columns(document, zone)
                )
            if self._read()[1] == etag:
                raise SnapshotLost(f"{self._folder}: {lost}")
            # Another publisher went on between the two reads.
        raise ConditionFailed(f"{self._path()} changes faster than it can be read")

    def kept_keys(self, state: SnapshotState, temp: Path) -> KeptKeys:
        """Local copies of a snapshot's keys and hashes, in a folder of their own below `temp`."""
        try:
            files = keep_parts(
                self._store, self._path(state.folder), state.parts, temp / state.folder
            )
        except PartDamaged as error:
            self._need_folder()
            document, _ = self._read()
            if document is not None and document.newest != state:
                raise ConditionFailed("another publisher went on meanwhile") from error
            raise SnapshotLost(str(error)) from error
        return KeptKeys(files, state.keys)

    def open(
        self, observed: ObservedSnapshots, comparison: SnapshotComparison
    ) -> ObservedSnapshots | None:
        """Write what was found and name it as open; None where another publisher was faster.

        Without differences the state is written alone, and only where there is none.
        """
        before = observed.document.current
        number = (before.number if before else 0) + 1
        folder = f"{number}-{uuid4().hex}"
        path = self._path(folder)
        try:
            state = write_parts(
                self._store, path, "state", comparison.state(), self._limits, self._need_folder
            )
            plan = write_parts(
                self._store, path, "plan", comparison.plan(), self._limits, self._need_folder
            )
            rows = sum(part.rows for part in plan)
            snapshot = SnapshotState(
                number=number,
                folder=folder,
                keys=comparison.keys,
                rows=sum(part.rows for part in state),
                parts=state,
                published=(before.published if before else 0) + rows,
            )
            document = SnapshotDocument(self._incarnation, before, OpenPlan(snapshot, plan))
            etag = self._write(document, observed.etag)
        except ConditionFailed:
            self._remove(path)
            return None
        return replace(observed, document=document, etag=etag)

    def finish(
        self,
        observed: ObservedSnapshots,
        writer: PlanWriter,
        report: Callable[[int], None] = lambda _: None,
    ) -> LandedSnapshot:
        """Land what is left of the open plan, and make it the current snapshot.

        `report` hears how many change rows were handed on. Raises OtherPublisher where another
        program moved the source on meanwhile.
        """
        plan = observed.document.open
        if plan is None:
            raise ValueError("there is no open plan")
        number = plan.snapshot.number
        handed = 0
        try:
            with writer.batch(number):
                for part, rows in tables_of(
                    self._store, self._path(plan.snapshot.folder), plan.parts
                ):
                    writer.publish(rows)
                    handed += part.rows
                    report(handed)
        except PartDamaged as error:
            self._need_folder()
            document, etag = self._read()
            if etag != observed.etag and document is not None and _is_done(document, number):
                return LandedSnapshot(number, plan.rows)
            raise SnapshotLost(str(error)) from error
        writer.flush()
        batch = self._zone().progress(SOURCE).batch
        self._close(observed, number)
        is_newest = batch is not None and batch.position == number
        return LandedSnapshot(number, plan.rows, batch.k if batch is not None and is_newest else 0)

    def _close(self, observed: ObservedSnapshots, number: int) -> None:
        plan = observed.document.open
        assert plan is not None
        document = SnapshotDocument(self._incarnation, plan.snapshot)
        try:
            self._write(document, observed.etag)
        except ConditionFailed as error:
            now, _ = self._read()
            if now is None or not _is_done(now, number):
                raise OtherPublisher(
                    f"{self._path()} was changed by another program while snapshot {number} landed"
                ) from error
            return
        for part in plan.parts:
            with suppress(NotThere):
                self._store.delete_file(self._path(plan.snapshot.folder, part.name))
        self.tidy(document)

    def tidy(self, document: SnapshotDocument) -> None:
        """Remove folders of older snapshots; a newer one may be another publisher's."""
        kept = {s.folder for s in (document.current, document.newest) if s is not None}
        newest = document.current.number if document.current is not None else 0
        try:
            entries = self._store.list_folder(self._path()).entries
        except NotThere:
            return
        for entry in entries:
            number = entry.name.partition("-")[0]
            if not entry.is_folder or entry.name in kept or not number.isdigit():
                continue
            if int(number) <= newest:
                self._remove(self._path(entry.name))

    def _remove(self, path: StorePath) -> None:
        with suppress(NotThere):
            self._store.delete_folder(path)

    def _read(self) -> tuple[SnapshotDocument | None, ETag | Absent]:
        """The document and its ETag; raises SnapshotLost for one that cannot be read."""
        path = self._path(DOCUMENT)
        try:
            content = self._store.read(path)
        except NotThere:
            return None, ABSENT
        try:
            return parse_document(content.data), content.etag
        except ValueError as error:
            raise SnapshotLost(f"{path} cannot be read: {error}") from error

    def _write(self, document: SnapshotDocument, only_if: ETag | Absent) -> ETag:
        need_same_folder(self._store, self._folder, self._incarnation)
        path, data = self._path(DOCUMENT), document.as_json()
        try:
            etag = self._store.write(path, data, only_if=only_if)
        except ConditionFailed:
            # A request that is sent again after a lost answer is refused for what it did itself.
            self._need_folder()
            content = self._store.read(path)
            if content.data != data:
                raise
            etag = content.etag
        self._need_folder()
        return etag

    def _need_folder(self) -> None:
        """Writing makes folders: take away what came to be by that in a folder that was deleted."""
        if self._store.incarnation(self._folder) == self._incarnation:
            return
        with suppress(NotThere):
            names = [entry.name for entry in self._store.list_folder(self._folder).entries]
            if names == [FOLDER]:
                self._store.delete_folder(self._folder)
        raise gone(self._folder)

    def _zone(self) -> ZoneState:
        need_same_folder(self._store, self._folder, self._incarnation)
        return zone_state(self._store, self._folder, change_files(self._store, self._folder))

    def _lost(self, document: SnapshotDocument | None, zone: ZoneState) -> str | None:
        """Why the state is not that of the files; None where it is."""
        progress = zone.progress(SOURCE)
        if document is None:
            if zone.newest is None:
                return None
            if progress.file is None:
                return "it has change files that were not published as snapshots"
            return f"{FOLDER}/{DOCUMENT} is missing, and snapshots were published"
        if document.incarnation != self._incarnation:
            return f"{FOLDER} was written in another folder, and copied or restored into this one"
        expected = document.current.published if document.current is not None else 0
        begun = progress.batch
        if document.open is not None and begun is not None:
            expected += begun.rows if begun.position == document.open.snapshot.number else 0
        if zone.rows != expected:
            return (
                f"{zone.rows:,} change rows were published into it, and {expected:,} of them by "
                "the snapshots that are known: something else publishes into it, or an older "
                f"{FOLDER} was put back"
            )
        return None

    def _path(self, *names: str) -> StorePath:
        return join(self._folder, FOLDER, *names)


def _columns(document: SnapshotDocument, zone: ZoneState) -> TableSchema:
    if zone.columns.columns:
        return zone.columns
    return document.newest.keys if document.newest is not None else TableSchema()


def _is_done(document: SnapshotDocument, number: int) -> bool:
    return document.current is not None and document.current.number >= number


def _need_key(document: SnapshotDocument, key: Sequence[str]) -> None:
    newest = document.newest
    if newest is None:
        return
    before, now = ({fold_case(n) for n in names} for names in (newest.keys.names, key))
    if before != now:
        raise WrongRequest(
            f"the table's key is {', '.join(newest.keys.names)} and cannot become "
            f"{', '.join(key)} (PROTOCOL §4.4). Begin it anew with --rebase"
        )
