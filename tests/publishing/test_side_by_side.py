"""Several publishers on one table, stalled anywhere, with a mirror that archives beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from openmirror.errors import FolderReplaced
from openmirror.ports import FileStore
from openmirror.protocol.sequence import file_stem
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import join
from tests.publishing.turns import Turns
from tests.publishing.zones import ORDERS, change_file, landed, memory, numbers, publisher

SEEDS = range(60)
SEND = 4


class Mirror:
    """Applies each number once, archives all of them but the newest, and may purge at once."""

    def __init__(self, store: MemoryStore, *, purges: bool) -> None:
        self._store = store
        self._purges = purges
        self.applied: list[object] = []
        self._position = 0

    def turn(self) -> None:
        there = numbers(self._store)
        while (number := self._position + 1) in there:
            name = f"{file_stem(number)}.parquet"
            file = change_file(self._store.read(join(ORDERS, name)).data)
            self.applied += [change.row["id"] for change in file.changes]
            self._position = number
        for number in there[:-1]:
            name = f"{file_stem(number)}.parquet"
            path, to = join(ORDERS, name), join(ORDERS, "_ProcessedFiles", name)
            # A number that was applied before is never moved (PROTOCOL §8.2).
            if number <= self._position and number not in numbers(
                self._store, join(ORDERS, "_ProcessedFiles")
            ):
                self._store.move_file(path, to, self._store.read(path, 0, 0).etag)
                if self._purges:
                    self._store.delete_file(to)


def sends(
    store: FileStore, source: str, keys: list[int], *, each: bool = True
) -> Callable[[], None]:
    def act() -> None:
        with publisher(store).table("dbo.orders", key=["id"], source=source) as orders:
            for position, key in enumerate(keys):
                orders.insert([{"id": key}], position=position)
                if each:
                    orders.flush()

    return act


def run(seed: int, sources: list[str], keys: list[list[int]]) -> tuple[MemoryStore, Mirror]:
    store = memory()
    turns, mirror = Turns(store, seed), Mirror(store, purges=seed % 3 == 0)
    with publisher(store).table("dbo.orders", key=["id"], source="first") as orders:
        orders.insert([{"id": 0}], position=0)

    def mirrors() -> None:
        watched = turns.store()
        for _ in range(30):
            watched.incarnation(ORDERS)  # a place to stop at
            mirror.turn()

    turns.add(mirrors)
    for source, own in zip(sources, keys, strict=True):
        turns.add(sends(turns.store(), source, own))
    turns.run()
    mirror.turn()
    return store, mirror


@pytest.mark.parametrize("actors", [2, 3])
def test_publishers_of_several_sources_lose_and_repeat_nothing(actors: int) -> None:
    keys = [[10 * actor + n for n in range(1, SEND + 1)] for actor in range(1, actors + 1)]
    for seed in SEEDS:
        store, mirror = run(seed, [f"source {a}" for a in range(actors)], keys)
        expected = Counter([0, *(key for own in keys for key in own)])
        assert Counter(mirror.applied) == expected, seed
        for own in keys:
            assert [key for key in mirror.applied if key in own] == own, seed
        assert max(numbers(store)) == 1 + SEND * actors, seed


def test_publishers_of_one_source_land_each_of_its_batches_once() -> None:
    own = list(range(1, SEND + 1))
    for seed in SEEDS:
        _, mirror = run(seed, ["erp", "erp"], [own, own])
        assert mirror.applied == [0, *own], seed


def test_a_folder_that_is_made_anew_gets_nothing_of_before() -> None:
    for seed in SEEDS:
        store = memory()
        turns = Turns(store, seed)
        refused: list[FolderReplaced] = []

        def old(turns: Turns = turns, refused: list[FolderReplaced] = refused) -> None:
            try:
                sends(turns.store(), "old", [1, 2, 3])()
            except FolderReplaced as error:
                refused.append(error)

        def anew(turns: Turns = turns) -> None:
            zone = publisher(turns.store())
            with zone.table("dbo.orders", key=["id"], source="new", recreate=True) as orders:
                orders.insert([{"id": 100}])

        turns.add(old)
        turns.add(anew)
        turns.run()
        found = [change.row["id"] for file in landed(store) for change in file.changes]
        of_old = [key for key in found if key != 100]
        # It came before, and went with its folder; or after, and is there as a whole.
        assert of_old in ([], [1, 2, 3]), (seed, found)
        assert not (refused and of_old), (seed, found)
        assert 100 in found, seed
