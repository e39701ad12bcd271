"""What every FileStore keeps, and what the local one adds for what other processes can do to it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Barrier, Event

import pytest

from openmirror.adapters.local.store import LocalStore
from openmirror.adapters.memory import MemoryStore
from openmirror.errors import (
    AlreadyThere,
    ConditionFailed,
    NotThere,
    OpenmirrorError,
    WrongRequest,
)
from openmirror.layout import StorePath, join
from openmirror.ports import ABSENT, FileStore, Step
from openmirror.protocol.names import ETag

TABLE = StorePath("landing/m/Files/LandingZone/Orders")
ARCHIVE = join(TABLE, "_ProcessedFiles")
FIRST = "00000000000000000001.parquet"
FILE = join(TABLE, FIRST)
ARCHIVED = join(ARCHIVE, FIRST)
DOCUMENT = StorePath("lake/m/_openmirror/folders/Orders.json")

NAMES = [
    "with space",
    "per%20cent%",
    "hash#1",
    "*?[a-z]{x}",
    "new\nline",
    "tab\tand\\backslash",
    "日本語🚚",
    "e\u0301 decomposed",
    "'quotes\"`",
    "..two dots",
    "-rf",
    "trailing.",
    "$HOME;true",
]


@dataclass
class Rig:
    """A store, and what a publisher can do to it from outside."""

    store: FileStore
    make_folder: Callable[[StorePath], None]


@pytest.fixture(params=["local", "memory"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    if request.param == "local":
        return Rig(LocalStore(tmp_path), lambda path: (tmp_path / path).mkdir(parents=True))
    memory = MemoryStore(lambda: datetime.now(UTC))
    return Rig(memory, memory.make_folder)


@pytest.fixture
def store(rig: Rig) -> FileStore:
    return rig.store


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def exists(store: FileStore, path: StorePath) -> bool:
    try:
        store.read(path)
    except NotThere:
        return False
    return True


def names(store: FileStore, folder: StorePath) -> list[str]:
    return [entry.name for entry in store.list_folder(folder).entries]


def on_disk(folder: Path) -> list[str]:
    """What is really in a local folder, whatever listings hide."""
    return sorted(child.name for child in folder.iterdir())


def count_up(store: FileStore, path: StorePath, times: int) -> None:
    """Read, add one, write: loses counts as soon as one condition is not exact."""
    for _ in range(times):
        while True:
            now = store.read(path)
            try:
                # Always as many bytes: only the rest of an ETag can tell two counts apart.
                store.write(path, b"%06d" % (int(now.data) + 1), only_if=now.etag)
            except ConditionFailed:
                continue
            break


def together(calls: Sequence[Callable[[], object]]) -> list[object]:
    """Make all calls in threads that start at one moment; the results, errors among them."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return call()
        except OpenmirrorError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


# list_folder


def test_a_listing_has_every_child_by_name_with_size_kind_and_etag(store: FileStore) -> None:
    etags = {name: store.write(join(TABLE, name), name.encode()) for name in ("b", "a", "C", "_x")}
    store.write(ARCHIVED, b"")
    entries = store.list_folder(TABLE).entries
    assert [entry.name for entry in entries] == ["C", "_ProcessedFiles", "_x", "a", "b"]
    assert [entry.name for entry in entries if entry.is_folder] == ["_ProcessedFiles"]
    assert {e.name: e.etag for e in entries if not e.is_folder} == etags
    assert [entry.size for entry in entries] == [1, 0, 2, 1, 1]


def test_a_listing_shows_the_etag_that_a_read_gives(store: FileStore) -> None:
    store.write(FILE, b"content")
    (entry,) = store.list_folder(TABLE).entries
    assert entry.etag == store.read(FILE).etag


def test_a_listing_tells_times_in_utc_by_the_clock_that_files_have(store: FileStore) -> None:
    store.write(FILE, b"content")
    listing = store.list_folder(TABLE)
    (entry,) = listing.entries
    assert listing.at.utcoffset() == entry.modified.utcoffset() == timedelta(0)
    assert abs(listing.at - entry.modified) < timedelta(minutes=1)


