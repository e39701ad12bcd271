"""§3.1 to §3.3: files that are found by their time, and partition folders."""

from __future__ import annotations

from typing import Any

from tests.vectors.catalogue.words import (
    ORDERS,
    Columns,
    Item,
    Vector,
    asked,
    deleted,
    expect,
    file,
    keys,
    paused,
    step,
    vector,
    waits,
)

_SEEN = "id:long v:string"
_BARE = "id:int64 v:string"
_MARKED = "m id:int64 v:string"
_TIME: dict[str, Any] = {"fileDetectionStrategy": "LastUpdateTimeFileDetection"}
_PARTS: dict[str, Any] = {"isPartitionEnabled": True}
_BOTH: dict[str, Any] = {**_TIME, **_PARTS}
_CSV: dict[str, Any] = {"FileFormat": "CSV"}
_A, _B = "Year=2024", "Year=2025"


def _at(minute: int) -> str:
    return f"2024-02-29T12:{minute:02d}:00Z"


def _named(
    name: str, minute: int | None, *rows: tuple[Any, ...], columns: Columns = _MARKED
) -> Item:
    """A change file of any name, in any folder, last written in this minute; None: just now."""
    return _as(name, minute, file(1, columns, *rows).data)


def _as(name: str, minute: int | None, data: bytes) -> Item:
    return Item(f"{ORDERS}/{name}", data, None if minute is None else _at(minute))


def _in(
    partition: str,
    number: int,
    minute: int | None,
    *rows: tuple[Any, ...],
    columns: Columns = _MARKED,
    extension: str = "parquet",
) -> Item:
    """A numbered file of a partition; of the table folder itself where that is empty."""
    name = f"{number:020d}.{extension}"
    return _named(f"{partition}/{name}" if partition else name, minute, *rows, columns=columns)


def _number(partition: str, number: int) -> str:
    return f"{partition}/{number:020d}.parquet"


def _text(name: str, minute: int, *lines: str) -> Item:
    return _as(name, minute, "".join(f"{line}\r\n" for line in ("id,v", *lines)).encode())


_WHOLE = file(1, _MARKED, (4, 9, "whole")).data


def _combined(found: str, *, partitioned: bool, upserts: bool) -> Vector:
    """One of the ways to find files, with or without partitions, and a default row marker."""
    by_time = found == "time"
    folders = (f"{_A}/Region=North/", f"{_B}/Region=South/") if partitioned else ("", "")
    # The one of which name and number come first was written last; numbers count but for time.
    names = ("b.parquet", "a.parquet") if by_time else (f"{1:020d}.parquet", f"{2:020d}.parquet")
    if partitioned and not by_time:
        names = (names[0], names[0])
    first_minute, second_minute = (10, 20) if by_time or partitioned else (20, 10)
    options = {**(_TIME if by_time else {}), **(_PARTS if partitioned else {})}
    if upserts:
        options["isUpsertDefaultRowMarker"] = True
    rows = ((1, "second"),) if upserts else ((1, "first"), (1, "second"))
    where = "in partitions" if partitioned else "in one folder"
    default = "upsert" if upserts else "insert"
    how = "time" if by_time else "number"
    sections = {
        ("sequence", False): "3.1 5.2",
        ("sequence", True): "3.2.1 3.2.2 5.2",
        ("time", False): "3.1.1 5.2",
        ("time", True): "3.1.1 3.2.5 5.2",
    }
    return vector(
        f"naming/{found}-{'partitions' if partitioned else 'one-folder'}-{default}",
        f"Files {where} that are found by their {how}, whose rows {default} without a marker",
        sections[found, partitioned],
        keys("id", **options),
        _named(folders[0] + names[0], first_minute, (1, "first"), (2, "x"), columns=_BARE),
        _named(folders[1] + names[1], second_minute, (1, "second"), columns=_BARE),
        expected=expect(_SEEN, *rows, (2, "x"), applied=2),
    )


COMBINED = [
    _combined(found, partitioned=partitioned, upserts=upserts)
    for found in ("sequence", "time")
    for partitioned in (False, True)
    for upserts in (False, True)
]

