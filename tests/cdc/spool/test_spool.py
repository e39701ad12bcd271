"""What a spool has taken is there for good, in order, and never means anything else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from openmirror.cdc.records import RECORDS
from openmirror.cdc.spool.folder import SpoolDamaged
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.cdc.spool.writer import SpooledRecord, SpoolWriter
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.errors import RootLocked
from openmirror.protocol.streams import Offset

MOST = (1000, 1 << 30)


def record(number: int) -> SpooledRecord:
    return SpooledRecord(
        topic="t",
        key=b"%d" % number,
        value=None,
        headers=(("h", b"x"), ("none", None)),
        key_schema=f"of {number % 2}",
    )


def filled(folder: Path, *sizes: int) -> None:
    """Segments of so many records each; a record's key is its offset."""
    with SpoolWriter(folder) as writer:
        for size in sizes:
            start = writer.next
            writer.append([record(start + n) for n in range(size)], b"at %d" % (start + size))


def keys(folder: Path, start: int, records: int = 1000, size: int = 1 << 30) -> list[int]:
    table = SpoolReader(folder).read(Offset(start), records, size)
    assert table.schema == RECORDS
    found = [int(key) for key in table.column("key").to_pylist()]
    assert table.column("offset").to_pylist() == found
    return found


def test_records_are_read_from_any_offset_in_any_portion(tmp_path: Path) -> None:
    filled(tmp_path, 3, 1, 4)
    for start in range(9):
        assert keys(tmp_path, start) == list(range(start, 8))
        assert keys(tmp_path, start, records=2) == list(range(start, min(start + 2, 8)))
    assert keys(tmp_path, 0, size=1) == [0, 1, 2], "a segment at least"
    assert SpoolReader(tmp_path).ends() == (0, 8)
    first = SpoolReader(tmp_path).read(Offset(0), *MOST).to_pylist()[0]
    assert first == {
        "offset": 0,
        "topic": "t",
        "key": b"0",
        "value": None,
        "key_schema": "of 0",
        "value_schema": None,
        "headers": [{"name": "h", "value": b"x"}, {"name": "none", "value": None}],
    }


def test_an_empty_spool_has_an_identity_and_no_records(tmp_path: Path) -> None:
    filled(tmp_path / "made")
    assert keys(tmp_path / "made", 0) == []
    assert SpoolReader(tmp_path / "made").ends() == (0, 0)


