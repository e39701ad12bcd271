"""What a relay says of itself: now and then, at once when it changes, and never as its work."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.cdc.relay.reporting import RelayReports, WaitingBytes, report_path
from openmirror.errors import NotThere, Unavailable
from openmirror.protocol.relay_reports import RelayReport, RelayState
from openmirror.protocol.streams import Offset
from openmirror.status import StreamNote
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, landing_zone

ZONE = landing_zone("m")
START = datetime(2026, 1, 2, tzinfo=UTC)
US = int(START.timestamp()) * 1_000_000


class Relay:
    """A relay that says how it is, and a stream that begins at 5 and grows by 100 a second."""

    def __init__(self) -> None:
        self.now = START
        self.store = MemoryStore(lambda: self.now)
        self.store.write(StorePath(f"{ZONE}/_x"), b"")
        self.asked = 0
        self.reports = RelayReports(self.store, ZONE, "shop", lambda: self.now)

    def ends(self) -> tuple[Offset, Offset]:
        self.asked += 1
        return Offset(5), Offset(100 * int((self.now - START).total_seconds()) + 100)

    def landing(self, at: int, newest: int | None = None, later: float = 0.0) -> RelayReport | None:
        self.now += timedelta(seconds=later)
        self.reports.landing(Offset(at), self.ends, newest)
        return self.reported()

    def reported(self) -> RelayReport | None:
        try:
            return RelayReport.from_json(self.store.read(report_path(ZONE, "shop")).data)
        except NotThere:
            return None


@pytest.fixture
def relay() -> Relay:
    return Relay()


def test_the_first_report_says_how_far_it_is_and_how_far_behind(relay: Relay) -> None:
    relay.now += timedelta(seconds=30)
    reported = relay.landing(at=40, newest=US)
    assert reported is not None
    assert (reported.begins, reported.next, reported.end) == (5, 40, 3100)
    assert (reported.records_behind, reported.seconds_behind) == (3060, 30.0)


def test_what_waits_is_measured_where_a_report_is_due() -> None:
    relay, asked = Relay(), []

    def waiting(at: Offset) -> WaitingBytes:
        asked.append(at)
        return WaitingBytes(500, 12 << 30, 10 << 30)

    relay.reports = RelayReports(relay.store, ZONE, "shop", lambda: relay.now, waiting)
    reported = relay.landing(at=40)
    relay.landing(at=41, later=1)
    assert asked == [40]
    assert reported is not None
    assert (reported.bytes_behind, reported.source_keeps) == (500, 12 << 30)
    note = StreamNote(name="shop", relay=reported)
    assert note.slot_too_large == 12 << 30
    fits = replace(reported, source_keeps=10 << 30)
    assert replace(note, relay=fits).slot_too_large is None


def test_who_has_read_everything_is_not_behind_however_old_the_newest_change_is(
    relay: Relay,
) -> None:
    reported = relay.landing(at=100, newest=US - 9_000_000)
    assert reported is not None
    assert reported.seconds_behind == 0.0


def test_one_that_moves_is_heard_every_ten_seconds_and_one_that_rests_every_minute(
    relay: Relay,
) -> None:
    relay.landing(at=40)
    for at, later, reported_at in ((50, 9, 0), (60, 1, 10), (60, 59, 10), (60, 1, 70)):
        reported = relay.landing(at, later=later)
        assert reported is not None
        assert reported.at == START + timedelta(seconds=reported_at)
    assert relay.asked == 3, "the brokers are asked only for what is reported"


def test_a_change_is_heard_at_once_with_the_newest_place(relay: Relay) -> None:
    relay.landing(at=40)
    relay.landing(at=50, later=1)
    relay.reports.troubled(RelayState.WAITING, "no answer")
    reported = relay.reported()
    assert reported is not None
    assert (reported.state, reported.detail, reported.next) == (RelayState.WAITING, "no answer", 50)
    again = relay.landing(at=50, later=1)
    assert again is not None
    assert again.state is RelayState.LANDING


def test_what_ends_it_is_reported_and_raised(relay: Relay) -> None:
    with pytest.raises(Unavailable), relay.reports.failing():
        raise Unavailable("gone")
    reported = relay.reported()
    assert reported is not None
    assert (reported.state, reported.detail) == (RelayState.FAILED, "gone")


def test_one_that_says_nothing_for_three_minutes_is_silent_unless_it_has_ended(
    relay: Relay,
) -> None:
    reported = relay.landing(at=40)
    assert reported is not None
    assert not reported.is_silent(START + timedelta(minutes=3))
    assert reported.is_silent(START + timedelta(minutes=3, seconds=1))
    relay.reports.troubled(RelayState.ENDED)
    ended = relay.reported()
    assert ended is not None
    assert not ended.is_silent(START + timedelta(days=1))


def test_a_zone_that_was_deleted_does_not_come_back_by_a_report(relay: Relay) -> None:
    relay.store.delete_file(StorePath(f"{ZONE}/_x"))
    relay.store.delete_folder(ZONE)
    assert relay.landing(at=40) is None


def test_a_time_that_no_calendar_has_is_no_time(relay: Relay) -> None:
    reported = relay.landing(at=40, newest=1 << 62)
    assert reported is not None
    assert reported.newest is None
    assert reported.seconds_behind is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"at": "2026-01-02T00:00:00", "since": "2026-01-02T00:00:00Z", "state": "ended"}',
    ],
)
def test_what_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no report of a relay"):
        RelayReport.from_json(content)