def test_a_listing_of_a_missing_folder_is_an_error(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.list_folder(TABLE)


def test_a_listing_of_a_file_is_an_error(store: FileStore) -> None:
    store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.list_folder(FILE)
    with pytest.raises(NotThere):
        store.list_folder(join(FILE, "below"))


def test_a_listing_of_an_empty_folder_is_empty(rig: Rig) -> None:
    rig.make_folder(TABLE)
    assert rig.store.list_folder(TABLE).entries == ()


def test_a_folder_stays_when_its_last_file_goes(store: FileStore) -> None:
    store.write(FILE, b"content")
    store.delete_file(FILE)
    assert store.list_folder(TABLE).entries == ()


def test_the_etag_of_a_folder_does_not_change_with_its_children(store: FileStore) -> None:
    store.write(FILE, b"content")
    parent = StorePath(TABLE.rpartition("/")[0])
    before = store.list_folder(parent).entries[0].etag
    for number in range(50):
        store.write(join(TABLE, f"{number}"), b"content")
    assert store.list_folder(parent).entries[0].etag == before


def test_a_listing_while_files_come_and_go_has_every_file_that_stays(store: FileStore) -> None:
    stay = [f"stay-{number:03}" for number in range(100)]
    for name in stay:
        store.write(join(TABLE, name), b"")
    stop = Event()

    def churn(number: int) -> None:
        while not stop.is_set():
            path = join(TABLE, f"churn-{number}")
            store.write(path, b"x")
            store.move_file(path, join(TABLE, f"zmoved-{number}"), store.read(path).etag)
            store.delete_file(join(TABLE, f"zmoved-{number}"))

    with ThreadPoolExecutor(2) as pool:
        churners = [pool.submit(churn, number) for number in range(2)]
        try:
            for _ in range(100):
                assert [n for n in names(store, TABLE) if n.startswith("stay")] == stay
        finally:
            stop.set()
        for churner in churners:
            churner.result()


# incarnation


def test_an_incarnation_stays_while_the_folder_lives(store: FileStore) -> None:
    store.write(FILE, b"content")
    first = store.incarnation(TABLE)
    assert first
    store.write(FILE, b"other")
    store.delete_file(FILE)
    assert store.incarnation(TABLE) == first


def test_asking_for_an_incarnation_does_not_show_in_the_listing(store: FileStore) -> None:
    store.write(FILE, b"content")
    store.incarnation(TABLE)
    assert names(store, TABLE) == [FIRST]


def test_a_missing_folder_has_no_incarnation_and_is_not_made(store: FileStore) -> None:
    store.write(DOCUMENT, b"{}")
    assert store.incarnation(TABLE) is None
    with pytest.raises(NotThere):
        store.list_folder(TABLE)


def test_a_file_has_no_incarnation(store: FileStore) -> None:
    store.write(FILE, b"content")
    assert store.incarnation(FILE) is None
    assert store.incarnation(join(FILE, "below")) is None


def test_a_folder_created_again_is_another_incarnation(rig: Rig) -> None:
    seen = set()
    for _ in range(20):
        rig.make_folder(TABLE)
        seen.add(rig.store.incarnation(TABLE))
        rig.store.delete_folder(TABLE)
        assert rig.store.incarnation(TABLE) is None
    assert len(seen) == 20


def test_eight_who_ask_at_once_get_one_incarnation(rig: Rig) -> None:
    for number in range(20):
        folder = join(TABLE, str(number))
        rig.make_folder(folder)
        answers = together([partial(rig.store.incarnation, folder)] * 8)
        assert len(set(answers)) == 1
        assert answers[0] == rig.store.incarnation(folder)


def test_folders_have_different_incarnations(rig: Rig) -> None:
    folders = [join(TABLE, str(number)) for number in range(5)]
    for folder in folders:
        rig.make_folder(folder)
    assert len({rig.store.incarnation(folder) for folder in folders}) == 5


def test_a_moved_folder_keeps_its_incarnation(store: FileStore) -> None:
    store.write(FILE, b"content")
    before = store.incarnation(TABLE)
    store.move_folder(TABLE, StorePath("landing/elsewhere/Orders"))
    assert store.incarnation(StorePath("landing/elsewhere/Orders")) == before
    assert store.incarnation(TABLE) is None


def test_asking_never_brings_a_deleted_folder_back_or_mixes_up_its_lives(rig: Rig) -> None:
    stop = Event()
    answers: set[str | None] = set()

    def ask() -> None:
        while not stop.is_set():
            # Whoever is told to look again has not been told anything wrong.
            with suppress(ConditionFailed):
                answers.add(rig.store.incarnation(TABLE))

    lives = []
    with ThreadPoolExecutor(3) as pool:
        askers = [pool.submit(ask) for _ in range(3)]
        try:
            for _ in range(50):
                rig.make_folder(TABLE)
                lives.append(rig.store.incarnation(TABLE))
                assert rig.store.incarnation(TABLE) == lives[-1]
                rig.store.delete_folder(TABLE)
                assert rig.store.incarnation(TABLE) is None
        finally:
            stop.set()
        for asker in askers:
            asker.result()
    assert len(set(lives)) == 50
    assert answers <= {*lives, None}


# read


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (0, 4, b"0123"),
        (3, 4, b"3456"),
        (8, 4, b"89"),
        (10, 4, b""),
        (11, None, b""),
        (1000, 5, b""),
        (4, 0, b""),
    ],
)
def test_a_range_is_cut_short_at_the_end_and_tells_the_whole_size(
    store: FileStore, offset: int, length: int | None, expected: bytes
) -> None:
    etag = store.write(FILE, b"0123456789")
    content = store.read(FILE, offset, length)
    assert (content.data, content.etag, content.size) == (expected, etag, 10)


