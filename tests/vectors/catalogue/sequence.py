"""§3: which files are change files, and in which order they count."""

from __future__ import annotations

from tests.vectors.catalogue.words import (
    Vector,
    expect,
    file,
    keys,
    meta,
    paused,
    raw,
    step,
    vector,
    waits,
)

_ID = "id:int64"
_SEEN = "id:long"
_SECOND = "00000000000000000002.parquet"
_WHOLE = file(2, _ID, (2,)).data


def _bad_second(name: str, title: str, state: object, *second: object) -> Vector:
    """A good first file, something under the second number, a good third file."""
    return vector(
        name,
        title,
        "3.8",
        file(1, _ID, (1,)),
        *second,  # type: ignore[arg-type]
        file(3, _ID, (3,)),
        expected=expect(_SEEN, (1,), applied=1, state=state),
    )


CASES = [
    vector(
        "sequence/order-is-by-number",
        "File 10 comes after file 9, and each change after the one before",
        "3.1 3.5",
        keys("id"),
        *(file(n, "m id:int64 v:int64", (4, 1, n), (4, n, n)) for n in range(1, 11)),
        expected=expect("id:long v:long", (1, 10), *((n, n) for n in range(2, 11)), applied=10),
    ),
    vector(
        "sequence/order-within-a-file",
        "Rows of a file count in row order",
        "3.5 5.3",
        keys("id"),
        file(1, "m id:int64 v:string", (0, 1, "a"), (2, 1, None), (0, 1, "b"), (1, 1, "c")),
        expected=expect("id:long v:string", (1, "c"), applied=1),
    ),
    vector(
        "sequence/gap-at-the-start",
        "Without file 1 nothing is applied",
        "3.4",
        file(2, _ID, (2,)),
        expected=expect(applied=0, state=waits("gap", 1)),
    ),
    vector(
        "sequence/gap-in-the-middle",
        "What comes after a missing number waits for it",
        "3.4",
        file(1, _ID, (1,)),
        file(2, _ID, (2,)),
        file(4, _ID, (4,)),
        file(5, _ID, (5,)),
        expected=expect(_SEEN, (1,), (2,), applied=2, state=waits("gap", 3)),
    ),
    vector(
        "sequence/gap-that-is-filled",
        "A file that comes late is applied in its place",
        "3.4 3.1",
        step(
            keys("id"),
            file(1, "m id:int64 v:string", (4, 1, "one")),
            file(3, "m id:int64 v:string", (4, 1, "three")),
        ),
        step(file(2, "m id:int64 v:string", (4, 1, "two"), (4, 2, "two"))),
        expected=expect("id:long v:string", (1, "three"), (2, "two"), applied=3),
    ),
    vector(
        "sequence/extension-in-any-case",
        "The extension counts in any case",
        "3.3",
        file(1, _ID, (1,), extension="PARQUET"),
        file(2, _ID, (2,), extension="Parquet"),
        expected=expect(_SEEN, (1,), (2,), applied=2),
    ),
    vector(
        "sequence/names-that-are-no-change-files",
        "Names that do not follow the rule are passed over, with a warning",
        "3 3.3",
        meta({"FileFormat": "Parquet"}),
        file(1, _ID, (1,)),
        raw("2.parquet", _WHOLE),
        raw("0000000000000000002.parquet", _WHOLE),
        raw("000000000000000000002.parquet", _WHOLE),
        raw("00000000000000000000.parquet", _WHOLE),
        raw("00000000000000000002.csv", b"id\n2\n"),
        raw("00000000000000000002.snappy.parquet", _WHOLE),
        raw("00000000000000000002", _WHOLE),
        raw("part-0002.parquet", _WHOLE),
        raw("00000000000000000002.parquet.tmp", _WHOLE),
        expected=expect(_SEEN, (1,), applied=1, warnings=("FileNameInvalid", "FileNeverRead")),
    ),
    vector(
        "sequence/above-the-last",
        "2^63-1 is no sequence",
        "3.2",
        file(1, _ID, (1,)),
        file(2**63 - 1, _ID, (2,)),
        file(10**20 - 1, _ID, (3,)),
        expected=expect(_SEEN, (1,), applied=1, warnings=("FileNeverRead",)),
    ),
    vector(
        "sequence/the-last",
        "2^63-2 is one, and waits for all that is missing before it",
        "3.2 3.4",
        file(1, _ID, (1,)),
        file(2**63 - 2, _ID, (2,)),
        expected=expect(_SEEN, (1,), applied=1, state=waits("gap", 2)),
    ),
    vector(
        "sequence/replaced-before-it-was-applied",
        "A bad file is mended under the same name, and the table goes on",
        "3.6 5.1",
        step(
            keys("id"),
            file(1, "m id:int64 v:string", (0, 1, "a")),
            file(2, "m id:int64 v:string", (3, 1, "b")),
        ),
        step(file(2, "m id:int64 v:string", (1, 1, "b"), (0, 2, "c"))),
        expected=expect("id:long v:string", (1, "b"), (2, "c"), applied=2),
    ),
    vector(
        "sequence/published-by-rename",
        "A file counts from when it has its final name",
        "3.7",
        step(file(1, _ID, (1,)), raw(f"_{_SECOND}", _WHOLE)),
        step(raw(_SECOND, _WHOLE)),
        expected=expect(_SEEN, (1,), (2,), applied=2),
    ),
    _bad_second(
        "sequence/empty-file",
        "A file of no bytes is one that is still being written",
        waits("incomplete", 2),
        raw(_SECOND, b""),
    ),
    _bad_second(
        "sequence/without-a-footer",
        "So is a file that has no footer yet",
        waits("incomplete", 2),
        raw(_SECOND, _WHOLE[:-40]),
    ),
    vector(
        "sequence/upload-that-ends",
        "A file that was incomplete is read once it is complete",
        "3.8",
        step(file(1, _ID, (1,)), raw(_SECOND, _WHOLE[:100])),
        step(raw(_SECOND, _WHOLE)),
        expected=expect(_SEEN, (1,), (2,), applied=2),
    ),
    _bad_second(
        "sequence/text-named-parquet",
        "Other first bytes cannot become Parquet by growing",
        paused("FileUnreadable", 2),
        raw(_SECOND, b"id,city\n1,Oslo\n"),
    ),
    _bad_second(
        "sequence/encrypted",
        "Encrypted Parquet cannot be read",
        paused("FileUnreadable", 2),
        raw(_SECOND, b"PARE" + _WHOLE[4:-4] + b"PARE"),
    ),
    _bad_second(
        "sequence/footer-longer-than-the-file",
        "A footer that claims more bytes than there are is no footer",
        paused("FileUnreadable", 2),
        raw(_SECOND, _WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1"),
    ),
    _bad_second(
        "sequence/footer-that-does-not-parse",
        "Nor is one that is not what it should be",
        paused("FileUnreadable", 2),
        raw(_SECOND, b"PAR1" + b"\xff" * 64 + (64).to_bytes(4, "little") + b"PAR1"),
    ),
    _bad_second(
        "sequence/folder-named-as-a-file",
        "A folder is not a change file, whatever lies in it",
        paused("NotAFile", 2),
        raw("part-00000.parquet", _WHOLE, folder=f"Orders/{_SECOND}"),
    ),
]
