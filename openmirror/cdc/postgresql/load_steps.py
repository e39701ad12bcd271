"""One load's own steps: its highest key, its ranges, and keys that are read once more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum, auto

from openmirror.cdc.postgresql.catalogue import OpenWriter
from openmirror.cdc.postgresql.copying import (
    Copied,
    CopyCut,
    DefinitionChanged,
    ExpectedTable,
    RowConnection,
)
from openmirror.cdc.postgresql.load_events import LoaderSettings, LoadReady, WantedLoad
from openmirror.cdc.postgresql.load_file import resolution_of
from openmirror.cdc.postgresql.load_state import KeyTexts, LoadState, RereadPart, RowPart
from openmirror.cdc.postgresql.partial_rows import RowKey
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.ranges import FIRST_LIMIT, RangeAim, SourceRows, narrowed
from openmirror.cdc.postgresql.read_rows import (
    UnreadableRow,
    copied_tables,
    key_of_line,
    reread_rows,
    server_keys,
)
from openmirror.cdc.stops import GIVE_WHOLE_ROWS
from openmirror.protocol.streams import StopCode, StopReason

_MOST_REREADS = 6
_KEYS_AT_ONCE = 500


class LoadPhase(Enum):
    """A load's current step, or what the load waits for."""

    WRITERS = auto()
    """It waits for transactions that may have written before the publication had the table."""
    ASKED = auto()
    """It waits for `begin`."""
    TO_MARK = auto()
    """It needs a first mark."""
    MARKED = auto()
    """It waits for a mark that was emitted, or will be."""
    ROWS = auto()
    """It reads ranges."""
    WRITING = auto()
    """The load's last range is being written."""
    RESOLVING = auto()
    """All its rows are confirmed, and updates without base are searched among its changes."""
    AGAIN = auto()
    """It reads keys once more."""
    READY = auto()


HAS_WORK = frozenset({LoadPhase.ROWS, LoadPhase.RESOLVING, LoadPhase.AGAIN})
BEFORE_MARK = frozenset({LoadPhase.WRITERS, LoadPhase.ASKED, LoadPhase.TO_MARK})


@dataclass(eq=False, kw_only=True)
class LoadUnderway:
    """One load, as far as the loader's thread has come with it."""

    wanted: WantedLoad
    phase: LoadPhase
    limit: int
    """The most rows of the next range."""
    at: KeyTexts | None
    """The last key that was read, whether confirmed or not."""
    source: SourceRows | None = None
    writers: frozenset[OpenWriter] | None = None
    """Writers that were open when the load began and still are."""
    mark: LogPlace | None = None
    """Where the mark stands that came last for this load."""
    needed: dict[RowKey, LogPlace] = field(default_factory=dict)
    rereads: int = 0
    waits_until: float = 0.0
    busy: int = 0
    """Attempts in a row that found the table locked."""
    reported: str = ""
    """What it waited for when that was reported last."""

    @property
    def number(self) -> str:
        """The load's number."""
        return self.wanted.number

    @property
    def title(self) -> str:
        """The table as `schema.table`."""
        return self.wanted.definition.title

    @property
    def state(self) -> LoadState:
        """How far the load has come, as its document says."""
        return self.wanted.staged.state

    @property
    def expected(self) -> ExpectedTable:
        """The facts that each transaction must find of the table."""
        state = self.state
        storage = state.storage if state.is_begun else None
        return ExpectedTable(
            oid=self.wanted.definition.oid, definition=state.definition, storage=storage
        )

    @property
    def last_mark(self) -> LogPlace:
        """Where the mark stands that came last."""
        assert self.mark is not None, "no mark has come"
        return self.mark


@dataclass
class BeforeMark:
    """Parts of one load that the next mark confirms."""

    is_first: bool = False
    ranges: list[RowPart] = field(default_factory=list)
    rereads: list[RereadPart] = field(default_factory=list)
    is_end: bool = False
    """Whether no row of the load is missing any more."""


@dataclass(frozen=True)
class Writing:
    """A range that has been read and is being written into its part."""

    load: LoadUnderway
    part: Future[RowPart]