def test_an_empty_file_reads_as_empty(store: FileStore) -> None:
    etag = store.write(FILE, b"")
    content = store.read(FILE)
    assert (content.data, content.etag, content.size) == (b"", etag, 0)


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (0, -1)])
def test_a_range_cannot_be_negative(store: FileStore, offset: int, length: int | None) -> None:
    store.write(FILE, b"0123456789")
    with pytest.raises(ValueError, match="range"):
        store.read(FILE, offset, length)


def test_reading_what_is_no_file_says_not_there(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.read(FILE)
    store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.read(TABLE)
    with pytest.raises(NotThere):
        store.read(join(TABLE, "other"))
    with pytest.raises(NotThere):
        store.read(join(FILE, "below"))


def test_a_read_is_of_one_content_while_a_writer_replaces_the_file(store: FileStore) -> None:
    size = 300_000
    letters: dict[ETag, bytes] = {store.write(FILE, b"z" * size): b"z"}
    seen: list[tuple[ETag, bytes, int]] = []
    stop = Event()

    def replace() -> None:
        for number in range(150):
            letter = b"%c" % (97 + number % 26)
            # Other sizes too, so that a mixture would also show in the size.
            letters[store.write(FILE, letter * (size + number % 3))] = letter
        stop.set()

    def read() -> None:
        while not stop.is_set():
            content = store.read(FILE)
            part = store.read(FILE, 100_000, 100_000)
            for data, etag in ((content.data, content.etag), (part.data, part.etag)):
                assert data == data[:1] * len(data)
                seen.append((etag, data[:1], len(data)))
            assert content.size == len(content.data)

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        pool.submit(replace).result()
        for reader in readers:
            reader.result()
    assert {letters[etag] == letter for etag, letter, _ in seen} == {True}


# write


def test_a_write_makes_folders_and_gives_the_etag_of_its_content(store: FileStore) -> None:
    etag = store.write(DOCUMENT, b"{}")
    assert store.read(DOCUMENT).etag == etag
    assert store.read(DOCUMENT).data == b"{}"


def test_each_write_has_another_etag_even_of_the_same_bytes(store: FileStore) -> None:
    etags = [store.write(FILE, b"same") for _ in range(100)]
    assert len(set(etags)) == 100


def test_a_write_replaces_longer_content_whole(store: FileStore) -> None:
    store.write(FILE, b"long content")
    store.write(FILE, b"short")
    assert store.read(FILE).data == b"short"


def test_a_write_under_the_right_etag_is_done(store: FileStore) -> None:
    first = store.write(DOCUMENT, b"1", only_if=ABSENT)
    second = store.write(DOCUMENT, b"2", only_if=first)
    assert first != second
    assert store.read(DOCUMENT).data == b"2"


def test_a_write_under_an_old_etag_fails_and_changes_nothing(store: FileStore) -> None:
    old = store.write(DOCUMENT, b"1")
    new = store.write(DOCUMENT, b"2")
    with pytest.raises(ConditionFailed):
        store.write(DOCUMENT, b"3", only_if=old)
    assert (store.read(DOCUMENT).data, store.read(DOCUMENT).etag) == (b"2", new)
    assert len(store.list_folder(StorePath(DOCUMENT.rpartition("/")[0])).entries) == 1


def test_a_write_that_must_be_the_first_fails_when_there_is_a_file(store: FileStore) -> None:
    store.write(DOCUMENT, b"1")
    with pytest.raises(ConditionFailed):
        store.write(DOCUMENT, b"2", only_if=ABSENT)
    assert store.read(DOCUMENT).data == b"1"


def test_a_write_under_the_etag_of_a_deleted_file_fails(store: FileStore) -> None:
    etag = store.write(DOCUMENT, b"1")
    store.delete_file(DOCUMENT)
    with pytest.raises(ConditionFailed):
        store.write(DOCUMENT, b"2", only_if=etag)
    assert not exists(store, DOCUMENT)


def test_a_write_under_an_etag_fails_where_there_was_never_a_file(store: FileStore) -> None:
    with pytest.raises(ConditionFailed):
        store.write(DOCUMENT, b"2", only_if=ETag("1-2-3"))
    assert not exists(store, DOCUMENT)


@pytest.mark.parametrize("only_if", [None, ABSENT])
def test_a_write_never_takes_the_place_of_a_folder(store: FileStore, only_if: None) -> None:
    store.write(FILE, b"content")
    with pytest.raises(AlreadyThere):
        store.write(TABLE, b"file", only_if=only_if)
    assert store.read(FILE).data == b"content"


def test_a_write_never_takes_a_file_for_a_folder(store: FileStore) -> None:
    store.write(FILE, b"content")
    with pytest.raises(AlreadyThere):
        store.write(join(FILE, "below"), b"file")
    with pytest.raises(AlreadyThere):
        store.write(join(FILE, "far", "below"), b"file")
    assert store.read(FILE).data == b"content"


def test_of_eight_first_writes_one_wins(store: FileStore) -> None:
    for number in range(10):
        path = join(TABLE, str(number))
        results = together(
            [partial(store.write, path, b"%d" % me, only_if=ABSENT) for me in range(8)]
        )
        (winner,) = [me for me, result in enumerate(results) if isinstance(result, str)]
        assert sum(isinstance(result, ConditionFailed) for result in results) == 7
        assert store.read(path).data == b"%d" % winner
        assert store.read(path).etag == results[winner]


def test_threads_that_write_conditionally_lose_nothing(store: FileStore) -> None:
    store.write(DOCUMENT, b"%06d" % 0)
    assert together([partial(count_up, store, DOCUMENT, 25)] * 4) == [None] * 4
    assert store.read(DOCUMENT).data == b"%06d" % 100


# move_file


def test_a_moved_file_has_its_content_time_and_etag_under_the_new_name_only(
    store: FileStore,
) -> None:
    etag = store.write(FILE, b"content")
    (before,) = store.list_folder(TABLE).entries
    store.move_file(FILE, ARCHIVED, etag)
    (after,) = store.list_folder(ARCHIVE).entries
    assert before == after
    assert store.read(ARCHIVED).data == b"content"
    assert names(store, TABLE) == ["_ProcessedFiles"]


def test_a_file_can_move_to_another_name_in_its_folder_and_out_of_it(store: FileStore) -> None:
    etag = store.write(FILE, b"content")
    store.move_file(FILE, join(TABLE, "other"), etag)
    store.move_file(join(TABLE, "other"), StorePath("lake/new/folder/file"), etag)
    assert store.read(StorePath("lake/new/folder/file")).data == b"content"
    assert names(store, TABLE) == []


def test_a_file_with_another_content_is_not_moved(store: FileStore) -> None:
    old = store.write(FILE, b"content")
    store.write(FILE, b"changed")
    with pytest.raises(ConditionFailed):
        store.move_file(FILE, ARCHIVED, old)
    assert store.read(FILE).data == b"changed"
    assert not exists(store, ARCHIVED)


def test_a_file_is_not_moved_onto_another(store: FileStore) -> None:
    etag = store.write(FILE, b"content")
    store.write(ARCHIVED, b"archived")
    with pytest.raises(AlreadyThere):
        store.move_file(FILE, ARCHIVED, etag)
    assert store.read(FILE).data == b"content"
    assert store.read(ARCHIVED).data == b"archived"


def test_a_file_is_not_moved_onto_a_folder_nor_below_a_file(store: FileStore) -> None:
    etag = store.write(FILE, b"content")
    store.write(join(ARCHIVED, "below"), b"archived")
    with pytest.raises(AlreadyThere):
        store.move_file(FILE, ARCHIVED, etag)
    store.write(join(TABLE, "file"), b"")
    with pytest.raises(AlreadyThere):
        store.move_file(FILE, join(TABLE, "file", FIRST), etag)
    assert store.read(FILE).data == b"content"


def test_a_file_moved_onto_itself_stays(store: FileStore) -> None:
    etag = store.write(FILE, b"content")
    with pytest.raises(AlreadyThere):
        store.move_file(FILE, FILE, etag)
    assert store.read(FILE).data == b"content"


def test_what_is_no_file_cannot_be_moved_as_one(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.move_file(FILE, ARCHIVED, ETag("1-2-3"))
    etag = store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.move_file(join(TABLE, "other"), ARCHIVED, etag)
    with pytest.raises(NotThere):
        store.move_file(TABLE, StorePath("landing/elsewhere"), etag)


def test_of_eight_who_move_a_file_one_succeeds_and_nothing_is_lost(store: FileStore) -> None:
    for number in range(20):
        source, destination = join(TABLE, str(number)), join(ARCHIVE, str(number))
        etag = store.write(source, b"content")
        results = together([partial(store.move_file, source, destination, etag)] * 8)
        assert results.count(None) == 1
        assert {type(result) for result in results} <= {type(None), NotThere, ConditionFailed}
        assert store.read(destination).data == b"content"
        assert not exists(store, source)


# move_folder


def test_a_moved_folder_has_all_it_held(store: FileStore) -> None:
    store.write(FILE, b"content")
    store.write(ARCHIVED, b"archived")
    target = StorePath("lake/m/_openmirror/dropped/dbo/Orders/1")
    store.move_folder(TABLE, target)
    assert names(store, target) == [FIRST, "_ProcessedFiles"]
    assert store.read(join(target, "_ProcessedFiles", FIRST)).data == b"archived"
    assert not exists(store, FILE)
    assert not exists(store, ARCHIVED)
    with pytest.raises(NotThere):
        store.list_folder(TABLE)
    with pytest.raises(NotThere):
        store.list_folder(ARCHIVE)


def test_a_folder_is_not_moved_onto_anything_even_an_empty_folder(rig: Rig) -> None:
    rig.store.write(FILE, b"content")
    rig.make_folder(StorePath("landing/empty"))
    rig.store.write(StorePath("landing/full/x"), b"")
    for taken in ("landing/empty", "landing/full", "landing/full/x", TABLE):
        with pytest.raises(AlreadyThere):
            rig.store.move_folder(TABLE, StorePath(taken))
    assert rig.store.read(FILE).data == b"content"


def test_of_four_folders_moved_to_one_name_one_arrives(rig: Rig) -> None:
    for life in range(10):
        target = StorePath(f"lake/target-{life}")
        for number in range(4):
            rig.make_folder(StorePath(f"lake/source-{life}-{number}"))
        results = together(
            [
                partial(rig.store.move_folder, StorePath(f"lake/source-{life}-{number}"), target)
                for number in range(4)
            ]
        )
        assert results.count(None) == 1
        assert sum(isinstance(result, AlreadyThere) for result in results) == 3


def test_what_is_no_folder_cannot_be_moved_as_one(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.move_folder(TABLE, StorePath("landing/elsewhere"))
    store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.move_folder(FILE, StorePath("landing/elsewhere"))


def test_a_folder_is_not_moved_into_itself(store: FileStore) -> None:
    store.write(FILE, b"content")
    with pytest.raises(WrongRequest):
        store.move_folder(TABLE, join(TABLE, "below"))
    assert names(store, TABLE) == [FIRST]


# delete


def test_a_deleted_file_is_gone_and_its_neighbours_stay(store: FileStore) -> None:
    store.write(FILE, b"content")
    store.write(join(TABLE, "other"), b"other")
    store.delete_file(FILE)
    assert names(store, TABLE) == ["other"]
    assert not exists(store, FILE)


def test_what_is_no_file_cannot_be_deleted_as_one(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.delete_file(FILE)
    store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.delete_file(TABLE)
    with pytest.raises(NotThere):
        store.delete_file(join(TABLE, "other"))
    assert names(store, TABLE) == [FIRST]


def test_a_deleted_folder_is_gone_with_all_below_it(store: FileStore) -> None:
    store.write(FILE, b"content")
    store.write(ARCHIVED, b"archived")
    parent = StorePath(TABLE.rpartition("/")[0])
    store.write(join(parent, "neighbour"), b"")
    store.delete_folder(TABLE)
    assert names(store, parent) == ["neighbour"]
    for path in (FILE, ARCHIVED):
        assert not exists(store, path)
    with pytest.raises(NotThere):
        store.list_folder(ARCHIVE)


def test_a_folder_made_again_has_nothing_of_the_deleted_one(rig: Rig) -> None:
    rig.store.write(FILE, b"content")
    rig.store.delete_folder(TABLE)
    rig.make_folder(TABLE)
    assert names(rig.store, TABLE) == []


def test_what_is_no_folder_cannot_be_deleted_as_one(store: FileStore) -> None:
    with pytest.raises(NotThere):
        store.delete_folder(TABLE)
    store.write(FILE, b"content")
    with pytest.raises(NotThere):
        store.delete_folder(FILE)
    assert names(store, TABLE) == [FIRST]


# names and paths


@pytest.mark.parametrize("name", NAMES)
def test_any_name_works_for_files_and_folders(store: FileStore, name: str) -> None:
    folder = join(TABLE, name)
    etag = store.write(join(folder, name), b"content")
    assert store.incarnation(folder)
    assert names(store, TABLE) == names(store, folder) == [name]
    assert store.read(join(folder, name)).data == b"content"
    store.move_file(join(folder, name), join(folder, "_ProcessedFiles", name), etag)
    store.move_folder(folder, join(TABLE, f"{name}2"))
    store.delete_file(join(TABLE, f"{name}2", "_ProcessedFiles", name))
    store.delete_folder(join(TABLE, f"{name}2"))
    assert names(store, TABLE) == []


@pytest.mark.parametrize(
    "path", ["", "/", "/etc/passwd", "landing//x", "landing/../../x", "..", "landing/.", "a\0b"]
)
def test_a_path_that_is_not_below_the_root_is_refused(store: FileStore, path: str) -> None:
    store.write(FILE, b"content")
    bad, etag = StorePath(path), store.read(FILE).etag
    calls: list[Callable[[], object]] = [
        lambda: store.list_folder(bad),
        lambda: store.incarnation(bad),
        lambda: store.read(bad),
        lambda: store.write(bad, b""),
        lambda: store.move_file(bad, ARCHIVED, etag),
        lambda: store.move_file(FILE, bad, etag),
        lambda: store.move_folder(bad, ARCHIVE),
        lambda: store.move_folder(TABLE, bad),
        lambda: store.delete_file(bad),
        lambda: store.delete_folder(bad),
    ]
    for call in calls:
        with pytest.raises(WrongRequest):
            call()
    assert store.read(FILE).data == b"content"


# Only in memory


def test_the_memory_store_puts_time_stamps_of_its_clock() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    memory = MemoryStore(lambda: now)
    memory.put(FILE, b"content")
    listing = memory.list_folder(TABLE)
    assert listing.at == now
    assert listing.entries[0].modified == now


def test_the_memory_store_keeps_its_own_copy_of_what_was_written() -> None:
    memory = MemoryStore(lambda: datetime.now(UTC))
    data = bytearray(b"content")
    memory.put(FILE, data)  # type: ignore[arg-type]
    data[0] = 0
    assert memory.read(FILE).data == b"content"


# Only local: listing


def test_a_local_listing_hides_our_own_files_and_hadoops_checksums_only(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(FILE, b"content")
    local.incarnation(TABLE)
    for name in (f".{FIRST}.crc", ".openmirror-0123", ".hidden", "a.crc", "_staging"):
        (tmp_path / TABLE / name).write_bytes(b"")
    assert names(local, TABLE) == [".hidden", FIRST, "_staging", "a.crc"]


def test_a_local_listing_shows_a_folder_that_is_called_like_the_incarnation_file(
    local: LocalStore,
) -> None:
    local.write(DOCUMENT, b"{}")
    assert names(local, StorePath("lake/m")) == ["_openmirror"]
    assert names(local, StorePath("lake")) == ["m"]


def test_an_entry_that_vanishes_while_it_is_listed_is_left_out(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"content")
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda fd: [*listdir(fd), "ghost"])
    assert names(local, TABLE) == [FIRST]


def test_a_folder_that_is_replaced_while_it_is_listed_is_listed_again(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"content")
    listdir, lives = os.listdir, iter([1])

    def replaced(fd: int) -> list[str]:
        if next(lives, None):
            # Moved away, so that the old folder itself shows no trace of it.
            (tmp_path / TABLE).rename(tmp_path / "old life")
            local.write(join(TABLE, "new"), b"new")
        return listdir(fd)

    monkeypatch.setattr(os, "listdir", replaced)
    assert names(local, TABLE) == ["new"]


def test_a_folder_that_is_deleted_while_it_is_listed_is_not_there(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"content")
    listdir = os.listdir

    def deleted(fd: int) -> list[str]:
        # rmtree lists, too.
        monkeypatch.setattr(os, "listdir", listdir)
        shutil.rmtree(tmp_path / TABLE)
        return listdir(fd)

    monkeypatch.setattr(os, "listdir", deleted)
    with pytest.raises(NotThere):
        local.list_folder(TABLE)


# Only local: incarnation


@pytest.mark.parametrize("damage", [b"", b"0123", b"\0" * 32, b"x" * 1000])
def test_a_damaged_incarnation_file_is_replaced_once(
    local: LocalStore, tmp_path: Path, damage: bytes
) -> None:
    local.write(FILE, b"content")
    (tmp_path / TABLE / "_openmirror").write_bytes(damage)
    answers = together([partial(local.incarnation, TABLE)] * 8)
    assert len(set(answers)) == 1
    assert local.incarnation(TABLE) == answers[0]
    assert on_disk(tmp_path / TABLE) == sorted([FIRST, "_openmirror"])


def test_processes_that_ask_at_once_get_one_incarnation(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / TABLE / str(number)).mkdir(parents=True)
    code = f"for n in range(3): print(store.incarnation({TABLE!r} + '/' + str(n)))"
    outputs = {process.communicate()[0] for process in [_start(tmp_path, code) for _ in range(4)]}
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == 3


# Only local: read


def test_a_read_starts_over_when_the_file_grows_meanwhile(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"one")
    pread, times = os.pread, iter([1])

    def grown(fd: int, count: int, offset: int) -> bytes:
        data = pread(fd, count, offset)
        if next(times, None):
            with (tmp_path / FILE).open("ab") as publisher:
                publisher.write(b"two")
        return data

    monkeypatch.setattr(os, "pread", grown)
    assert local.read(FILE).data == b"onetwo"


def test_a_read_gives_up_on_a_file_that_never_stops_growing(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"one")
    pread = os.pread

    def grown(fd: int, count: int, offset: int) -> bytes:
        with (tmp_path / FILE).open("ab") as publisher:
            publisher.write(b"more")
        return pread(fd, count, offset)

    monkeypatch.setattr(os, "pread", grown)
    with pytest.raises(ConditionFailed):
        local.read(FILE)


def test_a_named_pipe_is_no_file_and_nobody_waits_for_it(local: LocalStore, tmp_path: Path) -> None:
    (tmp_path / TABLE).mkdir(parents=True)
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(NotThere):
        local.read(FILE)


# Only local: write


def test_processes_that_write_conditionally_lose_nothing(local: LocalStore, tmp_path: Path) -> None:
    local.write(DOCUMENT, b"%06d" % 0)
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from test_file_store import count_up\ncount_up(store, {DOCUMENT!r}, 25)"
    )
    processes = [_start(tmp_path, code) for _ in range(4)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 4
    assert local.read(DOCUMENT).data == b"%06d" % 100


def test_a_writer_that_is_killed_leaves_whole_content_and_no_lock(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(DOCUMENT, b"a" * 2_000_000)
    code = (
        "import itertools\n"
        "for letter in itertools.cycle(b'bcdefgh'):\n"
        f"    store.write({DOCUMENT!r}, bytes([letter]) * 2_000_000); print('.', flush=True)"
    )
    for _ in range(5):
        writer = _start(tmp_path, code)
        assert writer.stdout is not None
        for _ in range(3):
            writer.stdout.readline()
        writer.kill()
        writer.communicate()
        content = local.read(DOCUMENT)
        assert content.data == content.data[:1] * 2_000_000
        local.write(DOCUMENT, b"a" * 2_000_000, only_if=content.etag)
    assert names(local, StorePath(DOCUMENT.rpartition("/")[0])) == ["Orders.json"]


def test_the_time_in_an_etag_grows_with_every_write_even_when_the_clock_stands_still(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 4_000_000_000_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: now)
    for number in range(20):
        local.write(DOCUMENT, b"same")
        assert (tmp_path / DOCUMENT).stat().st_mtime_ns == now + number


def test_a_failed_write_leaves_nothing_behind(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"content")

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="no space left"):
        local.write(FILE, b"other")
    assert on_disk(tmp_path / TABLE) == [FIRST]
    assert local.read(FILE).data == b"content"


# Only local: move_file, and what may happen in its middle


class DiedError(Exception):
    """Stands for the end of a process."""


def _store_that_meets(root: Path, event: Callable[[], object]) -> LocalStore:
    def steps(step: Step) -> None:
        assert step is Step.LINKED
        event()

    return LocalStore(root, steps)


def _die() -> None:
    raise DiedError


def test_a_move_that_died_half_way_is_completed_by_the_next(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    with pytest.raises(DiedError):
        _store_that_meets(tmp_path, _die).move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == local.read(ARCHIVED).data == b"content"
    local.move_file(FILE, ARCHIVED, etag)
    assert not exists(local, FILE)
    assert local.read(ARCHIVED).data == b"content"
    assert on_disk(tmp_path / ARCHIVE) == [FIRST]


def test_a_move_that_died_half_way_does_not_go_on_with_another_content(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    with pytest.raises(DiedError):
        _store_that_meets(tmp_path, _die).move_file(FILE, ARCHIVED, etag)
    replaced = local.write(FILE, b"changed")
    with pytest.raises(ConditionFailed):
        local.move_file(FILE, ARCHIVED, etag)
    with pytest.raises(AlreadyThere):
        local.move_file(FILE, ARCHIVED, replaced)
    assert local.read(FILE).data == b"changed"
    assert local.read(ARCHIVED).data == b"content"


def test_a_file_replaced_in_the_middle_of_its_move_stays_with_its_new_content(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    meets = _store_that_meets(tmp_path, lambda: local.write(FILE, b"changed"))
    with pytest.raises(ConditionFailed):
        meets.move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"changed"
    assert not exists(local, ARCHIVED)


def test_a_file_written_in_place_in_the_middle_of_its_move_stays(
    local: LocalStore, tmp_path: Path
) -> None:
    def append() -> None:
        with (tmp_path / FILE).open("ab") as publisher:
            publisher.write(b" and more")

    etag = local.write(FILE, b"content")
    with pytest.raises(ConditionFailed):
        _store_that_meets(tmp_path, append).move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"content and more"
    assert not exists(local, ARCHIVED)


def test_a_file_replaced_in_the_last_moment_of_its_move_is_put_back(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = local.write(FILE, b"content")
    rename = os.rename

    def late(source: str, to: str, **folders: int) -> None:
        if source == FIRST:
            (tmp_path / "new").write_bytes(b"changed")
            rename(tmp_path / "new", tmp_path / FILE)
        rename(source, to, **folders)

    monkeypatch.setattr(os, "rename", late)
    with pytest.raises(ConditionFailed):
        local.move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"changed"
    assert not exists(local, ARCHIVED)
    assert on_disk(tmp_path / TABLE) == [FIRST, "_ProcessedFiles"]


def test_a_file_deleted_in_the_middle_of_its_move_is_archived(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    _store_that_meets(tmp_path, lambda: local.delete_file(FILE)).move_file(FILE, ARCHIVED, etag)
    assert local.read(ARCHIVED).data == b"content"
    assert not exists(local, FILE)


def test_a_file_whose_new_name_is_deleted_in_the_middle_of_its_move_keeps_its_old_one(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    with pytest.raises(ConditionFailed):
        _store_that_meets(tmp_path, (tmp_path / ARCHIVED).unlink).move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"content"


def test_a_link_that_caught_another_content_is_taken_back_though_the_first_has_returned(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = local.write(FILE, b"content")
    local.write(join(TABLE, "other"), b"other")
    link = os.link
    monkeypatch.setattr(os, "link", lambda _, to, **folders: link("other", to, **folders))
    with pytest.raises(ConditionFailed):
        local.move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"content"
    assert not exists(local, ARCHIVED)


def test_a_second_mover_in_the_middle_of_a_move_gives_way(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")

    def second() -> None:
        with pytest.raises(ConditionFailed):
            local.move_file(FILE, ARCHIVED, etag)

    _store_that_meets(tmp_path, second).move_file(FILE, ARCHIVED, etag)
    assert local.read(ARCHIVED).data == b"content"
    assert not exists(local, FILE)


def test_a_file_of_an_old_life_never_reaches_the_archive_of_the_next(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = local.write(FILE, b"content")
    mkdir = os.mkdir

    def re_created(name: str | Path, *rest: int, dir_fd: int | None = None) -> None:
        if name == "_ProcessedFiles":
            (tmp_path / TABLE).rename(tmp_path / "old life")
            mkdir(tmp_path / TABLE)
        mkdir(name, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", re_created)
    local.move_file(FILE, ARCHIVED, etag)
    assert on_disk(tmp_path / TABLE) == []
    assert (tmp_path / "old life" / "_ProcessedFiles" / FIRST).read_bytes() == b"content"


def test_a_file_system_without_hard_links_is_named_as_the_cause(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.ENOTSUP, "not supported")

    etag = local.write(FILE, b"content")
    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(OpenmirrorError, match="hard links"):
        local.move_file(FILE, ARCHIVED, etag)
    assert local.read(FILE).data == b"content"


# Only local: the rest


def test_what_a_dead_process_was_deleting_is_hidden_and_goes_with_the_next_delete(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(FILE, b"content")
    local.write(StorePath("landing/other/x"), b"x")
    (tmp_path / "landing" / ".openmirror-trash-1").mkdir()
    (tmp_path / "landing" / ".openmirror-trash-1" / "big").write_bytes(b"")
    assert names(local, StorePath("landing")) == ["m", "other"]
    local.delete_folder(StorePath("landing/other"))
    assert on_disk(tmp_path / "landing") == ["m"]


def test_a_symbolic_link_that_leads_out_of_the_root_is_refused(
    tmp_path: Path,
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (root / "landing").mkdir(parents=True)
    (root / "landing" / "way").symlink_to(outside)
    store = LocalStore(root)
    for call in (store.read, store.delete_file, lambda path: store.write(path, b"")):
        with pytest.raises(WrongRequest, match="symbolic link"):
            call(StorePath("landing/way/secret"))
    with pytest.raises(WrongRequest, match="symbolic link"):
        store.list_folder(StorePath("landing/way"))
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_symbolic_link_within_the_root_is_followed(local: LocalStore, tmp_path: Path) -> None:
    local.write(StorePath("landing/real/file"), b"content")
    (tmp_path / "landing" / "alias").symlink_to("real")
    (tmp_path / "landing" / "broken").symlink_to("nowhere")
    assert names(local, StorePath("landing/alias")) == ["file"]
    assert local.read(StorePath("landing/alias/file")).data == b"content"
    assert names(local, StorePath("landing")) == ["alias", "real"]
    assert local.incarnation(StorePath("landing/alias")) == local.incarnation(
        StorePath("landing/real")
    )


def test_a_linked_name_of_the_same_folder_is_still_the_same_file(
    local: LocalStore, tmp_path: Path
) -> None:
    etag = local.write(FILE, b"content")
    (tmp_path / "landing" / "alias").symlink_to(tmp_path / TABLE)
    with pytest.raises(AlreadyThere):
        local.move_file(FILE, StorePath(f"landing/alias/{FIRST}"), etag)
    assert local.read(FILE).data == b"content"


def _start(root: Path, code: str) -> subprocess.Popen[str]:
    before = (
        "from pathlib import Path\n"
        "from openmirror.adapters.local.store import LocalStore\n"
        f"store = LocalStore(Path({str(root)!r}))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", before + code], stdout=subprocess.PIPE, text=True
    )
