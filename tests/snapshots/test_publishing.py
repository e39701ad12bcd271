"""Snapshots one after the other give the newest, whatever a publisher dies of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from openmirror.errors import FolderReplaced
from openmirror.publishing.snapshots import Differences, DuplicateKeys, SnapshotLost
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import join
from tests.harness.stores import Call, WatchedStore
from tests.snapshots.zone import FOLDER, bag, memory_store, mirrored, publish

FIRST = pa.table({"id": [1, 2, 3, 4, 5], "city": ["Oslo", "Bergen", None, "Molde", "Voss"]})
SECOND = pa.table(
    {"id": [2, 3, 4, 6, 7, 8], "city": ["Bergen", "Ålesund", None, "Bodø", "Narva", "Tromsø"]}
)
THIRD = pa.table({"id": [9, 2], "city": ["Hamar", "Bergen"]})


CHANGES = ("write", "move_file", "delete_file", "delete_folder")


class Died(BaseException):
    """The process ends."""


@pytest.fixture
def temps(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / str(number) for number in count())


def test_a_second_snapshot_sends_what_differs_and_no_more(temps: Iterator[Path]) -> None:
    store = memory_store()
    first = publish(store, FIRST, next(temps))
    second = publish(store, SECOND, next(temps))
    again = publish(store, SECOND, next(temps))
    assert first.differences == Differences(5, 0, 0)
    assert second.differences == Differences(added=3, changed=2, deleted=2)
    assert again.differences == Differences(0, 0, 0)
    assert again.landed is None
    assert bag(mirrored(store).rows) == bag(SECOND.to_pylist())


def test_a_plan_that_has_landed_is_removed_and_keys_are_kept(temps: Iterator[Path]) -> None:
    store = memory_store()
    publish(store, FIRST, next(temps))
    publish(store, SECOND, next(temps))
    (folder,) = [
        e.name for e in store.list_folder(join(FOLDER, "_snapshot")).entries if e.is_folder
    ]
    assert folder.startswith("2-")
    kept = [e.name for e in store.list_folder(join(FOLDER, "_snapshot", folder)).entries]
    assert kept == ["state-1.parquet", "state-2.parquet"]


def test_each_file_of_a_plan_says_which_of_how_many_it_is(temps: Iterator[Path]) -> None:
    from openmirror.publishing.read_footers import read_footer

    store = memory_store()
    publish(store, FIRST, next(temps))
    footers = [read_footer(store, join(FOLDER, f"{number:020d}.parquet")) for number in (1, 2)]
    batches = [f.published.sources["snapshot"].batch for f in footers if f and f.published]
    assert [(b.position, b.k, b.n, b.rows) for b in batches if b] == [(1, 1, None, 3), (1, 2, 2, 5)]


@pytest.mark.parametrize("effect", ["without", "with"])
def test_a_crash_at_any_change_is_followed_by_the_newest_snapshot(
    temps: Iterator[Path], effect: str
) -> None:
    """At every call that changes the store, before it has its effect or after."""
    for call in count():
        inner = memory_store()
        publish(inner, FIRST, next(temps))
        store = WatchedStore(inner)
        seen = iter(range(1000))

        def die(made: Call, at: int = call, seen: Iterator[int] = seen) -> None:
            if made.method in CHANGES and next(seen) == at:
                raise Died

        setattr(store, "before" if effect == "without" else "after", die)
        try:
            publish(store, SECOND, next(temps), file_rows=4)
        except Died:
            publish(inner, THIRD, next(temps))
            assert bag(mirrored(inner).rows) == bag(THIRD.to_pylist()), f"died at change {call}"
            left = [e.name for e in inner.list_folder(join(FOLDER, "_snapshot")).entries]
            assert len(left) == 2, left
        else:
            assert call > 8
            return


def test_what_landed_of_an_open_plan_is_deleted_again_when_it_is_not_in_the_next(
    temps: Iterator[Path],
) -> None:
    """The half of a plan that landed is not in the state yet: only finishing it makes it known."""
    store = memory_store()
    watched = WatchedStore(store)

    def die_at_the_second_file(call: Call) -> None:
        if call.method == "move_file" and call.to and call.to.endswith("02.parquet"):
            raise Died

    watched.before = die_at_the_second_file
    with pytest.raises(Died):
        publish(watched, FIRST, next(temps))
    assert len(mirrored(store).rows) == 3
    outcome = publish(store, THIRD, next(temps))
    assert outcome.finished is not None
    assert bag(mirrored(store).rows) == bag(THIRD.to_pylist())


def test_a_publisher_that_is_overtaken_compares_anew(temps: Iterator[Path]) -> None:
    store = memory_store()
    publish(store, FIRST, next(temps))
    watched = WatchedStore(store)

    def overtake(call: Call) -> None:
        if call.method == "write" and "plan-1" in call.path:
            watched.before = lambda call: None
            publish(store, SECOND, next(temps))

    watched.before = overtake
    publish(watched, THIRD, next(temps))
    assert bag(mirrored(store).rows) == bag(THIRD.to_pylist())


def test_a_publisher_that_stalls_while_landing_does_not_land_after_a_newer_one(
    temps: Iterator[Path],
) -> None:
    store = memory_store()
    watched = WatchedStore(store)

    def overtake(call: Call) -> None:
        if call.method == "move_file" and call.to and call.to.endswith("02.parquet"):
            watched.before = lambda call: None
            publish(store, SECOND, next(temps))
            publish(store, THIRD, next(temps))

    watched.before = overtake
    publish(watched, FIRST, next(temps))
    assert bag(mirrored(store).rows) == bag(THIRD.to_pylist())


def test_keys_that_are_there_twice_are_refused_with_examples(temps: Iterator[Path]) -> None:
    store = memory_store()
    publish(store, FIRST, next(temps))
    twice = pa.table({"id": [1, 1, None, None], "city": ["a", "b", "c", "d"]})
    with pytest.raises(DuplicateKeys, match=r"\(id\).* 1 \(2 rows\)") as refused:
        publish(store, twice, next(temps))
    assert "NULL (2 rows)" in str(refused.value)
    assert bag(mirrored(store).rows) == bag(FIRST.to_pylist())


def test_a_column_that_is_all_null_sends_nothing_and_one_that_goes_becomes_null(
    temps: Iterator[Path],
) -> None:
    store = memory_store()
    publish(store, FIRST, next(temps))
    nothing = FIRST.append_column("note", pa.array([None] * 5, pa.string()))
    assert publish(store, nothing, next(temps)).differences.total == 0
    outcome = publish(store, FIRST.select(["id"]), next(temps))
    assert outcome.differences == Differences(0, changed=4, deleted=0)
    assert bag(mirrored(store).rows) == bag(FIRST.select(["id"]).to_pylist())


@pytest.mark.parametrize("damage", ["gone", "no JSON", "older", "part", "part gone"])
def test_a_state_that_is_lost_is_reported_and_a_table_begun_anew_is_right(
    temps: Iterator[Path], damage: str
) -> None:
    store = memory_store()
    path = join(FOLDER, "_snapshot", "state.json")
    publish(store, FIRST, next(temps))
    older = store.read(path).data
    publish(store, SECOND, next(temps))
    folder = next(
        e.name for e in store.list_folder(join(FOLDER, "_snapshot")).entries if e.is_folder
    )
    part = join(FOLDER, "_snapshot", folder, "state-1.parquet")
    match damage:
        case "gone":
            store.delete_file(path)
        case "no JSON":
            store.put(path, b"{")
        case "older":
            store.put(path, older)
        case "part":
            store.put(part, store.read(part).data[:-1])
        case "part gone":
            store.delete_file(part)
    before = store.list_folder(FOLDER)
    with pytest.raises(SnapshotLost, match="--rebase"):
        publish(store, THIRD, next(temps))
    assert store.list_folder(FOLDER) == before
    publish(store, THIRD, next(temps), recreate=True)
    assert bag(mirrored(store).rows) == bag(THIRD.to_pylist())


def test_changes_that_others_published_are_noticed(temps: Iterator[Path]) -> None:
    from openmirror.publishing.publisher import Publisher
    from tests.snapshots.zone import ZONE

    store = memory_store()
    publish(store, FIRST, next(temps))
    with Publisher.of_store(store, ZONE) as zone:
        zone.table("t", key=["id"]).delete([{"id": 1}])
    with pytest.raises(SnapshotLost, match="something else publishes into it"):
        publish(store, FIRST, next(temps))


def test_a_table_that_was_published_otherwise_is_not_taken_over(temps: Iterator[Path]) -> None:
    from openmirror.publishing.publisher import Publisher
    from tests.snapshots.zone import ZONE

    store = memory_store()
    with Publisher.of_store(store, ZONE) as zone:
        zone.table("t", key=["id"]).insert([{"id": 1}])
    with pytest.raises(SnapshotLost, match="not published as snapshots"):
        publish(store, FIRST, next(temps))


def test_a_table_that_was_deleted_begins_anew(temps: Iterator[Path]) -> None:
    store = memory_store()
    publish(store, FIRST, next(temps))
    store.delete_folder(FOLDER)
    outcome = publish(store, SECOND, next(temps))
    assert outcome.before is None
    assert bag(mirrored(store).rows) == bag(SECOND.to_pylist())


def test_a_folder_that_is_deleted_meanwhile_is_not_brought_back(temps: Iterator[Path]) -> None:
    for call in count():
        inner = memory_store()
        publish(inner, FIRST, next(temps))
        store = WatchedStore(inner)
        seen = iter(range(1000))

        def delete(
            made: Call, at: int = call, seen: Iterator[int] = seen, inner: MemoryStore = inner
        ) -> None:
            if "/t/_snapshot" in made.path and next(seen) == at:
                inner.delete_folder(FOLDER)

        store.before = delete
        try:
            publish(store, SECOND, next(temps))
        except FolderReplaced:
            assert inner.incarnation(FOLDER) is None, f"at call {call}"
        else:
            assert call > 3
            return


def test_a_folder_that_is_made_anew_meanwhile_is_not_written_into(temps: Iterator[Path]) -> None:
    inner = memory_store()
    publish(inner, FIRST, next(temps))
    store = WatchedStore(inner)

    def recreate(call: Call) -> None:
        if call.method == "move_file":
            store.before = lambda call: None
            inner.delete_folder(FOLDER)
            publish(inner, THIRD, next(temps))

    store.before = recreate
    with pytest.raises(FolderReplaced):
        publish(store, SECOND, next(temps))
    assert bag(mirrored(inner).rows) == bag(THIRD.to_pylist())