_ODD_NAMES = [
    "part-00000-0a1b2c3d-89ab-4cde-8f01-23456789abcd.c000.snappy.parquet",
    "orders of March.parquet",
    "orders [1] {2} (3).parquet",
    "Bestellungen März №7 注文 🧾.parquet",
    "100%.parquet",
    "a%20b.parquet",
    "a b.parquet",
    "a=b&c+d#e;f,g~h!i@j$k^l'm.parquet",
    "star.parquet",
    ".hidden.parquet",
    "00000000000000000000.parquet",
    "7.PARQUET",
    "x.csv.parquet",
]

BY_TIME = [
    vector(
        "naming/by-time-not-by-name",
        "What was last written first is applied first, whatever it is called",
        "3.1.1",
        keys("id", **_TIME),
        _named("a.parquet", 30, (1, 1, "last")),
        _named("b.parquet", 20, (1, 1, "between"), (1, 2, "between")),
        _named("00000000000000000001.parquet", 25, (2, 2, None)),
        _named("c.parquet", 10, (0, 1, "first")),
        expected=expect(_SEEN, (1, "last"), applied=4),
    ),
    vector(
        "naming/by-time-equal-times",
        "Equal times go by name, character by character: 10 comes before 9",
        "3.1.1",
        keys("id", **_TIME),
        *(_named(f"{name}.parquet", 10, (4, 1, name)) for name in ("9", "10", "B", "a")),
        _named("é.parquet", 9, (0, 2, "earlier")),
        _named("0.parquet", 11, (1, 2, "later")),
        expected=expect(_SEEN, (1, "a"), (2, "later"), applied=6),
    ),
    vector(
        "naming/by-time-late-file",
        "A file that comes late with an older time is applied late",
        "3.1.2",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "ten")),
            _named("b.parquet", 20, (4, 1, "twenty"), (4, 2, "twenty")),
        ),
        step(_named("c.parquet", 15, (4, 2, "fifteen"))),
        expected=expect(_SEEN, (1, "twenty"), (2, "fifteen"), applied=3),
    ),
    vector(
        "naming/by-time-any-name",
        "A file may have any name that ends as it should, in any case",
        "3.1 3.3",
        keys("id", **_TIME),
        *(_named(name, n, (4, 0, name), (4, n, name)) for n, name in enumerate(_ODD_NAMES, 1)),
        expected=expect(
            _SEEN,
            (0, _ODD_NAMES[-1]),
            *((n, name) for n, name in enumerate(_ODD_NAMES, 1)),
            applied=len(_ODD_NAMES),
        ),
        names={"star.parquet": "a*b?c\\d.parquet"},
    ),
    vector(
        "naming/by-time-other-extension",
        "What ends otherwise is no change file, and what begins with _ means nothing",
        "3.1 2.1",
        keys("id", FileFormat="Parquet", **_TIME),
        _named("a.parquet", 1, (4, 1, "a")),
        *(_as(name, 2, _WHOLE) for name in ("b.parquet.tmp", "c", "d.csv", "parquet")),
        _as("_f.parquet", 2, _WHOLE),
        _as("Year=2024/g.parquet", 2, _WHOLE),
        expected=expect(_SEEN, (1, "a"), applied=1, warnings=("FileNameInvalid", "FileNeverRead")),
    ),
    vector(
        "naming/by-time-still-written",
        "A file that is still being written holds up nobody",
        "3.1.4 3.8",
        step(
            keys("id", **_TIME),
            _as("b.parquet", None, _WHOLE[:-20]),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("c.parquet", 20, (4, 1, "c")),
        ),
        step(_named("d.parquet", 30, (4, 2, "d"))),
        expected=expect(_SEEN, (1, "c"), (2, "d"), applied=3, state=waits("incomplete")),
    ),
    vector(
        "naming/by-time-written-in-the-end",
        "Once it is whole it is applied, after what was applied before",
        "3.1.4",
        step(
            keys("id", **_TIME),
            _as("b.parquet", None, b""),
            _named("c.parquet", 20, (4, 1, "c"), (4, 9, "c")),
        ),
        step(_as("b.parquet", 10, _WHOLE)),
        expected=expect(_SEEN, (1, "c"), (9, "whole"), applied=2),
    ),
    vector(
        "naming/by-time-never-written-to-its-end",
        "Ten minutes after its last write it stops the table",
        "3.8",
        keys("id", **_TIME),
        _named("a.parquet", 10, (4, 1, "a")),
        _as("b.parquet", 20, _WHOLE[:-20]),
        _named("c.parquet", 30, (4, 1, "c")),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("FileIncomplete", "b.parquet")),
    ),
    vector(
        "naming/by-time-bad-file",
        "A bad file stops the table in front of it, by time",
        "3.1.1 3.8",
        keys("id", **_TIME),
        _named("c.parquet", 10, (4, 1, "c")),
        _as("b.parquet", 20, b"id,v\n1,b\n"),
        _named("a.parquet", 30, (4, 1, "a")),
        expected=expect(_SEEN, (1, "c"), applied=1, state=paused("FileUnreadable", "b.parquet")),
    ),
    vector(
        "naming/by-time-skipped-file",
        "A bad file that is passed over by hand holds up nothing any more",
        "3.1.1 3.8",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _as("b [1].parquet", 20, b"id,v\n1,b\n"),
            _named("c.parquet", 30, (4, 1, "c")),
        ),
        step(asked("skip", file="b [1].parquet")),
        step(_named("d.parquet", 5, (4, 1, "d"))),
        expected=expect(_SEEN, (1, "d"), applied=3),
    ),
    vector(
        "naming/by-time-mended-file",
        "A bad file is mended under its own name, and comes when its new time says",
        "3.1.1 3.6",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("b.parquet", 20, (3, 1, "b")),
            _named("c.parquet", 30, (4, 1, "c")),
        ),
        step(_named("b.parquet", 40, (1, 1, "b"))),
        expected=expect(_SEEN, (1, "b"), applied=3),
    ),
    vector(
        "naming/by-time-applied-file-overwritten",
        "A name that is used again while its file still lies there stops the table",
        "3.1.5",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("b.parquet", 20, (4, 1, "b")),
        ),
        step(_named("a.parquet", 30, (4, 1, "again")), _named("c.parquet", 40, (4, 1, "c"))),
        expected=expect(
            _SEEN, (1, "b"), applied=2, state=paused("AppliedFileChanged", "a.parquet")
        ),
    ),
    vector(
        "naming/by-time-applied-file-written-again",
        "A file that is written again with the bytes that it had is the file that was applied",
        "3.1.5 3.6",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("b.parquet", 20, (4, 1, "b")),
        ),
        step(_named("a.parquet", 30, (4, 1, "a")), _named("c.parquet", 40, (4, 2, "c"))),
        step(asked("clean"), _named("d.parquet", 50, (4, 3, "d"))),
        expected=expect(
            _SEEN, (1, "b"), (2, "c"), (3, "d"), applied=4, warnings=("FileRewritten",)
        ),
    ),
    vector(
        "naming/by-time-overwritten-file-ignored",
        "Where the mirror ignores what is written over, the table keeps what was applied",
        "3.6",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("b.parquet", 20, (4, 1, "b")),
        ),
        step(_named("a.parquet", 30, (4, 1, "again")), _named("c.parquet", 40, (4, 2, "c"))),
        expected=expect(_SEEN, (1, "b"), (2, "c"), applied=3, warnings=("OverwriteIgnored",)),
        settings={"openmirror": {"overwrittenFiles": "ignore"}},
    ),
    vector(
        "naming/by-time-name-used-before",
        "A name that lies in the archive is never read again",
        "3.1.5",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "a")),
            _named("b.parquet", 20, (4, 2, "b")),
        ),
        step(asked("clean")),
        step(_named("a.parquet", 30, (4, 1, "again")), _named("c.parquet", 40, (4, 2, "c"))),
        expected=expect(_SEEN, (1, "a"), (2, "c"), applied=3, warnings=("SequenceReused",)),
    ),
    vector(
        "naming/by-time-reseed",
        "A table that is built again has its files applied in the order of the first time",
        "3.1.2 3.3",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "ten")),
            _named("b.parquet", 20, (4, 1, "twenty")),
        ),
        step(_named("c.parquet", 5, (4, 1, "five"), (0, 3, "five"))),
        step(asked("clean"), _named("d.parquet", 1, (1, 3, "one"))),
        step(asked("reseed"), _named("e.parquet", 3, (4, 2, "three"))),
        expected=expect(_SEEN, (1, "five"), (2, "three"), (3, "one"), applied=5),
    ),
    vector(
        "naming/by-time-reseed-through",
        "A table that is built again through a file stops after it, in the order of the first time",
        "3.1.2 3.3 4.4",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "ten")),
            _named("b.parquet", 20, (4, 1, "twenty")),
        ),
        step(_named("c.parquet", 5, (4, 1, "five"), (0, 3, "five"))),
        step(asked("clean"), _named("d.parquet", 1, (1, 3, "one"))),
        step(asked("reseed", through=2), _named("e.parquet", 3, (4, 2, "three"))),
        expected=expect(_SEEN, (1, "twenty"), applied=2, state="held"),
    ),
    vector(
        "naming/by-time-reseed-through-and-resumed",
        "When it is resumed, all others follow in their order",
        "3.1.2 3.3 4.4",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 10, (4, 1, "ten")),
            _named("b.parquet", 20, (4, 1, "twenty")),
        ),
        step(_named("c.parquet", 5, (4, 1, "five"), (0, 3, "five"))),
        step(asked("clean")),
        step(asked("reseed", through=1), _named("d.parquet", 3, (4, 2, "three"))),
        step(asked("resume")),
        expected=expect(_SEEN, (1, "five"), (3, "five"), (2, "three"), applied=4),
    ),
    vector(
        "naming/by-time-new-folder",
        "In a folder that was made again every name is new",
        "3.1.5",
        step(
            keys("id", **_TIME),
            _named("a.parquet", 20, (4, 1, "a")),
            _named("b.parquet", 10, (4, 2, "b")),
        ),
        step(
            deleted(),
            keys("id", **_TIME),
            _named("a.parquet", 5, (4, 3, "new")),
            _named("b.parquet", 6, (4, 3, "newer")),
        ),
        expected=expect(_SEEN, (3, "newer"), applied=2),
    ),
    vector(
        "naming/by-time-folder-named-as-a-file",
        "A folder is not a change file, whatever it is called",
        "3.1.1 3.8",
        keys("id", **_TIME),
        _named("a.parquet", 10, (4, 1, "a")),
        _as("b.parquet/part-00000.parquet", 10, _WHOLE),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("NotAFile", "b.parquet")),
    ),
    vector(
        "naming/by-time-declared-later",
        "How files are found does not change in one incarnation of a folder",
        "4.4",
        step(keys("id"), file(1, _BARE, (1, "a"))),
        step(keys("id", **_TIME), file(2, _BARE, (2, "b"))),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("PinnedOptionChanged")),
    ),
    vector(
        "naming/by-time-undeclared-later",
        "Taking _metadata.json away changes nothing about it",
        "4.4",
        step(keys("id", **_TIME), _named("a.parquet", 20, (4, 1, "a"))),
        step(deleted(f"{ORDERS}/_metadata.json"), _named("b.parquet", 10, (4, 1, "b"))),
        expected=expect(_SEEN, (1, "b"), applied=2),
    ),
]

