"""Each step of landing a file does what it is there for, and is missed when it is left out."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.errors import OpenmirrorError, OtherPublisher
from openmirror.protocol.names import ETag
from openmirror.publishing import composing, landing
from openmirror.publishing.footer import PublishedFooter
from openmirror.publishing.landing import LandedAs, Lander
from openmirror.publishing.traces import Behind, Fate, fate
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.publishing import witnesses
from tests.publishing.witnesses import WITNESSES, Scene, change_file_path, raising
from tests.publishing.zones import ORDERS, archive_applied, memory, numbers, publisher


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda found: str(found.__name__))
def test_every_directed_schedule_holds(witness: Callable[[], None]) -> None:
    witness()


def _verified_at_once(lander: Lander, underway: Any) -> LandedAs:
    lander._underway = None
    return LandedAs(underway.number, underway.footer.file)


def _without_sources(**fields: Any) -> PublishedFooter:
    sources = fields.pop("sources", {})
    own = {name: source for name, source in sources.items() if source.file == fields["file"]}
    return PublishedFooter(**fields, sources=own)


def _stage_anyhow(lander: Lander, staged: StorePath, data: bytes) -> ETag:
    lander._staged = staged
    return lander._store.write(staged, data)


MISTAKES: dict[str, tuple[object, str, object, Callable[[], None]]] = {
    "3: the newest is not listed again": (
        Lander,
        "_is_still",
        lambda lander, state: True,
        witnesses.a_number_that_is_seen_to_be_lost_is_not_renamed_to,
    ),
    "4: what was staged is not deleted first": (
        Lander,
        "_discard_staged",
        lambda lander: None,
        witnesses.a_rename_that_comes_late_lands_nothing_twice,
    ),
    "4: what became of a rename is not looked up": (
        Lander,
        "_outcome",
        lambda lander, underway: setattr(lander, "_underway", None),
        witnesses.a_lost_answer_lands_nothing_twice,
    ),
    "4: the archive is not read": (
        Lander,
        "_archived",
        lambda lander, number: join(ORDERS, "_nowhere", "x"),
        witnesses.a_lost_answer_of_a_file_that_was_applied_meanwhile_lands_nothing_twice,
    ),
    "5: a number that was free is taken for new": (
        Lander,
        "_verified",
        _verified_at_once,
        witnesses.an_archived_number_is_not_taken_again,
    ),
    "5: a file with successors is taken for old": (
        landing,
        "fate",
        lambda traces: fate(replace(traces, behind=Behind.NAMES_ANOTHER, is_carried=False)),
        witnesses.a_file_that_has_successors_before_it_is_verified_stays,
    ),
    "5: what is gone is taken for applied": (
        landing,
        "fate",
        lambda traces: fate(traces) if traces.is_held else Fate.LANDED,
        witnesses.a_file_that_whoever_opens_the_table_took_away_lands_again,
    ),
    "4: foreign successors are taken for its own": (
        landing,
        "fate",
        lambda traces: Fate.LANDED if traces.behind is Behind.FOREIGN else fate(traces),
        witnesses.a_number_and_the_next_that_foreign_files_took_are_not_ours,
    ),
    "footer: only the own source is carried forward": (
        composing,
        "PublishedFooter",
        _without_sources,
        witnesses.every_source_is_carried_forward,
    ),
    "footer: what others landed of a source is not left out": (
        composing,
        "still_to_land",
        lambda source, rows, progress, seen: list(rows),
        witnesses.a_batch_that_another_process_has_landed_is_not_landed_again,
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_step_that_is_left_out_is_noticed(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, instead, witness = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, instead)
    with pytest.raises((AssertionError, OpenmirrorError)):
        witness()


def test_a_folder_that_may_be_another_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # It is asked for before and after staging, and either is enough for most schedules.
    monkeypatch.setattr(landing, "need_same_folder", lambda *of: None)
    monkeypatch.setattr(Lander, "_stage", _stage_anyhow)
    with pytest.raises((AssertionError, OpenmirrorError)):
        witnesses.nothing_gets_into_a_folder_that_was_made_anew()


def test_a_file_that_a_dead_publisher_left_under_a_used_number_is_taken_away() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3)
        archive_applied(scene.store)

    scene.before("move_file", meanwhile)
    scene.after("move_file", raising(Killed()))  # type: ignore[arg-type]
    with suppress(Killed):
        scene.ours()
    assert numbers(scene.store) == [2, 3]
    publisher(scene.store).table("dbo.orders").close()
    assert numbers(scene.store) == [3]


def test_what_a_dead_publisher_had_staged_is_deleted_a_day_later() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = MemoryStore(lambda: now)
    publisher(store).table("dbo.orders", key=["id"]).close()
    store.write(join(ORDERS, "_publishing-0.parquet"), b"")
    now += timedelta(hours=23)
    publisher(store).table("dbo.orders").close()
    assert "_publishing-0.parquet" in [e.name for e in store.list_folder(ORDERS).entries]
    now += timedelta(hours=2)
    publisher(store).table("dbo.orders").close()
    assert [e.name for e in store.list_folder(ORDERS).entries] == ["_metadata.json"]


def test_state_is_carried_over_files_of_other_publishers() -> None:
    scene = Scene()
    scene.orders.insert([{"id": 100}], position="a")
    scene.orders.close()
    foreign = scene.store.read(change_file_path(1)).data.replace(
        b"openmirror.pub", b"somebody.elses"
    )
    scene.store.write(change_file_path(3), foreign)
    with publisher(scene.store).table("dbo.orders", source="ours") as orders:
        assert orders.position == "a"
        orders.insert([{"id": 101}])
    assert scene.keys() == [1, 100, 1, 101]


def test_a_landed_file_that_was_taken_away_is_noticed_before_the_next_lands() -> None:
    scene = Scene()
    scene.orders.insert([{"id": 100}], position=5)
    scene.orders.flush()
    scene.store.delete_file(change_file_path(2))
    scene.orders.insert([{"id": 101}], position=6)
    with pytest.raises(OtherPublisher, match="taken away"):
        scene.orders.flush()
    scene.orders.abandon()
    assert scene.keys() == [1]


def test_behind_many_files_of_another_program_footers_are_read_once_each_and_several_at_once() -> (
    None
):
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"], source="erp") as orders:
        orders.insert([{"id": 1}], position=7)
    for number in range(2, 61):
        file = io.BytesIO()
        pq.write_table(pa.table({"id": [number], f"c{number % 3}": ["x"]}), file)
        store.write(change_file_path(number), file.getvalue())
    together, threads = threading.Barrier(4), set[int]()

    def meet(call: Call) -> None:
        if call.method == "read" and threading.current_thread() is not threading.main_thread():
            threads.add(threading.get_ident())
            with suppress(threading.BrokenBarrierError):
                together.wait(0.2)

    watched = WatchedStore(store, before=meet)
    with publisher(watched).table("dbo.orders", source="erp") as orders:
        assert orders.position == 7
        assert orders.columns.names == ("id", "c2", "c0", "c1")
        orders.insert([{"id": 61}], position=8)
    read = [path for path in watched.asked("read") if path.endswith(".parquet")]
    assert {path: read.count(path) for path in read if read.count(path) > 1} == {}
    assert len(threads) > 3
    state = Lander(store, ORDERS, store.incarnation(ORDERS)).state()
    assert state.carried is not None
    assert state.carried.rows == 61
