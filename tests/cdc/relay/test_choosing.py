"""Tables that are left out or have another name: never a row too few, whoever changes his mind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from openmirror.cdc.relay import choosing
from openmirror.cdc.relay.choosing import with_choice
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.cdc.relay.relay import BatchReport, Relay, RelayOptions
from openmirror.mirroring import TableChoice
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, interpret
from openmirror.protocol.streams import StopCode, StreamDocument
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import join
from tests.cdc.relay.sources import Event, Rows, Stream
from tests.publishing.zones import ZONE, landed, memory

ONE, TWO, OTHER = TablePath("app", "one"), TablePath("app", "two"), TablePath("sales", "ones")
ALL = TableChoice()
WITHOUT = TableChoice.of((), ["app.one"], {})
RENAMED = TableChoice.of((), (), {"app.one": "sales.ones"})


def change(place: int, number: int, table: str = "one", **more: str) -> Event:
    return Event(table, "c", number, f"v{place}", (0, place), place, **more)  # type: ignore[arg-type]


def row(number: int, place: int, table: str = "one") -> Event:
    return Event(table, "r", number, "snapshot", (place, place), place)


class Site:
    """A stream and its zone, over which relays of different minds come."""

    def __init__(self, *events: Event) -> None:
        self.store: MemoryStore = memory()
        self.stream = Stream(events=list(events))
        self.relay: Relay | None = None

    def land(self, choice: TableChoice, *events: Event, many: int = 1000) -> list[BatchReport]:
        """By a new relay; what it reported."""
        self.stream.events += events
        options = RelayOptions(most_records=many, idle_seconds=0, takes=EXTENSIONS)
        decode = with_choice(self.stream.decode, choice)
        self.relay = Relay(self.store, ZONE, "shop", self.stream, decode, options)
        self.relay.open()
        reports = []
        while (done := self.relay.step()).records:
            reports.append(done)
        return reports

    def rows(self, path: TablePath) -> Rows:
        files = landed(self.store, join(ZONE, *str(path).split("/")))
        return {int(str(r["id"])): r.get("text") for r in interpret(files, ["id"]).rows}

    @property
    def document(self) -> StreamDocument:
        path = document_path(ZONE, "shop")
        return read_document(self.store.read(path).data, path)

    def stops(self) -> Mapping[TablePath, StopCode]:
        return {path: one.stop.code for path, one in self.document.stopped.items()}


def test_a_table_that_is_left_out_does_not_land_and_is_no_trouble() -> None:
    here = Site(change(1, 1), change(2, 1, "two"), change(3, 2))
    reports = here.land(WITHOUT)
    assert here.rows(TWO) == {1: "v2"}
    assert here.store.incarnation(join(ZONE, "app.schema", "one")) is None
    assert not any(report.stopped for report in reports)
    assert here.stops() == {}
    assert here.document.complete_to == 3


@pytest.mark.parametrize("many", [1, 1000])
def test_one_that_lands_again_waits_for_a_new_snapshot(many: int) -> None:
    here = Site(change(1, 1))
    here.land(ALL)
    here.land(WITHOUT, change(2, 2), many=many)
    here.land(ALL, change(3, 3), many=many)
    assert here.rows(ONE) == {1: "v1"}
    assert here.stops() == {ONE: StopCode.RESNAPSHOT_NEEDED}
    assert "was left out before, by mirroring.json" in here.document.stopped[ONE].stop.detail
    here.land(ALL, row(2, 9), row(3, 9), change(10, 4), many=many)
    assert here.rows(ONE) == {2: "snapshot", 3: "snapshot", 4: "v10"}
    assert here.stops() == {}


@pytest.mark.parametrize("many", [1, 1000])
def test_one_that_was_left_out_from_the_beginning_waits_as_well(many: int) -> None:
    here = Site(change(1, 1))
    here.land(WITHOUT)
    here.land(ALL, change(2, 2), many=many)
    assert here.rows(ONE) == {}
    here.land(ALL, change(3, 4), row(1, 5), row(2, 5), change(7, 3), many=many)
    assert here.rows(ONE) == {1: "snapshot", 2: "snapshot", 3: "v7"}


def test_forgetting_who_was_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmirror.cdc.relay.relay.placed", lambda document, _: document)
    with pytest.raises(AssertionError):
        test_one_that_was_left_out_from_the_beginning_waits_as_well(1)
    with pytest.raises(AssertionError):
        test_one_that_lands_again_waits_for_a_new_snapshot(1)


def test_a_table_lands_under_the_name_that_it_is_given() -> None:
    here = Site(change(1, 1), change(2, 1, "two"))
    here.land(RENAMED)
    assert here.rows(OTHER) == {1: "v1"}
    assert here.rows(TWO) == {1: "v2"}
    here.land(RENAMED, change(3, 2))
    assert here.rows(OTHER) == {1: "v1", 2: "v3"}
    assert here.document.tables == {OTHER, TWO}


@pytest.mark.parametrize(("before", "after"), [(ALL, RENAMED), (RENAMED, ALL)])
def test_one_that_gets_another_name_waits_for_a_snapshot_and_leaves_the_old_one(
    before: TableChoice, after: TableChoice
) -> None:
    old, new = (ONE, OTHER) if before is ALL else (OTHER, ONE)
    here = Site(change(1, 1))
    here.land(before)
    here.land(after, change(2, 2))
    assert here.stops() == {new: StopCode.RESNAPSHOT_NEEDED}
    assert f"landed as {old} before" in here.document.stopped[new].stop.detail
    here.land(after, row(1, 9), row(2, 9), change(10, 3))
    assert here.rows(new) == {1: "snapshot", 2: "snapshot", 3: "v10"}
    assert here.rows(old) == {1: "v1"}
    assert here.stops() == {}


def test_a_name_that_is_taken_back_waits_for_a_snapshot_too() -> None:
    here = Site(change(1, 1))
    for choice, place in ((ALL, 2), (RENAMED, 3), (ALL, 4)):
        here.land(choice, change(place, place))
    assert here.stops() == {ONE: StopCode.RESNAPSHOT_NEEDED}
    here.land(ALL, row(7, 9))
    assert here.rows(ONE) == {7: "snapshot"}


def test_two_tables_never_share_a_folder() -> None:
    both = TableChoice.of((), (), {"app.one": "app.two"})
    here = Site(change(1, 1, "two"), change(2, 2))
    here.land(both)
    assert here.rows(TWO) == {1: "v1"}
    assert here.stops() == {TWO: StopCode.CHANGE_REFUSED}
    assert "give no two tables one name" in here.document.stopped[TWO].stop.remedy


def test_a_record_of_a_table_that_is_left_out_need_not_be_understood() -> None:
    here = Site(Event("one", "c", 1, bad=StopCode.RECORD_UNDECODABLE), change(2, 1, "two"))
    here.land(WITHOUT)
    assert here.stops() == {}
    assert here.rows(TWO) == {1: "v2"}


def test_a_table_that_has_stopped_and_is_left_out_keeps_no_records() -> None:
    here = Site(change(1, 1), Event("one", "c", 2, bad=StopCode.RECORD_UNDECODABLE))
    here.land(ALL)
    assert here.document.needed_from == 1
    here.land(WITHOUT, change(3, 3))
    assert here.stops() == {}
    assert here.document.needed_from == 3


def test_a_document_that_is_deleted_under_a_relay_keeps_who_was_left_out() -> None:
    here = Site(change(1, 1))
    here.stream.lets_go = False
    here.land(WITHOUT)
    here.store.delete_file(document_path(ZONE, "shop"))
    here.stream.events.append(change(2, 1, "two"))
    assert here.relay is not None
    here.relay.step()
    assert dict(here.document.sources) == {"db.app.one": None}


def test_a_lost_document_loses_no_row_of_a_table_that_lands_again() -> None:
    here = Site(change(1, 1))
    here.land(WITHOUT)
    here.store.delete_file(document_path(ZONE, "shop"))
    here.land(ALL, change(2, 2))
    assert here.rows(ONE) == {} or here.rows(ONE) == {1: "v1", 2: "v2"}
    assert here.rows(ONE) or here.stops() == {ONE: StopCode.EVENTS_LOST}


def seen_by(choice: TableChoice, tables: Iterable[str]) -> dict[str, str | None]:
    return {
        table: str(choice.name_of(table) or table) if choice.has(table) else None
        for table in tables
    }


def test_patterns_mean_tables_by_their_own_names() -> None:
    choice = TableChoice.of(
        ["public.*", "crm.users"],
        ["*.audit_*"],
        {"public.*": "shop.pg_*", "public.orders": "shop.`orders.now`"},
    )
    expected = {
        "public.orders": "shop.schema/orders.now",
        "public.lines": "shop.schema/pg_lines",
        "public.audit_1": None,
        "crm.users": "crm.users",
        "crm.x": None,
        "PUBLIC.a": None,
    }
    assert seen_by(choice, expected) == expected


@pytest.mark.parametrize(
    ("include", "names"),
    [
        (["orders"], {}),
        (["a.[b]"], {}),
        (["public."], {}),
        ([""], {}),
        ([], {"a.*": "b.c"}),
        ([], {"a.b": "c.*"}),
        ([], {"a.b": "c"}),
        ([], {"a.b": "mirror/c.d"}),
        ([], {"*.*": "a.*"}),
    ],
)
def test_what_no_table_is_called_is_refused(include: list[str], names: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"write|names a mirror|both have one"):
        TableChoice.of(include, (), names)


def test_a_choice_of_everything_changes_no_document() -> None:
    here = Site(change(1, 1), change(2, 1, "two"))
    here.land(ALL)
    assert not here.document.sources
    assert choosing.placed(here.document, ()) == here.document
