"""What goes wrong with one path or one table is shown there, and hides no other."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openmirror.deltalog import LogReplay
from openmirror.errors import AccessDenied, Unavailable
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.event_filter import Ignored, Woken, filter_event
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.operate.finding import known_mirrors
from openmirror.operate.overview import MirrorState, mirror_head, table_page
from openmirror.operate.report import publish, statuses
from openmirror.plan import Limits
from openmirror.plan.decisions import Idle, Pause
from openmirror.ports import Absent, Content, Entry, Listing
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.names import ETag, Incarnation, TableFolder
from openmirror.protocol.rules import Code
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime import draining
from openmirror.runtime.draining import DrainResult, drain
from openmirror.runtime.sweeping import clean, sweep
from openmirror.status import TableStatus
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.stores.memory.files import MemoryStore
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table

A, B, SALES = table("m", "A"), table("m", "B"), table("m", "sales.schema/C")
SECOND = f"{2:020d}.parquet"
LIMITS = Limits(metadata_grace=timedelta(0), drop_grace=timedelta(0))
Fault = Callable[[StorePath], Exception]


def refusal(path: StorePath) -> Exception:
    return AccessDenied(f"{path}: access is denied to the identity (object id 7)", path)


class FaultyStore(MemoryStore):
    """A store that fails wherever a path begins so."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime.now(UTC))
        self.faults: dict[str, Fault] = {}

    def list_folder(self, folder: StorePath) -> Listing:
        self._ask(folder)
        return super().list_folder(folder)

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        self._ask(folder)
        return super().list_from(folder, start)

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        self._ask(folder)
        return super().incarnation(folder)

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        self._ask(path)
        return super().read(path, offset, length)

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        self._ask(path)
        return super().write(path, data, only_if)

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        self._ask(source)
        super().move_file(source, destination, etag)

    def _ask(self, path: StorePath) -> None:
        for begin, fault in self.faults.items():
            if path == begin or path.startswith(f"{begin}/"):
                raise fault(path)


class World:
    """A root in memory, whose store fails where a test says so."""

    def __init__(self) -> None:
        self.store = FaultyStore()
        self.store.make_folder(layout.landing_zone("m"))
        self.engine = PaperEngine(self.store)
        self.waker = LocalWaker()
        self.ports = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=lambda: datetime.now(UTC),
            limits=LIMITS,
        )

    def fails(self, path: StorePath, fault: Fault = refusal) -> None:
        self.store.faults[path] = fault

    def mend(self) -> None:
        self.store.faults.clear()

    def drain(self, *mirrors: str) -> DrainResult:
        return drain(self.ports, self.engine, mirrors or ("m",), 2)

    def swept(self) -> list[TableFolder]:
        sweep(self.ports, ["m"], self.waker)
        return list(self.woken())

    def woken(self) -> Iterator[TableFolder]:
        while folder := self.waker.take(0):
            yield folder

    def shown(self, *mirrors: str) -> dict[str, TableStatus]:
        return {str(s.folder): s for s in statuses(self.ports, mirrors or ("m",))}

    def monitored(self, name: str = "tables.json") -> Any:
        return json.loads(self.store.read(join(layout.monitoring("m"), name)).data)

    def event(self, folder: TableFolder, name: str) -> LandingEvent:
        path = join(layout.table_folder(folder), name)
        return LandingEvent(identity=f"event of {path}", kind=EventKind.FILE_WRITTEN, path=path)


@pytest.fixture
def world() -> World:
    made = World()
    for folder in (A, B, SALES):
        land(made.store, folder, 1)
    return made


def code(status: TableStatus) -> str | None:
    return status.problem.code if status.problem else None


def test_a_refused_file_stops_its_table_in_front_of_it_until_access_is_given(world: World) -> None:
    land(world.store, A, 2)
    land(world.store, B, 2)
    path = join(layout.table_folder(A), SECOND)
    world.fails(path)
    result = world.drain()
    paused = result.stopped[A]
    assert isinstance(paused, Pause)
    assert (paused.problem.code, paused.problem.file) == (Code.ACCESS_DENIED, SECOND)
    assert path in paused.problem.detail
    assert "object id 7" in paused.problem.detail
    assert result.outcomes[B] == Idle()
    shown = world.shown()
    assert [shown[str(f)].applied for f in (A, B, SALES)] == [1, 2, 1]
    world.mend()
    assert world.drain().outcomes[A] == Idle()
    assert world.shown()["m/A"].applied == 2