PARTITIONS = [
    vector(
        "naming/partitions-each-with-its-sequence",
        "Each partition counts from 1, and the oldest file that is next comes first",
        "3.2.1 3.2.2",
        keys("id", **_PARTS),
        _in(_A, 1, 30, (4, 1, "thirty"), (4, 2, "thirty")),
        # Older than its predecessor, and later nevertheless.
        _in(_A, 2, 5, (4, 1, "five")),
        _in(_B, 1, 10, (4, 1, "ten"), (4, 2, "ten")),
        _in(_B, 2, 40, (4, 2, "forty")),
        expected=expect(_SEEN, (1, "five"), (2, "forty"), applied=4),
    ),
    vector(
        "naming/partitions-a-key-that-moves",
        "A key that moves to another partition is deleted and inserted in the order of time",
        "3.2.2",
        keys("id", **_PARTS),
        _in(_A, 1, 10, (0, 1, "here")),
        _in(_A, 2, 20, (2, 1, None)),
        _in(_B, 1, 21, (0, 1, "there")),
        _in(_B, 2, 30, (2, 1, None)),
        _in(_A, 3, 31, (0, 1, "back")),
        expected=expect(_SEEN, (1, "back"), applied=5),
    ),
    vector(
        "naming/partitions-equal-times",
        "At equal times partitions go by name; each one's numbers still count",
        "3.2.1 3.2.2",
        keys("id", **_PARTS),
        *(_in("b=1", n, 10, (4, 1, f"b{n}"), (4, n + 1, "b")) for n in (1, 2)),
        *(_in("a=1", n, 10, (4, 1, f"a{n}"), (4, n + 1, "a")) for n in (1, 2)),
        _in("", 1, 10, (4, 1, "root"), (0, 4, "root")),
        expected=expect(_SEEN, (1, "b2"), (2, "b"), (3, "b"), (4, "root"), applied=5),
    ),
    vector(
        "naming/partitions-as-deep-as-you-like",
        "Partitions lie in partitions, and files on every level",
        "3.2 3.2.1",
        keys("id", **_PARTS),
        _in("", 1, 1, (4, 1, "root")),
        _in("Year=2024", 1, 2, (4, 2, "year")),
        _in("Year=2024/Month=2", 1, 3, (4, 3, "month")),
        _in("Year=2024/Month=2/Day=29", 1, 4, (4, 4, "day")),
        _in("Year=2024/Month=2/Day=29", 2, 5, (4, 4, "again")),
        _in("", 2, 6, (4, 1, "root again")),
        expected=expect(
            _SEEN, (1, "root again"), (2, "year"), (3, "month"), (4, "again"), applied=6
        ),
    ),
    vector(
        "naming/partitions-of-any-value",
        "Values are written as publishers write them, and never read",
        "3.2 3.2.3",
        keys("id", **_PARTS),
        _in("Region=", 1, 1, (4, 1, "none")),
        _in("Region=__HIVE_DEFAULT_PARTITION__", 1, 2, (4, 2, "hive")),
        _in("Region=Côte d'Ivoire", 1, 3, (4, 3, "blanks")),
        _in("at=2024-02-29 12%3A00%3A00", 1, 4, (4, 4, "percent")),
        _in("at=2024-02-29 12%3A00%3A00/x=a=b", 1, 5, (4, 5, "twice")),
        _in("名=値 [1]{2}", 1, 6, (4, 6, "any script")),
        _in("d=2024.02.29", 1, 7, (4, 7, "dots")),
        _in("star=1", 1, 8, (4, 8, "star")),
        expected=expect(
            _SEEN,
            (1, "none"),
            (2, "hive"),
            (3, "blanks"),
            (4, "percent"),
            (5, "twice"),
            (6, "any script"),
            (7, "dots"),
            (8, "star"),
            applied=8,
        ),
        names={"star=1": "star=*?\\"},
    ),
    vector(
        "naming/partitions-key-is-no-column",
        "A partition's key does not become a column, and a column of that name is the files' own",
        "3.2.3",
        keys("id", **_PARTS),
        _in("Year=2024", 1, 1, (4, 1, "a")),
        _in("Region=North", 1, 2, (4, 2, "south"), columns="m id:int64 Region:string"),
        _in("Region=South", 1, 3, (4, 3, None), columns="m id:int64 region:string"),
        expected=expect(
            "id:long v:string Region:string",
            (1, "a", None),
            (2, None, "south"),
            (3, None, None),
            applied=3,
        ),
    ),
    vector(
        "naming/partitions-gap-in-one",
        "A number that is missing in one partition holds up that one alone",
        "3.2.1 3.4",
        step(
            keys("id", **_PARTS),
            _in(_A, 1, 10, (4, 1, "a1")),
            _in(_A, 3, 11, (4, 1, "a3")),
            _in(_A, 4, 12, (4, 2, "a4")),
            _in(_B, 1, 20, (4, 3, "b1")),
            _in("", 1, 30, (4, 4, "root")),
        ),
        step(_in(_B, 2, 40, (4, 3, "b2"))),
        expected=expect(
            _SEEN,
            (1, "a1"),
            (3, "b2"),
            (4, "root"),
            applied=4,
            state=waits("gap", 2, _A),
        ),
    ),
    vector(
        "naming/partitions-gaps-in-several",
        "Of several gaps status names the one that files have waited at for longest",
        "3.2.1",
        keys("id", **_PARTS),
        _in(_A, 3, 20, (4, 1, "a3")),
        _in(_B, 1, 20, (4, 2, "b1")),
        _in(_B, 5, 10, (4, 2, "b5")),
        _in("", 2, 15, (4, 3, "root")),
        expected=expect(_SEEN, (2, "b1"), applied=1, state=waits("gap", 2, _B)),
    ),
    vector(
        "naming/partitions-gap-that-is-filled",
        "A file that comes late is applied in its place, after what others were given meanwhile",
        "3.2.1 3.2.2",
        step(
            keys("id", **_PARTS),
            _in(_A, 2, 10, (4, 1, "a2")),
            _in(_B, 1, 20, (4, 1, "b1"), (4, 2, "b1")),
        ),
        step(_in(_A, 1, 5, (4, 1, "a1"), (4, 2, "a1"))),
        expected=expect(_SEEN, (1, "a2"), (2, "a1"), applied=3),
    ),
    vector(
        "naming/partitions-gap-that-is-given-up",
        "An operator gives up numbers of one partition, and those of others still count",
        "3.2.1 3.4",
        step(
            keys("id", **_PARTS),
            _in(_A, 2, 10, (4, 1, "a2")),
            _in(_A, 5, 15, (4, 1, "a5")),
            _in(_B, 2, 20, (4, 2, "b2")),
        ),
        step(asked("skip", through=f"{_A}/4")),
        expected=expect(_SEEN, (1, "a5"), applied=2, state=waits("gap", 1, _B)),
    ),
    vector(
        "naming/partitions-gap-beside-them",
        "So it is with the files that lie in no partition",
        "3.2.1 3.4",
        step(
            keys("id", **_PARTS),
            _in("", 3, 10, (4, 1, "root")),
            _in(_B, 2, 20, (4, 2, "b2")),
        ),
        step(asked("skip", through="/2")),
        expected=expect(_SEEN, (1, "root"), applied=1, state=waits("gap", 1, _B)),
    ),
    vector(
        "naming/partitions-still-written",
        "A file that is still being written holds up its partition alone",
        "3.2.1 3.8",
        step(
            keys("id", **_PARTS),
            _in(_A, 1, 10, (4, 1, "a1")),
            _as(_number(_A, 2), None, _WHOLE[:100]),
            _in(_A, 3, 5, (4, 1, "a3")),
            _in(_B, 1, 30, (4, 2, "b1")),
        ),
        step(_in(_B, 2, 40, (4, 2, "b2"))),
        expected=expect(_SEEN, (1, "a1"), (2, "b2"), applied=3, state=waits("incomplete", 2, _A)),
    ),
    vector(
        "naming/partitions-written-in-the-end",
        "Once it is whole its partition goes on",
        "3.2.1 3.8",
        step(
            keys("id", **_PARTS),
            _as(_number(_A, 1), None, b""),
            _in(_A, 2, 5, (4, 9, "a2")),
            _in(_B, 1, 30, (4, 9, "b1")),
        ),
        step(_as(_number(_A, 1), 50, _WHOLE)),
        expected=expect(_SEEN, (9, "a2"), applied=3),
    ),
    vector(
        "naming/partitions-bad-file",
        "A bad file in one partition stops the table, since keys may move between them",
        "3.2.1 3.8",
        keys("id", **_PARTS),
        _in(_A, 1, 10, (4, 1, "a1")),
        _in(_A, 2, 20, (3, 1, "bad")),
        _in(_B, 1, 15, (4, 2, "b1")),
        _in(_B, 2, 30, (4, 2, "b2")),
        expected=expect(
            _SEEN,
            (1, "a1"),
            (2, "b1"),
            applied=2,
            state=paused("RowMarkerInvalid", _number(_A, 2)),
        ),
    ),
    vector(
        "naming/partitions-skipped-file",
        "A bad file that is passed over leaves no gap in its partition",
        "3.2.1 3.8",
        step(
            keys("id", **_PARTS),
            _in(_A, 1, 10, (4, 1, "a1")),
            _as(_number(_A, 2), 20, b"id,v\n1,b\n"),
            _in(_A, 3, 30, (4, 1, "a3")),
            _in(_B, 1, 40, (4, 2, "b1")),
        ),
        step(asked("skip", file=_number(_A, 2))),
        step(_in(_A, 4, 50, (4, 3, "a4"))),
        expected=expect(_SEEN, (1, "a3"), (2, "b1"), (3, "a4"), applied=4),
    ),
    vector(
        "naming/partitions-number-used-before",
        "A number that a partition has used is never read again there",
        "3.2.1 3.2.4",
        step(
            keys("id", **_PARTS),
            *(_in(_A, n, n, (4, 1, f"a{n}")) for n in (1, 2, 3)),
            _in(_B, 1, 4, (4, 2, "b1")),
        ),
        # The newest of each partition stays: 3 of one, 1 of the other.
        step(asked("clean")),
        step(
            _in(_A, 2, 30, (4, 1, "again")),
            _in(_A, 4, 31, (4, 3, "a4")),
            _in(_B, 2, 32, (4, 2, "b2")),
        ),
        expected=expect(
            _SEEN,
            (1, "a3"),
            (2, "b2"),
            (3, "a4"),
            applied=6,
            warnings=("SequenceReused",),
        ),
    ),
    vector(
        "naming/partitions-overwritten",
        "An applied file of a partition that is overwritten stops the table",
        "3.2.1",
        step(keys("id", **_PARTS), *(_in(p, 1, 1, (4, 1, p)) for p in (_A, _B))),
        step(_in(_A, 1, 30, (4, 1, "again")), _in(_B, 2, 31, (4, 1, "b2"))),
        expected=expect(
            _SEEN, (1, _B), applied=2, state=paused("AppliedFileChanged", _number(_A, 1))
        ),
    ),
    vector(
        "naming/partitions-reseed",
        "Built again, partitions are applied in the order of the first time",
        "3.2.2 3.3",
        step(
            keys("id", **_PARTS),
            _in(_A, 1, 20, (4, 1, "a1")),
            _in(_A, 2, 30, (4, 1, "a2")),
        ),
        step(_in(_B, 1, 10, (4, 1, "b1"), (0, 2, "b1"))),
        step(asked("clean"), _in(_B, 2, 5, (1, 2, "b2"))),
        step(asked("reseed"), _in(_A, 3, 1, (4, 3, "a3"))),
        expected=expect(_SEEN, (1, "b1"), (2, "b2"), (3, "a3"), applied=5),
    ),
    vector(
        "naming/partitions-and-other-folders",
        "Folders that are not called Key=Value mean nothing, and neither does what lies in them",
        "3.2.4 2.1",
        keys("id", **_PARTS),
        _in(_A, 1, 1, (4, 1, "a1")),
        *(
            _as(f"{folder}/{1:020d}.parquet", 1, _WHOLE)
            for folder in ("Year", "2024", "=2024", "_Year=2024", "Year=2024/North", "_tmp/Year=1")
        ),
        _as(f"{_A}/part-0001.parquet", 1, _WHOLE),
        _as(f"{_A}/_{2:020d}.parquet", 1, _WHOLE),
        expected=expect(_SEEN, (1, "a1"), applied=1, warnings=("FileNeverRead",)),
    ),
    vector(
        "naming/partitions-not-declared",
        "Without isPartitionEnabled such folders mean nothing",
        "3.2",
        keys("id"),
        _in("", 1, 1, (4, 1, "root")),
        _in(_A, 1, 1, (4, 2, "a1")),
        expected=expect(_SEEN, (1, "root"), applied=1, warnings=("FileNeverRead",)),
    ),
    vector(
        "naming/partitions-declared-later",
        "Partitions are asked for at the beginning, or never",
        "4.4",
        step(keys("id"), _in("", 1, 1, (4, 1, "root"))),
        step(keys("id", **_PARTS), _in(_A, 1, 1, (4, 2, "a1"))),
        expected=expect(
            _SEEN,
            (1, "root"),
            applied=1,
            state=paused("PinnedOptionChanged"),
            warnings=("FileNeverRead",),
        ),
    ),
    vector(
        "naming/partitions-new-folder",
        "In a folder that was made again each partition begins at 1 again",
        "3.2.1",
        step(keys("id", **_PARTS), *(_in(_A, n, n, (4, n, "old")) for n in (1, 2))),
        step(
            deleted(),
            keys("id", **_PARTS),
            _in(_A, 1, 20, (4, 5, "a1")),
            _in(_B, 1, 10, (4, 5, "b1")),
        ),
        expected=expect(_SEEN, (5, "a1"), applied=2),
    ),
    vector(
        "naming/partitions-folder-named-as-a-file",
        "A folder in a partition that is called as a change file is not one",
        "3.2.1 3.8",
        keys("id", **_PARTS),
        _in(_A, 1, 1, (4, 1, "a1")),
        _as(f"{_number(_A, 2)}/part-0.parquet", 2, _WHOLE),
        expected=expect(_SEEN, (1, "a1"), applied=1, state=paused("NotAFile", _number(_A, 2))),
    ),
    vector(
        "naming/partitions-columns-that-grow",
        "Files of all partitions make one schema",
        "3.2.2 6.2 6.3",
        keys("id", **_PARTS),
        _in(_A, 1, 1, (4, 1, 1), columns="m id:int32 n:int16"),
        _in(_B, 1, 2, (4, 2**40, 2, "x"), columns="m id:int64 n:int32 v:string"),
        _in(_A, 2, 3, (4, 1, 3), columns="m id:int32 n:int16"),
        expected=expect("id:long n:integer v:string", (1, 3, None), (2**40, 2, "x"), applied=3),
    ),
]

