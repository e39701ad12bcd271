"""The streams that mirrors declare: each is landed for as long as its mirror says so.

One that cannot be landed keeps no other from it, and is tried again now and then: an operator may
have mended what was wrong with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from openmirror.cdc.relay.relay import BatchReport
from openmirror.errors import reason_of
from openmirror.mirroring import DeclaredTopic
from openmirror.progress.streams import (
    StreamBegun,
    StreamEnded,
    StreamFailed,
    StreamLanded,
    StreamTableBegunAnew,
    StreamTableStopped,
    StreamWaits,
)
from openmirror.progress.union import EventSink
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.streams import Offset, StoppedTable

_RETRY_SECONDS = (10.0, 30.0, 60.0, 300.0, 600.0)
"""Until a stream that failed is begun again: the more often it has, the later."""
_SOUND_SECONDS = 600.0
"""One that has gone on for so long has not failed before."""
_NEW_TOPICS_SECONDS = 60.0
"""How often it is asked which topics a pattern means."""


@dataclass(frozen=True)
class DeclaredStream:
    """A topic, or topics, of one mirror."""

    mirror: str
    declared: DeclaredTopic
    lineage: bool = False
    """As the mirror wants it; another wish begins the stream again."""


class LandedStream(Protocol):
    """A stream that is landed by a thread of its own."""

    @property
    def next(self) -> Offset:
        """The first record that has not been read."""
        ...

    @property
    def stopped(self) -> Mapping[TablePath, StoppedTable]:
        """Tables that have stopped."""
        ...

    def check(self) -> None:
        """Raise what ended it."""
        ...

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait at most so long for what is underway."""
        ...


class Streams(Protocol):
    """What can be landed, and how."""

    def topics(self, stream: DeclaredStream) -> Sequence[str]:
        """The topics that are meant, and are there."""
        ...

    def landing(
        self,
        stream: DeclaredStream,
        topic: str,
        report: Callable[[BatchReport], None],
        trouble: Callable[[str], None],
    ) -> AbstractContextManager[LandedStream]:
        """Land one for as long as the block lasts."""
        ...


@dataclass
class _Topic:
    """One topic of a declaration, or the search for those that it means."""

    parts: ExitStack = field(default_factory=ExitStack)
    landing: LandedStream | None = None
    since: float = 0.0
    failures: int = 0
    due: float = 0.0


class DeclaredStreams:
    """Lands what is declared, as of the newest `turn`; all calls come from one thread."""

    def __init__(
        self,
        declared: Callable[[], Iterable[DeclaredStream]],
        streams: Streams,
        wake: Callable[[TableFolder], None],
        emit: EventSink,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wake` and `emit` are called from the threads of streams, too."""
        self._declared = declared
        self._streams = streams
        self._wake = wake
        self._emit = emit
        self._monotonic = monotonic
        self._topics: dict[DeclaredStream, dict[str, _Topic]] = {}
        self._searches: dict[DeclaredStream, _Topic] = {}

    def turn(self) -> None:
        """Begin and end what has to be, and see how the others are.

        Raises what reading the mirrors' settings raises; what is landed then goes on.
        """
        wanted = list(self._declared())
        for gone in [stream for stream in self._topics if stream not in wanted]:
            self._end(gone)
        for stream in wanted:
            self._find_topics(stream)
            for name, topic in self._topics[stream].items():
                with self._apart(stream, name, topic):
                    self._go_on(stream, name, topic)

    def stop(self) -> None:
        """End them all; whatever has landed stays so."""
        for topic in [one for topics in self._topics.values() for one in topics.values()]:
            if topic.landing is not None:
                topic.landing.stop(0.0)
        for stream in list(self._topics):
            for topic in self._topics.pop(stream).values():
                topic.parts.close()

    def _end(self, stream: DeclaredStream) -> None:
        self._searches.pop(stream, None)
        for name, topic in self._topics.pop(stream).items():
            topic.parts.close()
            self._emit(StreamEnded(stream.mirror, name))

    def _find_topics(self, stream: DeclaredStream) -> None:
        known = self._topics.setdefault(stream, {})
        search = self._searches.setdefault(stream, _Topic())
        pattern = stream.declared.address.pattern
        if self._monotonic() < search.due or (known and "*" not in pattern):
            return
        with self._apart(stream, pattern, search):
            for name in self._streams.topics(stream):
                known.setdefault(name, _Topic())
            search.failures = 0
            search.due = self._monotonic() + _NEW_TOPICS_SECONDS

    def _go_on(self, stream: DeclaredStream, name: str, topic: _Topic) -> None:
        if topic.landing is not None:
            topic.landing.check()
            if self._monotonic() - topic.since >= _SOUND_SECONDS:
                topic.failures = 0
        elif self._monotonic() >= topic.due:
            self._begin(stream, name, topic)

    def _begin(self, stream: DeclaredStream, name: str, topic: _Topic) -> None:
        mirror = stream.mirror

        def report(done: BatchReport) -> None:
            for path in done.rows:
                self._wake(TableFolder(mirror, path))
            self._emit(StreamLanded(mirror, name, done.records, sum(done.rows.values())))
            self._say_stopped(mirror, name, done.stopped)
            for path in sorted(done.anew):
                self._emit(StreamTableBegunAnew(TableFolder(mirror, path), name))

        def trouble(reason: str) -> None:
            self._emit(StreamWaits(mirror, name, reason))

        landing = topic.parts.enter_context(self._streams.landing(stream, name, report, trouble))
        topic.landing, topic.since = landing, self._monotonic()
        self._emit(StreamBegun(mirror, name, landing.next))
        self._say_stopped(mirror, name, landing.stopped)

    def _say_stopped(
        self, mirror: str, name: str, stopped: Mapping[TablePath, StoppedTable]
    ) -> None:
        for path, table in sorted(stopped.items()):
            stop = table.stop
            folder = TableFolder(mirror, path)
            self._emit(StreamTableStopped(folder, name, stop.code, stop.detail, stop.remedy))

    @contextmanager
    def _apart(self, stream: DeclaredStream, name: str, topic: _Topic) -> Iterator[None]:
        """What ends one topic within the block ends nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - one stream that fails must not end all others
            topic.landing = None
            topic.parts.close()
            seconds = _RETRY_SECONDS[min(topic.failures, len(_RETRY_SECONDS) - 1)]
            topic.failures += 1
            topic.due = self._monotonic() + seconds
            self._emit(StreamFailed(stream.mirror, name, reason_of(error), seconds))