@pytest.mark.parametrize(
    "place",
    [
        layout.table_folder(A),
        join(layout.table_folder(A), "_metadata.json"),
        layout.control_document(A),
        join(StorePath("lake/m/Tables/dbo/A"), "_delta_log"),
    ],
)
def test_whatever_of_a_table_is_refused_is_its_own_problem(world: World, place: StorePath) -> None:
    world.drain()
    for folder in (A, B):
        land(world.store, folder, 2)
    world.fails(place)
    result = world.drain()
    paused = result.stopped[A]
    assert isinstance(paused, Pause)
    assert paused.problem.code is Code.ACCESS_DENIED
    assert place in paused.problem.detail
    assert not result.has_failed
    shown = world.shown()
    assert (code(shown["m/A"]), code(shown["m/B"])) == ("AccessDenied", None)
    assert shown["m/B"].applied == 2
    states = {t["sourceTableName"]: t["status"] for t in world.monitored()["tables"]}
    assert states == {"A": "Failed", "B": "Replicating", "C": "Replicating"}


def test_refused_settings_pause_every_table_of_their_mirror_and_say_why(world: World) -> None:
    world.fails(layout.mirror_settings("m"))
    result = world.drain()
    assert {type(outcome) for outcome in result.outcomes.values()} == {Pause}
    assert {code(status) for status in world.shown().values()} == {"AccessDenied"}
    assert world.monitored("replicator.json")["errorCode"] == "AccessDenied"


def test_who_publishes_decides_nothing_and_hides_nothing(world: World) -> None:
    world.fails(join(layout.landing_zone("m"), "_partnerEvents.json"))
    assert world.drain().stopped == {}
    assert {code(status) for status in world.shown().values()} == {None}


def test_a_refused_schema_is_shown_and_drops_nothing_and_hides_no_other(world: World) -> None:
    world.drain()
    place = join(layout.landing_zone("m"), "sales.schema")
    world.fails(place)
    land(world.store, A, 2)
    result = world.drain()
    assert place in result.unlisted
    assert result.has_failed
    shown = world.shown()
    assert shown["m/A"].applied == 2
    assert code(shown["m/sales.schema/C"]) == "AccessDenied"
    reported = shown["m/"].problem
    assert reported is not None
    assert (reported.code, place in reported.detail) == ("AccessDenied", True)
    assert place in sweep(world.ports, ["m"], world.waker).unreadable
    assert place in clean(world.ports, ["m"]).unreadable
    assert world.monitored("replicator.json")["errorCode"] == "AccessDenied"
    world.mend()
    assert code(world.shown()["m/sales.schema/C"]) is None


def test_a_refused_zone_shows_every_table_that_was_known_and_no_stale_status(world: World) -> None:
    world.drain()
    publish(world.ports, "m")
    world.fails(layout.landing_zone("m"))
    publish(world.ports, "m")
    assert {t["status"] for t in world.monitored()["tables"]} == {"Failed"}
    assert {t["errorCode"] for t in world.monitored()["tables"]} == {"AccessDenied"}
    assert {code(status) for status in world.shown().values()} == {"AccessDenied"}
    world.drain()
    world.mend()
    assert {code(status) for status in world.shown().values()} == {None}


def test_a_refused_mirror_hides_no_other(world: World) -> None:
    other = table("other", "T")
    land(world.store, other, 1)
    world.drain("m", "other")
    world.fails(StorePath("landing/other"))
    world.fails(StorePath("lake/other"))
    assert known_mirrors(world.store) == ["m", "other"]
    shown = world.shown("other", "m")
    assert (code(shown["other/"]), code(shown["m/A"])) == ("AccessDenied", None)
    head = mirror_head(world.ports, "other")
    assert head.state is MirrorState.STOPPED
    assert head.trouble is not None
    assert head.trouble.code == "AccessDenied"
    assert code(table_page(world.ports, "other").tables[0]) == "AccessDenied"
    land(world.store, A, 2)
    assert world.drain("other", "m").outcomes[A] == Idle()
    assert world.shown()["m/A"].applied == 2