BOTH = [
    vector(
        "naming/both-are-only-places",
        "Found by their time, files of all partitions make one order, without any gap",
        "3.2.5 3.1.1 3.1.3",
        keys("id", **_BOTH),
        _in(_A, 7, 10, (4, 1, "ten"), (4, 2, "ten")),
        _named(f"{_B}/x.parquet", 20, (4, 1, "twenty"), (4, 2, "twenty")),
        _in(_A, 2, 30, (4, 1, "thirty")),
        _named("root.parquet", 40, (4, 3, "root")),
        expected=expect(_SEEN, (1, "thirty"), (2, "twenty"), (3, "root"), applied=4),
    ),
    vector(
        "naming/both-same-name-twice",
        "The same name in two partitions makes two files; equal times go by folder and name",
        "3.2.5 3.1.5",
        keys("id", **_BOTH),
        *(_named(f"{folder}/x.parquet", 10, (4, 1, folder)) for folder in (_B, _A)),
        _named("x.parquet", 10, (4, 1, "root"), (4, 2, "root")),
        expected=expect(_SEEN, (1, "root"), (2, "root"), applied=3),
    ),
    vector(
        "naming/both-still-written",
        "A file that is still being written holds up not even its partition",
        "3.2.5 3.1.4",
        keys("id", **_BOTH),
        _as(f"{_A}/a.parquet", None, _WHOLE[:50]),
        _named(f"{_A}/b.parquet", 10, (4, 1, "b")),
        _named(f"{_B}/c.parquet", 20, (4, 2, "c")),
        expected=expect(_SEEN, (1, "b"), (2, "c"), applied=2, state=waits("incomplete")),
    ),
    vector(
        "naming/both-late-and-again",
        "Late files, names of the archive and a rebuild, in partitions",
        "3.2.5 3.1.2 3.1.5",
        step(
            keys("id", **_BOTH),
            _named(f"{_A}/a.parquet", 10, (4, 1, "a")),
            _named(f"{_A}/b.parquet", 20, (4, 1, "b")),
        ),
        step(_named(f"{_B}/a.parquet", 5, (4, 1, "late"))),
        step(asked("clean")),
        step(_named(f"{_A}/a.parquet", 30, (4, 1, "again")), asked("reseed")),
        expected=expect(_SEEN, (1, "late"), applied=3, warnings=("SequenceReused",)),
    ),
]

