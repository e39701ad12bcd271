"""What the local store adds: claims about what other processes can do to its files."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from openmirror.errors import (
    AccessDenied,
    AlreadyThere,
    ConditionFailed,
    NotThere,
    OpenmirrorError,
)
from openmirror.ports import Step, UnseenEntry
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath, join
from tests.contract.stores import (
    ARCHIVE,
    ARCHIVED,
    DOCUMENT,
    FILE,
    FIRST,
    TABLE,
    exists,
    names,
    together,
)
from tests.harness.rights import of_a_plain_user


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def on_disk(folder: Path) -> list[str]:
    """What is really in a local folder, whatever listings hide."""
    return sorted(child.name for child in folder.iterdir())


def _start(root: Path, code: str) -> subprocess.Popen[str]:
    before = (
        "from pathlib import Path\n"
        "from openmirror.stores.local.store import LocalStore\n"
        f"store = LocalStore(Path({str(root)!r}))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", before + code], stdout=subprocess.PIPE, text=True
    )


# list_folder


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
    listdir, records = os.listdir, iter([1])

    def replaced(fd: int) -> list[str]:
        if next(records, None):
            # Moved away, so that the old folder itself shows no trace of it.
            (tmp_path / TABLE).rename(tmp_path / "old incarnation")
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


# incarnation


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


# read


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


# write


def test_processes_that_write_conditionally_lose_nothing(local: LocalStore, tmp_path: Path) -> None:
    local.write(DOCUMENT, b"%06d" % 0)
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from stores import count_up\ncount_up(store, {DOCUMENT!r}, 25)"
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
        "for character in itertools.cycle(b'bcdefgh'):\n"
        f"    store.write({DOCUMENT!r}, bytes([character]) * 2_000_000); print('.', flush=True)"
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


# stream


def test_a_streamed_file_that_a_broken_move_left_under_two_names_is_not_written_to(
    local: LocalStore, tmp_path: Path
) -> None:
    staged = join(TABLE, "_staged")
    file = local.stream(staged)
    file.append(b"body")
    file.finish(b"1")
    os.link(tmp_path / staged, tmp_path / FILE)
    with pytest.raises(NotThere):
        file.finish(b"2")
    assert local.read(FILE).data == b"body1"
    file.discard()
    assert on_disk(tmp_path / TABLE) == [FIRST]


def test_a_streamed_file_is_gone_on_with_after_a_full_disk(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite = os.pwrite
    left = [3]

    def full(file: int, data: Any, at: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        return pwrite(file, bytes(data)[:2], at)

    file = local.stream(FILE)
    monkeypatch.setattr(os, "pwrite", full)
    for act, more in ((lambda: file.append(b"0123456789"), 9), (lambda: file.finish(b"ab"), 0)):
        left[0] = min(left[0], more)
        with pytest.raises(OSError, match="No space"):
            act()
        left[0] = 9
        act()
        left[0] = 0
    assert local.read(FILE).data == b"0123456789ab"


def test_a_streamed_file_is_of_its_folder_and_gets_into_no_other(
    local: LocalStore, tmp_path: Path
) -> None:
    file = local.stream(FILE)
    file.append(b"body")
    local.delete_folder(TABLE)
    local.write(DOCUMENT, b"{}")
    for _ in range(2):
        with pytest.raises(NotThere):
            file.append(b"more")
        with pytest.raises(NotThere):
            file.finish(b"tail")
        file.discard()
        (tmp_path / TABLE).mkdir(exist_ok=True)
    assert on_disk(tmp_path / TABLE) == []


# move_file, and what may happen in its middle


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


def test_a_file_of_an_old_incarnation_never_reaches_the_archive_of_the_next(
    local: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = local.write(FILE, b"content")
    mkdir = os.mkdir

    def re_created(name: str | Path, *rest: int, dir_fd: int | None = None) -> None:
        if name == "_ProcessedFiles":
            (tmp_path / TABLE).rename(tmp_path / "old incarnation")
            mkdir(tmp_path / TABLE)
        mkdir(name, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", re_created)
    local.move_file(FILE, ARCHIVED, etag)
    assert on_disk(tmp_path / TABLE) == []
    assert (tmp_path / "old incarnation" / "_ProcessedFiles" / FIRST).read_bytes() == b"content"


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


# Folders being deleted, and symbolic links


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
        with pytest.raises(AccessDenied, match="symbolic link") as raised:
            call(StorePath("landing/way/secret"))
        assert raised.value.place == "landing/way/secret"
    with pytest.raises(AccessDenied, match="symbolic link"):
        store.list_folder(StorePath("landing/way"))
    assert (outside / "secret").read_bytes() == b"secret"


def test_what_may_not_be_used_is_refused_with_its_place_and_for_whom(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(FILE, b"content")
    user = pwd.getpwuid(os.geteuid()).pw_name
    calls: dict[StorePath, tuple[Callable[[StorePath], object], ...]] = {
        FILE: (local.read,),
        TABLE: (local.list_folder, local.incarnation, local.delete_folder),
        join(TABLE, "new"): (lambda path: local.write(path, b""),),
    }
    (tmp_path / FILE).chmod(0)
    with of_a_plain_user():
        for place, of_place in calls.items():
            if place != FILE:
                (tmp_path / TABLE).chmod(0)
                (tmp_path / TABLE).parent.chmod(0o555)
            for call in of_place:
                with pytest.raises(AccessDenied, match=rf"{user}, uid \d+\): Permission") as raised:
                    call(place)
                assert (raised.value.place, str(place) in str(raised.value)) == (place, True)
    (tmp_path / TABLE).parent.chmod(0o755)
    (tmp_path / TABLE).chmod(0o755)


def test_a_link_behind_which_nothing_can_be_seen_hides_nothing_beside_it(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(StorePath("landing/a/file"), b"content")
    locked = tmp_path / "locked"
    (locked / "b").mkdir(parents=True)
    (tmp_path / "landing" / "b").symlink_to(locked / "b")
    (tmp_path / "landing" / "loop").symlink_to("loop")
    locked.chmod(0)
    with of_a_plain_user():
        listed = local.list_folder(StorePath("landing")).entries
        for refused in ("landing/b", "landing/loop"):
            with pytest.raises(AccessDenied):
                local.list_folder(StorePath(refused))
    locked.chmod(0o755)
    assert [(e.name, e.is_folder, isinstance(e, UnseenEntry)) for e in listed] == [
        ("a", True, False),
        ("b", False, True),
        ("loop", False, True),
    ]


def test_a_folder_whose_names_alone_can_be_read_is_refused_as_a_whole(
    local: LocalStore, tmp_path: Path
) -> None:
    local.write(FILE, b"content")
    (tmp_path / TABLE).chmod(0o444)
    with of_a_plain_user(), pytest.raises(AccessDenied):
        local.list_folder(TABLE)
    (tmp_path / TABLE).chmod(0o755)


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


def test_a_name_that_is_no_text_is_listed_as_text_that_can_be_written_down(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xff.txt")).write_bytes(b"")
    (entry,) = LocalStore(tmp_path).list_folder(StorePath("landing")).entries
    assert entry.name == "a\N{REPLACEMENT CHARACTER}.txt"
    assert entry.name.encode()


def test_content_is_on_disk_before_its_name_and_both_before_a_write_ends(
    local: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.write(FILE, b"old")
    done = []
    rename = os.rename

    def synced(fd: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "content")

    def renamed(*names: Any, **folders: Any) -> None:
        done.append("name")
        rename(*names, **folders)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    local.write(FILE, b"new")
    assert done == ["content", "name", "folder"]
