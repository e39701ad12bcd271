"""What every FileStore keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere, WrongRequest
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import ETag
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.contract.azure_stores import azure_store, make_folder
from tests.contract.stores import (
    ARCHIVE,
    ARCHIVED,
    DOCUMENT,
    FILE,
    FIRST,
    TABLE,
    count_up,
    exists,
    names,
    together,
)
from tests.emulator_server import endpoint_server

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
    patience: float = 1
    """How much of a test's repetitions this store is asked for: each may be a request."""

    def times(self, count: int) -> int:
        return round(count * self.patience)


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AzureStore, Clients]]:
    folder = tmp_path_factory.mktemp("endpoint")
    with endpoint_server(folder) as server, azure_store(server) as made:
        yield made


@pytest.fixture(params=["local", "memory", "endpoint"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    if request.param == "local":
        yield Rig(LocalStore(tmp_path), lambda path: (tmp_path / path).mkdir(parents=True))
    elif request.param == "memory":
        memory = MemoryStore(lambda: datetime.now(UTC))
        yield Rig(memory, memory.make_folder)
    else:
        store, clients = request.getfixturevalue("azure")
        yield Rig(store, partial(make_folder, clients), patience=0.2)
        for container in (layout.LANDING, layout.LAKE):
            for entry in store.list_folder(container).entries:
                store.delete_folder(layout.join(container, entry.name))


@pytest.fixture
def store(rig: Rig) -> FileStore:
    return rig.store


# list_folder


def test_a_listing_has_every_child_by_name_with_size_kind_and_etag(store: FileStore) -> None:
    etags = {name: store.write(join(TABLE, name), name.encode()) for name in ("b", "a", "C", "_x")}
    store.write(ARCHIVED, b"")
    entries = store.list_folder(TABLE).entries
    assert [entry.name for entry in entries] == ["C", "_ProcessedFiles", "_x", "a", "b"]
    assert [entry.name for entry in entries if entry.is_folder] == ["_ProcessedFiles"]
    assert {e.name: e.etag for e in entries if not e.is_folder} == etags
    assert [entry.size for entry in entries] == [1, 0, 2, 1, 1]


def test_a_part_of_a_listing_has_all_names_from_one_on(store: FileStore) -> None:
    names = [f"{number:020d}.{kind}" for number in range(6) for kind in ("crc", "json")]
    for name in (*names, "_last"):
        store.write(join(TABLE, name), b"x")
    whole = store.list_folder(TABLE).entries
    assert [entry.name for entry in whole] == [*names, "_last"]
    assert store.list_from(TABLE, "") == whole
    assert store.list_from(TABLE, names[5]) == whole[5:]
    between = f"{2:020d}.checkpoint"  # before the .crc of the same number
    assert store.list_from(TABLE, between) == whole[4:]
    assert store.list_from(TABLE, "zz") == ()
    with pytest.raises(NotThere):
        store.list_from(ARCHIVE, "")
    with pytest.raises(NotThere):
        store.list_from(ARCHIVE, "a")


def test_a_listing_shows_the_etag_that_a_read_gives(store: FileStore) -> None:
    store.write(FILE, b"content")
    (entry,) = store.list_folder(TABLE).entries
    assert entry.etag == store.read(FILE).etag


def test_a_listing_reports_times_in_utc_by_the_clock_that_files_have(store: FileStore) -> None:
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


def test_a_listing_while_files_come_and_go_has_every_file_that_stays(rig: Rig) -> None:
    store = rig.store
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
            for _ in range(rig.times(40)):
                assert [n for n in names(store, TABLE) if n.startswith("stay")] == stay
        finally:
            stop.set()
        for churner in churners:
            churner.result()


# incarnation


def test_an_incarnation_stays_while_the_folder_exists(store: FileStore) -> None:
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
    for number in range(rig.times(20)):
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


def test_asking_never_brings_a_deleted_folder_back_or_mixes_up_its_incarnations(rig: Rig) -> None:
    stop = Event()
    answers: set[str | None] = set()

    def ask() -> None:
        while not stop.is_set():
            # Whoever must ask again has not been answered anything wrong.
            with suppress(ConditionFailed):
                answers.add(rig.store.incarnation(TABLE))

    records = []
    with ThreadPoolExecutor(3) as pool:
        askers = [pool.submit(ask) for _ in range(3)]
        try:
            for _ in range(rig.times(20)):
                rig.make_folder(TABLE)
                records.append(rig.store.incarnation(TABLE))
                assert rig.store.incarnation(TABLE) == records[-1]
                rig.store.delete_folder(TABLE)
                assert rig.store.incarnation(TABLE) is None
        finally:
            stop.set()
        for asker in askers:
            asker.result()
    assert len(set(records)) == len(records)
    assert answers <= {*records, None}


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
def test_a_range_is_cut_short_at_the_end_and_reports_the_whole_size(
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


def test_a_read_is_of_one_content_while_a_writer_replaces_the_file(rig: Rig) -> None:
    store = rig.store
    size = 300_000
    fillings: dict[ETag, bytes] = {store.write(FILE, b"z" * size): b"z"}
    seen: list[tuple[ETag, bytes, int]] = []
    stop = Event()

    def replace() -> None:
        for number in range(rig.times(20)):
            filling = b"%c" % (97 + number % 26)
            # Other sizes too, so that a mixture would also show in the size.
            fillings[store.write(FILE, filling * (size + number % 3))] = filling
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
    assert {fillings[etag] == filling for etag, filling, _ in seen} == {True}


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


def test_threads_that_write_conditionally_lose_nothing(rig: Rig) -> None:
    store, times = rig.store, rig.times(25)
    store.write(DOCUMENT, b"%06d" % 0)
    assert together([partial(count_up, store, DOCUMENT, times)] * 4) == [None] * 4
    assert store.read(DOCUMENT).data == b"%06d" % (4 * times)


# stream


STAGED = join(TABLE, "_staged")
PART = bytes(range(256)) * 4096


def test_a_streamed_file_is_all_parts_and_the_tail(store: FileStore) -> None:
    file = store.stream(STAGED)
    parts = [bytes([number]) + PART for number in range(12)]
    for part in parts:
        with memoryview(part) as view:
            file.append(view)
    etag = file.finish(b"the tail")
    content = store.read(STAGED)
    assert content.data == b"".join(parts) + b"the tail"
    assert content.etag == etag
    (entry,) = store.list_folder(TABLE).entries
    assert (entry.name, entry.size, entry.etag) == ("_staged", content.size, etag)


def test_a_streamed_file_gets_other_tails_without_its_body(store: FileStore) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    etags = []
    for tail in (b"one", b"a longer tail", b"", b"x", b"x"):
        etags.append(file.finish(tail))
        content = store.read(STAGED)
        assert content.data == PART + tail
        assert content.etag == etags[-1]
    assert len(set(etags)) == len(etags)


def test_parts_may_follow_a_tail_which_goes(store: FileStore) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    file.finish(b"tail")
    file.append(b"more")
    file.finish(b"end")
    assert store.read(STAGED).data == PART + b"moreend"


@pytest.mark.parametrize("tail", [b"", b"tail"])
def test_a_streamed_file_may_have_no_body(store: FileStore, tail: bytes) -> None:
    file = store.stream(STAGED)
    first = file.finish(b"another tail")
    second = file.finish(tail)
    assert store.read(STAGED).data == tail
    with pytest.raises(ConditionFailed):
        store.move_file(STAGED, FILE, first)
    store.move_file(STAGED, FILE, second)
    with pytest.raises(NotThere):
        file.finish(b"one more")
    assert names(store, TABLE) == [FIRST]


def test_a_part_without_bytes_changes_nothing(store: FileStore) -> None:
    file = store.stream(STAGED)
    for part in (b"", b"a", b"", b"b", b""):
        file.append(part)
    file.finish(b"c")
    assert store.read(STAGED).data == b"abc"


def test_a_streamed_file_is_moved_under_its_newest_etag_alone(store: FileStore) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    first = file.finish(b"1")
    second = file.finish(b"2")
    with pytest.raises(ConditionFailed):
        store.move_file(STAGED, FILE, first)
    store.move_file(STAGED, FILE, second)
    assert store.read(FILE).data == PART + b"2"
    assert store.read(FILE).etag == second
    assert names(store, TABLE) == [FIRST]


def test_what_was_streamed_and_moved_is_changed_no_more(store: FileStore) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    etag = file.finish(b"1")
    store.move_file(STAGED, FILE, etag)
    with pytest.raises(NotThere):
        file.finish(b"2")
    file.discard()
    assert (store.read(FILE).data, store.read(FILE).etag) == (PART + b"1", etag)
    assert names(store, TABLE) == [FIRST]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_streamed_file_that_was_deleted_or_replaced_is_not_made_again(
    store: FileStore, replaced: bool
) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    file.finish(b"1")
    store.delete_file(STAGED)
    if replaced:
        store.write(STAGED, b"another")
    with pytest.raises(NotThere):
        file.finish(b"2")
    assert names(store, TABLE) == (["_staged"] if replaced else [])


def test_a_streamed_file_that_went_with_its_folder_is_not_made_again(store: FileStore) -> None:
    file = store.stream(STAGED)
    file.append(PART)
    file.finish(b"1")
    store.delete_folder(TABLE)
    with pytest.raises(NotThere):
        file.finish(b"2")
    file.discard()
    assert store.incarnation(TABLE) is None


def test_nothing_of_a_discarded_file_stays(store: FileStore) -> None:
    store.write(FILE, b"content")
    for finishes in range(3):
        file = store.stream(STAGED)
        file.append(PART)
        for _ in range(finishes):
            file.finish(b"tail")
        file.discard()
        file.discard()
        assert names(store, TABLE) == [FIRST]


def test_a_streamed_file_replaces_what_has_its_name(store: FileStore) -> None:
    old = store.write(FILE, b"old content")
    file = store.stream(FILE)
    file.append(b"new ")
    assert file.finish(b"one") != old
    assert store.read(FILE).data == b"new one"


def test_two_streams_beside_each_other_do_not_mix(store: FileStore) -> None:
    paths = [join(TABLE, f"_staged-{number}") for number in range(3)]
    files = [store.stream(path) for path in paths]
    for part in range(4):
        for number, file in enumerate(files):
            file.append(b"%d-%d " % (number, part))
    for file in files:
        file.finish(b".")
    for number, path in enumerate(paths):
        expected = b"".join(b"%d-%d " % (number, part) for part in range(4)) + b"."
        assert store.read(path).data == expected


def test_nothing_is_streamed_into_a_folders_name_or_below_a_file(store: FileStore) -> None:
    store.write(FILE, b"content")
    for path in (TABLE, join(FILE, "below")):
        with pytest.raises(AlreadyThere):
            store.stream(path).finish(b"tail")
    assert store.read(FILE).data == b"content"
    with pytest.raises(WrongRequest):
        store.stream(StorePath("landing/../x"))


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


def test_of_eight_who_move_a_file_one_succeeds_and_nothing_is_lost(rig: Rig) -> None:
    store = rig.store
    for number in range(rig.times(20)):
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
    for record in range(10):
        target = StorePath(f"lake/target-{record}")
        for number in range(4):
            rig.make_folder(StorePath(f"lake/source-{record}-{number}"))
        results = together(
            [
                partial(rig.store.move_folder, StorePath(f"lake/source-{record}-{number}"), target)
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