def test_a_writer_goes_on_where_the_one_before_it_ended(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    identity = SpoolReader(tmp_path).identity
    with SpoolWriter(tmp_path) as writer:
        assert (writer.next, writer.source, writer.identity) == (2, b"at 2", identity)
        writer.append([], b"nothing")
        assert writer.source == b"at 2"
    filled(tmp_path, 1)
    assert keys(tmp_path, 0) == [0, 1, 2]


def test_only_one_process_writes(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path), pytest.raises(RootLocked, match="another process captures"):
        SpoolWriter(tmp_path)
    filled(tmp_path, 1)


def test_what_nobody_needs_is_deleted_but_the_end_stays_known(tmp_path: Path) -> None:
    filled(tmp_path, 3, 2, 2)
    SpoolReader(tmp_path).forget(Offset(4))
    assert SpoolReader(tmp_path).ends() == (3, 7)
    SpoolReader(tmp_path).forget(Offset(7))
    assert SpoolReader(tmp_path).ends() == (5, 7)
    with pytest.raises(EventsLost, match="holds records 5 to 6, and 4 is wanted"):
        keys(tmp_path, 4)
    filled(tmp_path, 1)
    assert keys(tmp_path, 5) == [5, 6, 7]


def test_what_lies_there_from_a_record_on_is_counted_in_bytes(tmp_path: Path) -> None:
    filled(tmp_path, 3, 2)
    reader = SpoolReader(tmp_path)
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.arrow"))]
    found = [reader.bytes_from(Offset(at)) for at in (0, 2, 3, 5)]
    assert found == [sum(sizes), sum(sizes), sizes[1], 0]


def test_records_behind_the_end_were_lost(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    with pytest.raises(EventsLost, match="and 3 is wanted"):
        keys(tmp_path, 3)


def test_a_stream_that_begins_anew_is_another_one(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    reader = SpoolReader(tmp_path)
    with SpoolWriter(tmp_path) as writer:
        before = writer.identity
        writer.begin_anew()
        assert (writer.next, writer.source) == (0, None)
        assert writer.identity != before
    with pytest.raises(StreamReplaced, match="begun anew"):
        reader.read(Offset(0), *MOST)
    assert keys(tmp_path, 0) == []


def test_a_spool_that_has_lost_all_its_segments_is_another_stream(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    before = SpoolReader(tmp_path)
    for segment in tmp_path.glob("*.arrow"):
        segment.unlink()
    filled(tmp_path, 5)
    with pytest.raises(StreamReplaced):
        before.read(Offset(2), *MOST)


def test_a_stream_that_was_being_given_up_is_given_up_at_the_next_start(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    (tmp_path / "spool.json").unlink()
    filled(tmp_path)
    assert SpoolReader(tmp_path).ends() == (0, 0)


def test_a_write_that_fails_leaves_nothing_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 2)
    with SpoolWriter(tmp_path) as writer:

        def full(file: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                writer.append([record(2)], b"at 3")
        assert writer.next == 2
        writer.append([record(2)], b"at 3")
    assert keys(tmp_path, 0) == [0, 1, 2]
    assert not list(tmp_path.glob("_0*"))


SECOND = f"{3:020d}-{5:020d}.arrow"


@pytest.mark.parametrize(
    "content", [b"", b"ARROW1", b"\0" * 5000, b"no arrow at all"], ids=["empty", "cut", "0", "text"]
)
def test_a_damaged_segment_is_named(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, 3, 2)
    (tmp_path / SECOND).write_bytes(content)
    assert keys(tmp_path, 0, records=3) == [0, 1, 2]
    with pytest.raises(SpoolDamaged, match=rf"{SECOND} is damaged .*Remove the folder"):
        keys(tmp_path, 0)
    with pytest.raises(SpoolDamaged, match=SECOND):
        SpoolWriter(tmp_path)


def test_a_segment_that_was_cut_short_is_named(tmp_path: Path) -> None:
    filled(tmp_path, 3, 2)
    whole = (tmp_path / SECOND).read_bytes()
    for length in range(0, len(whole) - 1, 97):
        (tmp_path / SECOND).write_bytes(whole[:length])
        with pytest.raises(SpoolDamaged, match=SECOND):
            keys(tmp_path, 3)


def test_a_segment_under_another_ones_name_is_named(tmp_path: Path) -> None:
    filled(tmp_path, 3, 2)
    (tmp_path / SECOND).rename(tmp_path / f"{3:020d}-{9:020d}.arrow")
    with pytest.raises(SpoolDamaged, match="does not hold the records that its name says"):
        keys(tmp_path, 3)


def test_a_hole_is_named(tmp_path: Path) -> None:
    filled(tmp_path, 3, 2, 1)
    (tmp_path / SECOND).unlink()
    with pytest.raises(SpoolDamaged, match=f"does not follow {0:020d}-{3:020d}.arrow"):
        keys(tmp_path, 0)


def test_a_listing_that_missed_a_segment_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 3, 2, 1)
    whole = list(tmp_path.iterdir())
    missed = [path for path in whole if path.name != SECOND]
    listings = iter([missed, whole])
    reader = SpoolReader(tmp_path)
    monkeypatch.setattr(Path, "iterdir", lambda folder: next(listings))
    assert reader.ends() == (0, 6)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version": 3, "identity": "x"}', b'{"version": 1}']
)
def test_an_identity_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, 1)
    (tmp_path / "spool.json").write_bytes(content)
    with pytest.raises(SpoolDamaged, match=r"spool\.json cannot be read"):
        SpoolReader(tmp_path)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "_half").write_text("theirs")
    filled(tmp_path, 1)
    assert keys(tmp_path, 0) == [0, 1]
    assert (tmp_path / "notes.txt").exists()