class Busy(Exception):
    """A step has to be tried again a little later; the message says what it waits for."""


class LoadSteps:
    """Takes steps of loads, one at a time.

    Every step may raise what `RowConnection.copy` raises, UnreadableRow and Busy.
    """

    def __init__(
        self,
        rows: RowConnection,
        settings: LoaderSettings,
        confirm: Callable[[LoadUnderway], BeforeMark],
    ) -> None:
        """Args:
        rows: the connection.
        settings: how rows are read.
        confirm: gives what the next mark confirms of a load.
        """
        self._rows = rows
        self._settings = settings
        self._aim = RangeAim.within(settings.range_seconds)
        self._confirm = confirm
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="loads writing")
        self.writing: deque[Writing] = deque()
        """Ranges that are being written, in the order in which they were read."""

    def begun(self, wanted: WantedLoad) -> LoadUnderway:
        """Return a load as its document says."""
        state = wanted.staged.state
        phase = LoadPhase.ROWS if state.is_begun else LoadPhase.WRITERS
        limit = min(FIRST_LIMIT, self._settings.most_rows or FIRST_LIMIT)
        return LoadUnderway(wanted=wanted, phase=phase, limit=limit, at=state.read_through)

    def step(self, load: LoadUnderway) -> LoadReady | None:
        """Take the next step of a load that has work; return whether its file can land."""
        if load.phase is LoadPhase.RESOLVING:
            return self._resolve(load)
        if load.phase is LoadPhase.AGAIN:
            self._read_again(load)
        elif not load.state.is_begun:
            self._read_high(load)
        else:
            self._read_range(load)
        return None

    def narrow(self, load: LoadUnderway, cut: CopyCut, rows: int) -> None:
        """Ask for fewer rows after a range was cancelled.

        Args:
            load: The load.
            cut: Why the range was cancelled.
            rows: How many of its rows came.

        Raises:
            UnreadableRow: A single row takes too long.
        """
        if load.limit == 1 and not rows and cut is CopyCut.TIME:
            raise UnreadableRow(self._too_slow(load))
        load.limit = narrowed(load.limit, rows)

    def _source(self, load: LoadUnderway) -> SourceRows:
        if load.source is None:
            definition = load.wanted.definition
            source = SourceRows(
                schema=definition.schema,
                name=definition.name,
                columns=tuple(column.name for column in load.wanted.shape.columns),
                keys=self._rows.key_columns(definition.oid),
                encoding=self._rows.encoding,
            )
            if tuple(key.name for key in source.keys) != definition.keys:
                raise DefinitionChanged("its primary key is another one")
            load.source = source
        return load.source

    def _read_high(self, load: LoadUnderway) -> None:
        """Take the first snapshot: the highest key, and what every range must find."""
        source = self._source(load)
        copied = self._rows.copy(source, load.expected, source.highest_key())
        if copied.cut is not None:
            raise Busy("waits for a moment in which its highest key can be read")
        high = key_of_line(copied.last, range(len(source.keys))) if copied.rows else None
        mark = load.last_mark
        load.wanted.staged.change(lambda state: state.begun(mark, high, copied.storage))
        load.at = None

    def _read_range(self, load: LoadUnderway) -> None:
        high = load.state.high
        if high is None or load.at == high:
            self._end_rows(load)
            return
        source = self._source(load)
        copied = self._rows.copy(source, load.expected, source.range(load.at, high, load.limit))
        if copied.rows or copied.cut is None:
            self._keep_range(load, source, copied, high)
        if copied.cut is not None:
            self.narrow(load, copied.cut, copied.rows)
        else:
            limit = self._aim.next_limit(load.limit, copied.rows, copied.seconds, copied.size)
            load.limit = min(limit, self._settings.most_rows or limit)

    def _keep_range(
        self, load: LoadUnderway, source: SourceRows, copied: Copied, high: KeyTexts
    ) -> None:
        """Write a range into its part while the next range is copied."""
        is_last = copied.cut is None and copied.rows < load.limit
        places = [source.columns.index(key.name) for key in source.keys]
        through = high if is_last else key_of_line(copied.last, places)
        part = self._pool.submit(self._written, load, source, copied, load.at, through)
        self.writing.append(Writing(load, part))
        load.at = through
        if through == high:
            load.phase = LoadPhase.WRITING

    def _written(
        self,
        load: LoadUnderway,
        source: SourceRows,
        copied: Copied,
        after: KeyTexts | None,
        through: KeyTexts,
    ) -> RowPart:
        rows = copied_tables(
            copied.pieces, load.wanted.shape, source, name_keys=self._settings.name_keys
        )
        name = load.wanted.staged.pieces.write("rows", rows)
        return RowPart(file=name, after=after, through=through, rows=rows.num_rows)

    def finish_part(self) -> None:
        """Wait for the part that was begun first. Raises what writing it raises."""
        one = self.writing[0]
        part = one.part.result()
        self.writing.popleft()
        self._confirm(one.load).ranges.append(part)
        if one.load.phase is LoadPhase.WRITING and part.through == one.load.state.high:
            self._end_rows(one.load)

    def forget(self) -> list[LoadUnderway]:
        """Give up the parts that are being written; return their loads."""
        loads = [one.load for one in self.writing]
        for one in self.writing:
            wait([one.part])
        self.writing.clear()
        return loads

    def leave(self, load: LoadUnderway) -> None:
        """Give up the parts of one load that are being written."""
        self.writing = deque(one for one in self.writing if one.load is not load)

    def close(self) -> None:
        """End the thread that writes parts."""
        self._pool.shutdown(wait=True)

    def _end_rows(self, load: LoadUnderway) -> None:
        self._confirm(load).is_end = True
        load.phase = LoadPhase.MARKED

    def _resolve(self, load: LoadUnderway) -> LoadReady | None:
        """Return that a load is ready, unless keys have to be read once more."""
        state = load.state
        found = resolution_of(load.wanted.staged.pieces, state, load.wanted.shape.keys)
        if not found.needed:
            load.phase = LoadPhase.READY
            through = max([load.last_mark, *(part.through for part in state.changes)])
            return LoadReady(load.number, state, found, through)
        if load.rereads >= _MOST_REREADS:
            detail = (
                f"rows of table {load.title} change their keys faster than they can be read, and "
                "the log leaves out their unchanged values"
            )
            stop = StopReason(StopCode.VALUE_UNAVAILABLE, detail, GIVE_WHOLE_ROWS)
            raise UnreadableRow(stop)
        load.rereads += 1
        load.needed = dict(found.needed)
        load.phase = LoadPhase.AGAIN
        return None

    def _read_again(self, load: LoadUnderway) -> None:
        """Read keys once more; what is found counts behind the next mark."""
        source, shape = self._source(load), load.wanted.shape
        parts = []
        for keys in _at_once(load.needed, _KEYS_AT_ONCE):
            statement = source.these(server_keys(keys, shape, source))
            copied = self._rows.copy(source, load.expected, statement)
            if copied.cut is not None:
                raise Busy("waits for a moment in which keys can be read once more")
            rows = copied_tables(copied.pieces, shape, source, name_keys=self._settings.name_keys)
            found = reread_rows(rows, shape.keys, load.needed)
            name = load.wanted.staged.pieces.write("again", found)
            parts.append(RereadPart(file=name, rows=found.num_rows))
        self._confirm(load).rereads.extend(parts)
        self._end_rows(load)

    def _too_slow(self, load: LoadUnderway) -> StopReason:
        seconds = self._settings.range_seconds
        detail = f"a row of table {load.title} cannot be read within {seconds:g} s"
        again = f"then `openmirror cdc resnapshot {load.title}`"
        longer = f"`--range-time {seconds * 4:g}s`, {again}"
        return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, longer)


def _at_once(keys: Iterable[RowKey], most: int) -> Iterator[list[RowKey]]:
    found = list(keys)
    for at in range(0, len(found), most):
        yield found[at : at + most]
