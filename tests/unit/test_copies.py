"""Copies of change files: of the planned bytes, gone with whoever made them."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openmirror.errors import ConditionFailed, NotThere, Unavailable
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.protocol.names import ETag
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.spark.copies import Copies
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath

AT = datetime(2026, 1, 1, tzinfo=UTC)
CONTENT = b"0123456789" * 900_000


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "root")


def landed(store: LocalStore, number: int, content: bytes) -> LandedFile:
    path = StorePath(f"landing/m/t/file {number}")
    etag = store.write(path, content)
    facts = FileFacts(etag=etag, schema=TableSchema(), rows=1, completeness=Completeness.COMPLETE)
    return LandedFile(
        sequence=Sequence(number),
        name=f"file {number}",
        path=path,
        etag=etag,
        size=len(content),
        modified=AT,
        facts=facts,
    )


def test_copies_have_the_bytes_that_were_planned_and_a_name_of_their_sequence(
    scratch: Path, store: LocalStore
) -> None:
    files = [landed(store, 1, CONTENT), landed(store, 7, b"")]
    copies = Copies(store)
    with copies.of(files) as copied:
        store.write(files[0].path, b"another")
        [first, second] = (Path(copied.paths[file.sequence]) for file in files)
        assert (first.name, second.name) == (f"{1:020d}.parquet", f"{7:020d}.parquet")
        assert (first.read_bytes(), second.read_bytes()) == (CONTENT, b"")
        assert hashlib.sha256(CONTENT).hexdigest() in str(copied.checksums[Sequence(1)])
        assert first.stat().st_mode & 0o077 == 0 or first.parent.stat().st_mode & 0o077 == 0
    assert not first.exists()
    del copies
    assert list(scratch.iterdir()) == []


def test_a_file_that_is_another_by_now_is_a_lost_race(scratch: Path, store: LocalStore) -> None:
    file, copies = landed(store, 1, CONTENT), Copies(store)
    other = replace(file, facts=replace(file.facts, etag=ETag("other")))
    with pytest.raises(ConditionFailed), copies.of([other]):
        pass
    store.delete_file(file.path)
    with pytest.raises(NotThere), copies.of([file]):
        pass
    assert [path.name for path in scratch.rglob("*.parquet")] == []


def test_a_full_disk_is_an_error_with_its_remedy(
    scratch: Path, store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file, copies = landed(store, 1, CONTENT), Copies(store)
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(Unavailable) as raised, copies.of([file]):
        pass
    assert "No space left on device" in str(raised.value)
    assert "Set TMPDIR" in str(raised.value)
    assert [path.name for path in scratch.rglob("*.parquet")] == []


def test_a_folder_that_a_cleaner_of_old_files_took_is_made_anew(
    scratch: Path, store: LocalStore
) -> None:
    file, copies = landed(store, 1, CONTENT), Copies(store)
    for _ in range(2):
        with copies.of([file]) as copied:
            assert Path(copied.paths[file.sequence]).read_bytes() == CONTENT
        [folder] = scratch.iterdir()
        os.utime(folder, (0, 0))
        Copies(store)
        assert folder.exists(), "another process took it for one of the dead"
        shutil.rmtree(folder)
    del copies
    assert list(scratch.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(
    scratch: Path, store: LocalStore, tmp_path: Path
) -> None:
    code = (
        "import sys, time; from pathlib import Path; from openmirror.spark.copies import Copies;"
        "from openmirror.stores.local.store import LocalStore;"
        f"copies = Copies(LocalStore(Path({str(tmp_path)!r}))); print(copies._folder, flush=True);"
        "time.sleep(600)"
    )
    environment = {**os.environ, "TMPDIR": str(scratch)}

    def started() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    (killed, left), (alive, its) = started(), started()
    try:
        killed.kill()
        killed.communicate()
        foreign = scratch / "openmirror-copies-foreign"
        foreign.symlink_to(tmp_path)
        young = Copies(store)
        assert left.exists()  # it was made just now: somebody may be about to lock it
        del young
        before = time.time() - 61
        for folder in (left, its):
            os.utime(folder, (before, before))
        copies = Copies(store)
        assert not left.exists()
        assert its.exists()
        assert foreign.is_symlink()
        with copies.of([landed(store, 1, b"x")]) as copied:
            assert len(copied.paths) == 1
    finally:
        alive.kill()
        alive.communicate()