def test_what_a_disk_has_where_it_is_mounted_is_no_mirror(world: World) -> None:
    for top in ("landing", "lake"):
        place = StorePath(f"{top}/lost+found")
        world.store.make_folder(place)
        world.fails(place)
    assert known_mirrors(world.store) == ["m"]


def test_status_that_cannot_be_written_does_not_take_a_drains_answer_away(world: World) -> None:
    world.fails(layout.monitoring("m"))
    result = world.drain()
    assert result.outcomes[A] == Idle()
    assert result.unwritten is not None
    assert layout.monitoring("m") in result.unwritten
    assert result.has_failed


# --- Whatever else goes wrong ---------------------------------------------------------------------

UNEXPECTED = {
    "a disk that fails": lambda path: OSError(errno.EIO, "Input/output error", path),
    "a defect of ours": lambda path: ZeroDivisionError(f"at {path}"),
    "a service that is away": lambda path: Unavailable(f"{path}: the service answers 503"),
}


@pytest.mark.parametrize("fault", UNEXPECTED.values(), ids=UNEXPECTED)
def test_no_error_of_one_table_hides_another(
    world: World, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "FIRST_DELAY", timedelta(0))
    world.drain()
    for folder in (A, B):
        land(world.store, folder, 2)
    world.fails(layout.table_folder(A), fault)
    words = str(fault(layout.table_folder(A)))
    shown = world.shown()
    assert (code(shown["m/A"]), code(shown["m/B"])) == ("TableUnreadable", None)
    assert shown["m/A"].problem is not None
    assert words in shown["m/A"].problem.detail
    assert world.swept() == [B]
    assert set(clean(world.ports, ["m"]).unreadable) == {"m/A"}
    publish(world.ports, "m")
    states = {t["sourceTableName"]: t["status"] for t in world.monitored()["tables"]}
    assert states == {"A": "Failed", "B": "Replicating", "C": "Replicating"}
    result = world.drain()
    assert result.has_failed
    assert result.outcomes[B] == Idle()
    assert world.shown()["m/B"].applied == 2


def test_a_table_whose_document_is_refused_stops_no_drop_beside_it(world: World) -> None:
    world.drain()
    world.fails(layout.control_document(B))
    world.store.delete_folder(layout.table_folder(A))
    assert code(world.shown()["m/A"]) is None
    world.drain()
    world.drain()
    assert world.shown()["m/A"].word.value == "Dropped"


# --- Two identities, and events -------------------------------------------------------------------


def test_another_identity_that_is_refused_too_wakes_nobody_again(world: World) -> None:
    land(world.store, A, 2)
    path = join(layout.table_folder(A), SECOND)
    world.fails(path)
    world.drain()
    world.fails(path, lambda place: AccessDenied(f"{place}: denied to another", place))
    assert world.swept() == []
    world.mend()
    assert world.swept() == [A]


def test_a_refused_table_keeps_no_other_event_of_its_message_from_being_handled(
    world: World,
) -> None:
    world.fails(layout.table_folder(A))
    work = MemoryWorkQueue(world.ports.clock)
    events = [world.event(folder, f"{1:020d}.parquet") for folder in (A, B)]
    received = receive(world.ports, work, Starter(work, None, world.ports.clock), events)
    assert [answer for _, answer in received.answers] == [Woken((A,)), Woken((B,))]


def test_a_table_that_its_runner_is_refused_is_not_woken_by_each_event(world: World) -> None:
    land(world.store, A, 2)
    world.fails(join(layout.table_folder(A), SECOND))
    assert filter_event(world.ports, world.event(A, SECOND)) == Woken((A,))
    world.drain()
    land(world.store, A, 3)
    third = world.event(A, f"{3:020d}.parquet")
    assert isinstance(filter_event(world.ports, third), Ignored)
    world.mend()
    assert filter_event(world.ports, third) == Woken((A,))


def test_who_is_refused_everything_stops_the_program(world: World) -> None:
    world.fails(layout.table_folder(A), lambda path: AccessDenied("the key is wrong"))
    with pytest.raises(AccessDenied):
        world.shown()
    with pytest.raises(AccessDenied):
        world.swept()
    with pytest.raises(AccessDenied):
        reconcile_until_idle(world.ports, world.engine, A)
    with pytest.raises(AccessDenied):
        filter_event(world.ports, world.event(A, SECOND))
