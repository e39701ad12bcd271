"""Directed schedules of landing a file: each shows a step of the rule at work (PROTOCOL §13.1)."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.errors import AccessDenied, FolderReplaced, NotThere, Unavailable
from openmirror.ports import ABSENT
from openmirror.protocol.names import Incarnation
from openmirror.publishing import TableWriter
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ORDERS, archive_applied, landed, memory, numbers, publisher


def change_file_path(number: int) -> StorePath:
    return join(ORDERS, f"{number:020d}.parquet")


class Once:
    """Acts at the first call that fits, and never again."""

    def __init__(self, method: str, act: Callable[[Call], object], at: int = 1) -> None:
        self._method = method
        self._act = act
        self._left = at
        self.has_acted = False

    def __call__(self, call: Call) -> None:
        if call.method == self._method and not self.has_acted:
            self._left -= 1
            if self._left == 0:
                self.has_acted = True
                self._act(call)


class Scene:
    """A table with one file of somebody else, and a publisher of ours who is about to land."""

    def __init__(self) -> None:
        self.store = memory()
        self.land("theirs", 1)
        self.watched = WatchedStore(self.store)
        self.orders: TableWriter = publisher(self.watched).table(
            "dbo.orders", key=["id"], source="ours"
        )

    def land(self, source: str, *keys: int) -> None:
        """Somebody else lands a file for each key."""
        with publisher(self.store).table("dbo.orders", key=["id"], source=source) as orders:
            for key in keys:
                orders.insert([{"id": key}], position=key)
                orders.flush()

    def ours(self, key: int = 100) -> None:
        """We land a file."""
        self.orders.insert([{"id": key}])
        self.orders.flush()

    def before(self, method: str, act: Callable[[Call], object], at: int = 1) -> Once:
        self.watched.before = once = Once(method, act, at)
        return once

    def after(self, method: str, act: Callable[[Call], object], at: int = 1) -> Once:
        self.watched.after = once = Once(method, act, at)
        return once

    def keys(self) -> list[object]:
        """What a mirror reads of the folder, in order."""
        return [change.row["id"] for file in landed(self.store) for change in file.changes]

    def staged(self) -> list[str]:
        entries = self.store.list_folder(ORDERS).entries
        return [entry.name for entry in entries if entry.name.startswith("_publishing")]


def raising(error: Exception) -> Callable[[Call], object]:
    def act(call: Call) -> object:
        raise error

    return act


def an_archived_number_is_not_taken_again() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3)
        archive_applied(scene.store)

    once = scene.before("move_file", meanwhile)
    scene.ours()
    assert once.has_acted
    assert scene.keys() == [1, 2, 3, 100]
    assert numbers(scene.store) == [3, 4]


def a_number_that_was_purged_is_not_taken_again() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3, 4)
        archive_applied(scene.store)
        scene.store.delete_folder(join(ORDERS, "_ProcessedFiles"))

    once = scene.before("move_file", meanwhile)
    scene.ours()
    assert once.has_acted
    assert numbers(scene.store) == [4, 5]


def a_file_that_has_successors_before_it_is_verified_stays() -> None:
    scene = Scene()
    once = scene.after("move_file", lambda call: scene.land("theirs", 2, 3))
    scene.ours()
    assert once.has_acted
    assert scene.keys() == [1, 100, 2, 3]


def a_file_whose_successors_are_archived_with_it_stays() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3)
        archive_applied(scene.store)

    once = scene.after("move_file", meanwhile)
    scene.ours()
    assert once.has_acted
    assert scene.keys() == [1, 100, 2, 3]


def a_number_that_is_seen_to_be_lost_is_not_renamed_to() -> None:
    scene = Scene()
    once = scene.after("write", lambda call: scene.land("theirs", 2))
    scene.ours()
    assert once.has_acted
    moves = [call.to for call in scene.watched.calls if call.method == "move_file"]
    assert moves == [change_file_path(3)]
    assert scene.staged() == []


def a_lost_answer_lands_nothing_twice() -> None:
    scene = Scene()
    once = scene.after("move_file", raising(Unavailable("the answer was lost")))
    with suppress(Unavailable):
        scene.ours()
    assert once.has_acted
    scene.orders.flush()
    assert scene.keys() == [1, 100]


def a_lost_answer_of_a_file_that_was_applied_meanwhile_lands_nothing_twice() -> None:
    scene = Scene()
    once = scene.after("move_file", raising(Unavailable("the answer was lost")))
    with suppress(Unavailable):
        scene.ours()
    assert once.has_acted
    scene.land("theirs", 2)
    scene.land("ours", 3)  # so that no footer in the folder names the file any more
    archive_applied(scene.store)
    scene.orders.flush()
    assert scene.keys() == [1, 100, 2, 3]


def a_rename_that_a_library_sent_twice_lands_nothing_twice() -> None:
    for error in (NotThere("no source"), Unavailable("503")):
        scene = Scene()
        once = scene.after("move_file", raising(error))
        with suppress(Unavailable):
            scene.ours()
        assert once.has_acted
        scene.orders.flush()
        assert scene.keys() == [1, 100]


def a_rename_that_comes_late_lands_nothing_twice() -> None:
    scene = Scene()
    late: list[Callable[[], None]] = []

    def lost(call: Call) -> None:
        assert call.to is not None
        source, to = call.path, call.to
        etag = scene.store.read(source, 0, 0).etag
        late.append(lambda: scene.store.move_file(source, to, etag))
        raise Unavailable("no answer in time")

    scene.before("move_file", lost)
    with suppress(Unavailable):
        scene.ours()
    # It is on its way still, and gets there just after we asked what had become of it.
    scene.before("write", lambda call: arrive())

    def arrive() -> None:
        with suppress(NotThere):
            late[0]()

    scene.orders.flush()
    arrive()
    assert scene.keys() == [1, 100]


def nothing_gets_into_a_folder_that_was_made_anew() -> None:
    for method, at in (("move_file", 1), ("write", 1), ("list_folder", 1), ("list_folder", 2)):
        scene = Scene()

        def anew(call: Call, store: MemoryStore = scene.store) -> None:
            with publisher(store).table("dbo.orders", key=["id"], recreate=True) as orders:
                orders.insert([{"id": 7}])

        once = scene.before(method, anew, at)
        refused = False
        try:
            scene.ours()
        except FolderReplaced:
            refused = True
        assert once.has_acted
        assert refused, (method, at)
        assert scene.keys() == [7]
        assert scene.staged() == []


def a_folder_without_an_identity_is_known_by_its_numbers() -> None:
    class Nameless(WatchedStore):
        def incarnation(self, folder: StorePath) -> Incarnation | None:
            super().incarnation(folder)
            return None

    store = memory()
    orders = publisher(Nameless(store)).table("dbo.orders", key=["id"])
    orders.insert([{"id": 1}])
    orders.flush()
    store.delete_folder(ORDERS)
    publisher(store).table("dbo.orders", key=["id"]).close()
    orders.insert([{"id": 2}])
    refused = False
    try:
        orders.flush()
    except FolderReplaced:
        refused = True
    assert refused
    assert numbers(store) == []


def a_dropped_table_keeps_nothing_of_what_was_staged() -> None:
    scene = Scene()
    once = scene.before("write", lambda call: scene.store.delete_folder(ORDERS))
    with suppress(FolderReplaced):
        scene.ours()
    assert once.has_acted
    assert scene.staged() == []


def what_another_lands_in_a_folder_that_staging_made_stays() -> None:
    scene = Scene()
    scene.before("write", lambda call: scene.store.delete_folder(ORDERS))
    dropped = scene.watched.before
    at_once = []

    def act(call: Call) -> None:
        dropped(call)
        if call.method == "delete_folder":
            at_once.append(call)
            scene.land("another", 5)

    scene.watched.before = act
    with suppress(FolderReplaced):
        scene.ours()
    if not at_once:  # whoever deletes no folder gives nobody the moment before it
        scene.land("another", 5)
    assert scene.keys() == [5]


def foreign_file(scene: Scene, number: int) -> None:
    """A file as a program writes it that has no footer of ours."""
    found = io.BytesIO()
    pq.write_table(pa.table({"id": [number * 1000]}), found)
    scene.store.write(change_file_path(number), found.getvalue(), only_if=ABSENT)


def a_number_and_the_next_that_foreign_files_took_are_not_ours() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        foreign_file(scene, 2)
        foreign_file(scene, 3)

    once = scene.before("move_file", meanwhile)
    scene.ours()
    assert once.has_acted
    assert scene.keys() == [1, 2000, 3000, 100]


def a_number_that_another_took_before_a_foreign_file_is_not_ours() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2)
        foreign_file(scene, 3)

    once = scene.before("move_file", meanwhile)
    scene.ours()
    assert once.has_acted
    assert scene.keys() == [1, 2, 3000, 100]


def a_file_that_whoever_opens_the_table_took_away_lands_again() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3)
        archive_applied(scene.store)

    scene.before("move_file", meanwhile)
    opened = scene.after(
        "move_file", lambda call: publisher(scene.store).table("dbo.orders").abandon()
    )
    scene.ours()
    assert opened.has_acted
    assert scene.keys() == [1, 2, 3, 100]


def a_file_under_a_used_number_is_no_state_behind_a_foreign_file() -> None:
    scene = Scene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2)
        foreign_file(scene, 3)
        archive_applied(scene.store)

    scene.before("move_file", meanwhile)
    scene.ours()
    assert scene.keys() == [1, 2, 3000, 100]


def a_refusal_leaves_the_rows_waiting() -> None:
    for method in ("write", "move_file", "list_folder"):
        for error in (AccessDenied("expired"), OSError(28, "No space left on device")):
            scene = Scene()
            once = scene.before(method, raising(error))
            with suppress(AccessDenied, OSError):
                scene.ours()
            assert once.has_acted
            assert scene.keys() == [1]
            scene.orders.flush()
            assert scene.keys() == [1, 100]
            assert scene.staged() == []


def every_source_is_carried_forward() -> None:
    scene = Scene()
    scene.orders.insert([{"id": 100}], position="a")
    scene.orders.close()
    scene.land("theirs", 2, 3)
    with publisher(scene.store).table("dbo.orders", source="ours") as orders:
        assert orders.position == "a"


def a_batch_that_another_process_has_landed_is_not_landed_again() -> None:
    scene = Scene()
    scene.land("ours", 2)
    scene.orders.insert([{"id": 2}], position=2)
    scene.orders.insert([{"id": 3}], position=3)
    scene.orders.flush()
    assert scene.keys() == [1, 2, 3]


WITNESSES = [
    found
    for name, found in sorted(vars().items())
    if callable(found)
    and getattr(found, "__module__", "") == __name__
    and not isinstance(found, type)
    and name not in ("change_file_path", "foreign_file", "raising")
]
