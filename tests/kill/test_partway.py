"""What a kill would have left is what the kernel noted, in its order."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tests.kill.effects import Effect, effects_below
from tests.kill.partway import files_below, put, states


def test_a_folder_is_known_behind_each_effect(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (tmp_path / "was").write_bytes(b"was")
    before, effects = files_below(tmp_path), list[Effect]()
    with effects_below(tmp_path, effects.append):
        (log / ".entry.tmp").write_bytes(b"entry.")
        (log / ".entry.tmp").rename(log / "entry")
        (tmp_path / "was").unlink()
    left = states(before, files_below(tmp_path), effects)
    was, folder = {PurePosixPath("was"): b"was"}, {PurePosixPath("log"): None}
    begun, entry = PurePosixPath("log/.entry.tmp"), PurePosixPath("log/entry")
    assert [state.files for state in left] == [
        {**was, **folder, begun: b"ent"},
        {**was, **folder, entry: b"entry."},
        {**folder, entry: b"entry."},
    ]
    put(tmp_path / "again", left[0].files)
    assert files_below(tmp_path / "again") == left[0].files


def test_what_is_done_in_a_new_folder_before_it_is_watched_is_there_whole(tmp_path: Path) -> None:
    for number in range(20):
        effects, folder = list[Effect](), tmp_path / f"{number}"
        with effects_below(tmp_path, effects.append):
            folder.mkdir()
            (folder / ".entry.tmp").write_bytes(b"entry.")
            (folder / ".entry.tmp").rename(folder / "entry")
        before = {p: data for p, data in files_below(tmp_path).items() if p.parts[0] != folder.name}
        left = states(before, files_below(tmp_path), effects)
        assert left[-1].files == files_below(tmp_path)


def test_a_file_that_is_overwritten_where_it_lies_is_found(tmp_path: Path) -> None:
    (tmp_path / "latest").write_bytes(b"old")
    before, effects = files_below(tmp_path), list[Effect]()
    with effects_below(tmp_path, effects.append):
        (tmp_path / "latest").write_bytes(b"new")
    with pytest.raises(AssertionError, match="latest is overwritten where it lies"):
        states(before, files_below(tmp_path), effects)
