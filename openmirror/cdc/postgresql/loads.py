"""The loads of one stream: wanted, staged beside the log, landed, or given up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.batches import Mark
from openmirror.cdc.postgresql.definitions import Oid, TableDefinition
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.load_events import (
    LoaderWaits,
    LoadGivenUp,
    LoadReady,
    LoadWaits,
    WantedLoad,
    WritersEnded,
)
from openmirror.cdc.postgresql.load_file import LoadFile, PieceKind
from openmirror.cdc.postgresql.load_landing import ReadLoad, land_load
from openmirror.cdc.postgresql.load_state import ChangePart, LoadState, definition_facts
from openmirror.cdc.postgresql.loading import Loader
from openmirror.cdc.postgresql.placed_rows import (
    PlacedRows,
    columns_of_shape,
    with_lineage_of_a_load,
)
from openmirror.cdc.postgresql.places import BEFORE_ALL, LogPlace
from openmirror.cdc.postgresql.progress import sent_columns
from openmirror.cdc.postgresql.reloads import Reloads
from openmirror.cdc.postgresql.shapes import TableShape, same_rows
from openmirror.cdc.postgresql.staging import StreamStaging
from openmirror.cdc.postgresql.table_files import StreamFolders
from openmirror.cdc.stops import TAKE_SNAPSHOT
from openmirror.errors import FolderReplaced, NotThere, OtherPublisher, PublishRefused
from openmirror.protocol.names import ROW_MARKER_COLUMN, TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import StopCode, StopReason
from openmirror.publishing.streamed import StreamedParquet

_MOST_AT_ONCE = 160
"""Loads that the loader has at once; others wait."""
_LANDING_THREADS = 2
_SECONDS_TO_STOP = 10.0


@dataclass(frozen=True)
class LoadFailure:
    """A load that has ended without a file."""

    why: str
    stop: StopReason | None
    """Why the table stops; None where its load begins again."""


@dataclass(frozen=True)
class _Wanted:
    path: TablePath
    number: str
    is_again: bool


@dataclass(frozen=True)
class _Underway:
    path: TablePath
    load: WantedLoad
    is_again: bool = False


@dataclass(frozen=True)
class DescribedTable:
    """A table as the catalogue has it now."""

    fingerprint: Fingerprint
    """Read before the definition, so that a change between the two is noticed later."""
    definition: TableDefinition
    shape: TableShape
    """How its rows are read."""


Describe = Callable[[TablePath], DescribedTable | StopReason | None]
"""Gives a table as the catalogue has it now, or why its rows cannot be read.