TEXT = [
    vector(
        "naming/text-by-time",
        "Delimited text is found by its time as well",
        "3.1.1 4.6",
        keys("id", **_TIME, **_CSV, isUpsertDefaultRowMarker=True),
        _text("b.csv", 10, "1,first", "2,x"),
        _text("a.CSV", 20, "1,second"),
        _text("c.parquet", 30, "1,third"),
        expected=expect(
            "id:string v:string",
            ("1", "second"),
            ("2", "x"),
            applied=2,
            warnings=("FileNeverRead",),
        ),
    ),
    vector(
        "naming/text-in-partitions",
        "Delimited text in partitions, with an extension of its own",
        "3.2.1 4.6",
        keys("id", **_PARTS, **_CSV, FileExtension=".txt", isUpsertDefaultRowMarker=True),
        _text(f"{_A}/{1:020d}.txt", 20, "1,a1"),
        _text(f"{_A}/{2:020d}.txt", 5, "1,a2", "2,a2"),
        _text(f"{_B}/{1:020d}.txt", 10, "1,b1"),
        _text(f"{_B}/{3:020d}.txt", 11, "1,b3"),
        expected=expect(
            "id:string v:string",
            ("1", "a2"),
            ("2", "a2"),
            applied=3,
            state=waits("gap", 2, _B),
        ),
    ),
    vector(
        "naming/text-both",
        "Delimited text in partitions, found by its time",
        "3.2.5 4.6",
        keys("id", **_BOTH, **_CSV, isUpsertDefaultRowMarker=True),
        _text(f"{_A}/x y.csv", 20, "1,second"),
        _text(f"{_B}/[x].csv", 10, "1,first"),
        expected=expect("id:string v:string", ("1", "second"), applied=2),
    ),
]

CASES = [*COMBINED, *BY_TIME, *PARTITIONS, *BOTH, *TEXT]
