"""Names of a folder that stands still are remembered, and never for longer than it does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openmirror.stores.local.still_folders import StillFolders
from tests.harness.clock import Seconds


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).touch()
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A one for each time that a folder's names were really listed."""
    found: list[int] = []
    listdir: Callable[[int], list[str]] = os.listdir

    def counted(fd: int) -> list[str]:
        found.append(1)
        return listdir(fd)

    monkeypatch.setattr(os, "listdir", counted)
    return found


def test_a_folder_that_stands_still_is_listed_no_more(
    folder: int, clock: Seconds, listings: list[int]
) -> None:
    still = StillFolders(clock)
    for seconds in (0.0, 2.0, 1.5):
        clock.now += seconds
        assert still.names_from(folder, "b") == ["b", "c", "d"]
    assert len(listings) == 3
    assert still.names_from(folder, "b") == ["b", "c", "d"]
    assert still.names_from(folder, "c") == ["c", "d"]
    assert still.names_from(folder, "e") == []
    assert len(listings) == 3
    assert still.names_from(folder, "") == ["a", "b", "c", "d"], "of these not all were kept"
    assert len(listings) == 4


@pytest.mark.parametrize("change", ["comes", "goes", "takes another's place"])
def test_whatever_changes_in_a_folder_is_seen_at_once(
    folder: int, clock: Seconds, tmp_path: Path, change: str
) -> None:
    still = StillFolders(clock)
    for _ in range(3):
        still.names_from(folder, "")
        clock.now += 10
    if change == "comes":
        (tmp_path / "e").touch()
    elif change == "goes":
        (tmp_path / "d").unlink()
    else:
        (tmp_path / "d").rename(tmp_path / "c")
    assert still.names_from(folder, "") == sorted(child.name for child in tmp_path.iterdir())


def test_what_comes_within_one_tick_of_the_file_system_is_seen(
    folder: int, clock: Seconds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_it_was = os.fstat(folder)
    monkeypatch.setattr(os, "fstat", lambda fd: as_it_was)  # within one tick it stays so
    still = StillFolders(clock)
    assert still.names_from(folder, "d") == ["d"]
    clock.now += 2
    (tmp_path / "e").touch()
    assert still.names_from(folder, "d") == ["d", "e"]


def test_what_no_time_of_the_folder_shows_is_seen_within_a_minute(
    folder: int, clock: Seconds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_it_was = os.fstat(folder)
    monkeypatch.setattr(os, "fstat", lambda fd: as_it_was)
    still = StillFolders(clock)
    for _ in range(2):
        still.names_from(folder, "d")
        clock.now += 30
    (tmp_path / "e").touch()
    assert still.names_from(folder, "d") == ["d"]
    clock.now += 30
    assert still.names_from(folder, "d") == ["d", "e"]


def test_each_folder_has_its_own_names(folder: int, clock: Seconds, tmp_path: Path) -> None:
    still = StillFolders(clock)
    for _ in range(2):
        still.names_from(folder, "")
        clock.now += 10
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    other = os.open(tmp_path / "a", os.O_RDONLY)
    try:
        assert still.names_from(other, "") == []
    finally:
        os.close(other)


def test_only_so_many_folders_are_remembered(
    tmp_path: Path, clock: Seconds, listings: list[int]
) -> None:
    still = StillFolders(clock, remember=2)
    for name in "xyz":
        (tmp_path / name).mkdir()
    opened = [os.open(tmp_path / name, os.O_RDONLY) for name in "xyz"]
    try:
        for fd in opened[:2]:
            still.names_from(fd, "")
        clock.now += 10
        for fd in opened[:2]:
            still.names_from(fd, "")
        before = len(listings)
        for fd in (*opened[:2], opened[2]):
            still.names_from(fd, "")
        assert len(listings) == before + 1
        still.names_from(opened[0], "")
        assert len(listings) == before + 2
    finally:
        for fd in opened:
            os.close(fd)