None where no table has the name now. The table may have got another one, or may get it back.
"""


class StreamLoads:
    """The loads of one stream.

    `want`, `resume` and the methods about events belong to the thread that lands batches; `stage`
    and `fits` may be called from several.
    """

    def __init__(
        self,
        loader: Loader,
        staging: StreamStaging,
        files: StreamFolders,
        describe: Describe,
        takes: frozenset[Marker],
        say: Callable[[str], None],
        reloads: Reloads,
        *,
        lineage: bool,
    ) -> None:
        self._loader = loader
        self._reloads = reloads
        self._staging = staging
        self._files = files
        self._describe = describe
        self._takes = takes
        self._say = say
        self._lineage = lineage
        self._wanted: deque[_Wanted] = deque()
        self._moved: list[_Wanted] = []
        """Loads of tables that were not there under their names when they were asked for last."""
        self._underway: dict[str, _Underway] = {}
        self._landing: dict[TablePath, Future[LogPlace]] = {}
        self._leaving: dict[TablePath, Future[LogPlace]] = {}
        """Files of loads that were given up while the file was landing."""
        self._failed: dict[TablePath, LoadFailure] = {}
        self._asking: list[str] = []
        self._pool = ThreadPoolExecutor(_LANDING_THREADS, thread_name_prefix="loads landing")

    def want(self, path: TablePath, number: str, *, is_again: bool) -> None:
        """Load a table from its first row on.

        Args:
            path: the table.
            number: the load's number.
            is_again: whether the load is because of a changed definition, so that the limits of
                such loads hold.
        """
        self._wanted.append(_Wanted(path, number, is_again))

    def resume(self, path: TablePath, number: str) -> bool:
        """Go on with a load whose first mark had come; False where nothing of it is left."""
        staged = self._staging.open(number)
        if staged is None:
            return False
        found = self._describe(path)
        if found is None:
            return False
        if isinstance(found, StopReason):
            self._failed[path] = LoadFailure(found.detail, found)
            return True
        load = WantedLoad(path=path, definition=found.definition, shape=found.shape, staged=staged)
        staged.remove_unneeded()
        self._underway[number] = _Underway(path, load)
        self._loader.want(load)
        return True

    def lost(self, path: TablePath) -> None:
        """Begin a load again of which nothing is left."""
        self._failed[path] = LoadFailure("what was staged of its load is gone", None)

    def begin_some(self) -> None:
        """Hand wanted loads to the loader, as many as it has room for.

        A table that is not there under its name waits until it is, or its load is ended.
        """
        self._wanted.extend(self._moved)
        self._moved = []
        for _ in range(len(self._wanted)):
            if len(self._underway) >= _MOST_AT_ONCE:
                return
            one = self._wanted.popleft()
            leaving = self._leaving.get(one.path)
            is_leaving = leaving is not None and not leaving.done()
            if is_leaving or (one.is_again and not self._may_begin_again()):
                self._wanted.append(one)
                continue
            self._leaving.pop(one.path, None)
            found = self._describe(one.path)
            if found is None:
                self._moved.append(one)
                continue
            if isinstance(found, StopReason):
                self._failed[one.path] = LoadFailure(found.detail, found)
                continue
            state = LoadState(
                number=one.number,
                definition=definition_facts(found.definition),
                fingerprint=found.fingerprint,
            )
            self._staging.remove(one.number)
            staged = self._staging.begin(state)
            load = WantedLoad(
                path=one.path, definition=found.definition, shape=found.shape, staged=staged
            )
            self._underway[one.number] = _Underway(one.path, load, one.is_again)
            self._loader.want(load)

    def _may_begin_again(self) -> bool:
        """Return whether a load because of a changed definition may begin now."""
        count = sum(one.is_again for one in self._underway.values())
        return count < self._reloads.limits.at_once and self._reloads.may_begin()

    def fingerprint(self, number: str) -> Fingerprint | None:
        """Return a table's fingerprint when its load was begun; None for an unknown load."""
        one = self._underway.get(number)
        return None if one is None else one.load.staged.state.fingerprint

    def first_of(self, mark: str) -> Sequence[Oid]:
        """Return the tables whose loads begin with a mark."""
        return self._loader.first_of(mark)

    def mark_came(self, mark: Mark) -> None:
        """Report the loader that everything before a mark has landed or is staged."""
        self._loader.mark_came(mark.name, mark.place)

    def fits(self, number: str, shape: TableShape) -> bool:
        """Return whether changes of this shape can be staged beside the rows that are read."""
        one = self._underway.get(number)
        return one is not None and same_rows(one.load.shape, shape)

    def stage(self, number: str, rows: PlacedRows) -> None:
        """Keep changes of a table that is loading; return once they are in the zone."""
        staged = self._underway[number].load.staged
        left = rows.behind(staged.state.changes_through or BEFORE_ALL)
        if left is None:
            return
        name = staged.pieces.write("changes", left.table)
        part = ChangePart(
            file=name,
            begins=left.first,
            through=left.last,
            rows=left.table.num_rows,
            has_partial=left.has_partial_updates,
            has_truncate=_has_truncate(left.table),
        )
        staged.change(lambda state: state.with_changes(part.through, part))

    def staged_behind(self, number: str, through: LogPlace) -> Iterator[PlacedRows]:
        """Yield the staged changes behind those that the load's file has."""
        load = self._underway[number].load
        columns = columns_of_shape(load.shape, lineage=self._lineage)
        sent = sent_columns(load.shape)
        for part in load.staged.state.changes:
            if part.through <= through:
                continue
            for table in load.staged.pieces.read(part.file):
                left = PlacedRows(table=table, columns=columns, sent=sent).behind(through)
                if left is not None:
                    yield left

    def has_news(self) -> bool:
        """Return whether `landed` or `failed` may have something to say."""
        return (
            self._loader.has_events()
            or bool(self._failed)
            or any(one.done() for one in self._landing.values())
            or any(not one.is_again for one in self._wanted if len(self._underway) < _MOST_AT_ONCE)
        )

    def check(self) -> None:
        """Raise what ended the loader."""
        self._loader.check()

    def take_events(self) -> None:
        """Take what the loader has to say, and begin to land what is ready."""
        for event in self._loader.events():
            if isinstance(event, LoadReady):
                self._land(event)
            elif isinstance(event, LoadGivenUp):
                self._given_up(event)
            elif isinstance(event, WritersEnded):
                self._asking.append(event.number)
            elif isinstance(event, LoadWaits):
                one = self._underway.get(event.number)
                if one is not None:
                    self._say(f"{one.path}: {event.why}")
            elif isinstance(event, LoaderWaits):
                self._say(f"rows are read later: {event.why}")

    def asking(self) -> list[str]:
        """Return the loads that wait for a new connection of the log, each once."""
        found, self._asking = self._asking, []
        return found

    def begin(self, numbers: Collection[str]) -> None:
        """Let these loads emit their first marks."""
        for number in numbers:
            self._loader.begin(number)

    def landed(self) -> dict[TablePath, LogPlace]:
        """Return the tables whose loads have landed since the last call, and up to which place.

        Raises what the store raises.
        """
        found = {}
        for path, landing in list(self._landing.items()):
            if not landing.done():
                continue
            del self._landing[path]
            try:
                found[path] = landing.result()
            except (OtherPublisher, PublishRefused) as error:
                stop = StopReason(StopCode.CHANGE_REFUSED, f"{path}: {error}", TAKE_SNAPSHOT)
                self._failed[path] = LoadFailure(str(error), stop)
            except (NotThere, FolderReplaced) as error:
                # Somebody has deleted what was staged, or the folder while the file landed.
                self._failed[path] = LoadFailure(str(error), None)
        return found

    def failed(self) -> dict[TablePath, LoadFailure]:
        """Return the tables whose loads have failed since the last call."""
        failed, self._failed = self._failed, {}
        return failed

    def end(self, paths: Collection[TablePath]) -> None:
        """Forget the loads of these tables, and remove what is staged of them.

        They have landed, they are given up, or their table is gone.
        """
        for path in paths:
            # A failure that is reported later would stop another table of the same name.
            self._failed.pop(path, None)
        self._wanted = deque(one for one in self._wanted if one.path not in paths)
        self._moved = [one for one in self._moved if one.path not in paths]
        for number, one in list(self._underway.items()):
            if one.path in paths:
                del self._underway[number]
                self._loader.drop(number)
                one.load.staged.remove()
        for path in paths:
            landing = self._landing.pop(path, None)
            if landing is not None:
                self._leaving[path] = landing

    def close(self) -> None:
        """End the loader's thread, and wait for a file that is being landed."""
        self._loader.stop(_SECONDS_TO_STOP)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _given_up(self, event: LoadGivenUp) -> None:
        one = self._underway.get(event.number)
        if one is not None:
            self._say(f"{one.path}: its load was given up: {event.why}")
            self._failed[one.path] = LoadFailure(event.why, event.stop)

    def _land(self, ready: LoadReady) -> None:
        one = self._underway.get(ready.number)
        if one is None:
            return
        shape, pieces = one.load.shape, one.load.staged.pieces
        columns = columns_of_shape(shape, lineage=self._lineage)
        adapted = _with_lineage if self._lineage else None

        def body(begins_empty: bool) -> StreamedParquet:
            file = LoadFile(
                pieces=pieces,
                state=ready.state,
                resolution=ready.resolution,
                columns=columns,
                begins_empty=begins_empty,
                adapted=adapted,
            )
            return StreamedParquet(file.schema, file.tables)

        read = ReadLoad(
            path=one.path,
            number=ready.number,
            keys=shape.keys,
            sent=sent_columns(shape),
            columns=columns,
            through=ready.through,
            fingerprint=ready.state.fingerprint,
            body=body,
        )
        self._landing[one.path] = self._pool.submit(
            partial(land_load, self._files, self._takes, read)
        )


def _with_lineage(piece: pa.Table, kind: PieceKind) -> pa.Table:
    return with_lineage_of_a_load(piece) if kind is PieceKind.ROWS else piece


def _has_truncate(table: pa.Table) -> bool:
    markers = table.column(ROW_MARKER_COLUMN)
    return bool(
        pc.any(pc.equal(markers, pa.scalar(Marker.TRUNCATE.value).cast(markers.type))).as_py()
    )
