"""Streams that mirrors declare: each is landed while it is declared, and none waits for another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from openmirror.cdc.relay.declared import DeclaredStream, DeclaredStreams
from openmirror.cdc.relay.relay import BatchReport
from openmirror.cdc.stops import EventsLost
from openmirror.errors import Unavailable
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
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.streams import Offset, StopCode, StoppedTable, StopReason
from openmirror.topic_address import TopicAddress

FIRST = Offset(3)
ORDERS, ITEMS = TablePath("public", "orders"), TablePath("public", "items")
STOPPED = StoppedTable(Offset(7), StopReason(StopCode.EVENTS_LOST, "rows are gone", "Snapshot."))


def declared(mirror: str, topic: str, seconds: float = 1.0) -> DeclaredStream:
    address = TopicAddress.parse(f"kafka://broker/{topic}")
    return DeclaredStream(mirror, DeclaredTopic(address, timedelta(seconds=seconds)))


@dataclass
class Landed:
    """A stream that is landed, as far as its owner sees."""

    report: Callable[[BatchReport], None]
    trouble: Callable[[str], None]
    next: Offset = FIRST
    stopped: dict[TablePath, StoppedTable] = field(default_factory=dict)
    failure: Exception | None = None

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def stop(self, seconds: float) -> None:
        """Nothing is underway."""


class Site:
    """Mirrors that declare streams, brokers that have them, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.declared: list[DeclaredStream] = []
        self.there = ["shop"]
        self.refused: dict[str, Exception] = {}
        self.at_work: dict[tuple[str, str], Landed] = {}
        self.stopped: dict[TablePath, StoppedTable] = {}
        self.begun = 0
        self.woken: list[TableFolder] = []
        self.emitted: list[ProgressEvent] = []
        self.streams = DeclaredStreams(
            lambda: self.declared, self, self.woken.append, self.emitted.append, lambda: self.now
        )

    def topics(self, stream: DeclaredStream) -> Sequence[str]:
        address = stream.declared.address
        if address.pattern in self.refused:
            raise self.refused[address.pattern]
        return [topic for topic in self.there if address.has(topic)]

    @contextmanager
    def landing(
        self,
        stream: DeclaredStream,
        topic: str,
        report: Callable[[BatchReport], None],
        trouble: Callable[[str], None],
    ) -> Iterator[Landed]:
        if topic in self.refused:
            raise self.refused[topic]
        self.begun += 1
        self.at_work[stream.mirror, topic] = Landed(report, trouble, stopped=self.stopped)
        try:
            yield self.at_work[stream.mirror, topic]
        finally:
            del self.at_work[stream.mirror, topic]

    def turn(self, later: float = 0.0) -> list[ProgressEvent]:
        self.now += later
        self.emitted.clear()
        self.streams.turn()
        return list(self.emitted)


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_declared_stream_is_landed_and_one_that_is_not_any_more_ends(site: Site) -> None:
    site.declared = [declared("m", "shop")]
    assert site.turn() == [StreamBegun("m", "shop", 3)]
    assert site.turn() == []
    site.declared = []
    assert site.turn() == [StreamEnded("m", "shop")]
    assert not site.at_work


def test_another_trigger_begins_a_stream_again(site: Site) -> None:
    site.declared = [declared("m", "shop")]
    site.turn()
    site.declared = [declared("m", "shop", seconds=5)]
    assert site.turn() == [StreamEnded("m", "shop"), StreamBegun("m", "shop", 3)]


def test_a_pattern_follows_topics_that_are_made_later(site: Site) -> None:
    site.declared = [declared("m", "shop*")]
    site.turn()
    site.there.append("shop.b")
    assert site.turn(later=10) == []
    assert site.turn(later=60) == [StreamBegun("m", "shop.b", 3)]


def test_a_stream_that_fails_keeps_no_other_and_is_begun_again_later_and_later(site: Site) -> None:
    site.declared = [declared("m", "shop"), declared("n", "other")]
    site.there.append("other")
    site.turn()
    for seconds in (10, 30, 60, 300, 600, 600):
        site.at_work["m", "shop"].failure = EventsLost("gone")
        assert site.turn() == [StreamFailed("m", "shop", "gone", seconds)]
        assert list(site.at_work) == [("n", "other")]
        assert site.turn(later=seconds - 1) == []
        assert site.turn(later=1) == [StreamBegun("m", "shop", 3)]


def test_one_that_has_gone_on_for_ten_minutes_has_not_failed_before(site: Site) -> None:
    site.declared = [declared("m", "shop")]
    site.turn()
    for _ in range(2):
        site.at_work["m", "shop"].failure = EventsLost("gone")
        assert site.turn() == [StreamFailed("m", "shop", "gone", 10)]
        site.turn(later=10)
        site.turn(later=600)


def test_brokers_that_are_away_are_asked_again(site: Site) -> None:
    site.declared = [declared("m", "shop")]
    site.refused["shop"] = Unavailable("no answer")
    assert site.turn() == [StreamFailed("m", "shop", "no answer", 10)]
    site.refused.clear()
    assert site.turn(later=10) == [StreamBegun("m", "shop", 3)]


def test_a_mistake_of_the_program_itself_ends_only_its_stream(site: Site) -> None:
    site.declared = [declared("m", "shop"), declared("n", "other")]
    site.there.append("other")
    site.refused["shop"] = ZeroDivisionError("by zero")
    failed, begun = site.turn()
    assert failed == StreamFailed("m", "shop", "ZeroDivisionError: by zero", 10)
    assert begun == StreamBegun("n", "other", 3)


def test_what_lands_wakes_its_tables_and_what_stops_is_named(site: Site) -> None:
    site.declared = [declared("m", "shop")]
    site.stopped[ITEMS] = STOPPED
    begun, stopped = site.turn()
    assert begun == StreamBegun("m", "shop", 3)
    items = TableFolder("m", ITEMS)
    code = StopCode.EVENTS_LOST
    assert stopped == StreamTableStopped(items, "shop", code, "rows are gone", "Snapshot.")
    site.emitted.clear()
    landed = BatchReport(
        records=5, end=Offset(8), rows={ORDERS: 3}, anew=frozenset({ITEMS}), stopped={}
    )
    site.at_work["m", "shop"].report(landed)
    site.at_work["m", "shop"].trouble("away")
    assert site.woken == [TableFolder("m", ORDERS)]
    assert site.emitted == [
        StreamLanded("m", "shop", 5, 3),
        StreamTableBegunAnew(items, "shop"),
        StreamWaits("m", "shop", "away"),
    ]


def test_all_end_with_their_process(site: Site) -> None:
    site.declared = [declared("m", "shop"), declared("n", "shop")]
    site.turn()
    site.streams.stop()
    assert not site.at_work
