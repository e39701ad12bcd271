"""The columns before a table's own: where in its source a change stands, by each connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

NO_SNAPSHOT = "false"
_PAIR_HEADERS = {"__debezium.newkey": "newkey", "__debezium.oldkey": "oldkey"}
_NO_COMMIT = "-1"
_BINLOG_FILE = r"\.(?P<number>[0-9]{1,18})\z"
_SEQUENCE = r'\A\[(?:null|"[0-9]{1,18}"),"[0-9]{1,18}"\]\z'
_LSN = r"\A[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}\z"
_SCN = r"\A[0-9]{1,18}\z"
_NUMBERS = pa.list_(pa.int64())

OfSource = Callable[[str], pa.Array]
"""Gives a field of the envelope's source, by its name; NULL where a record does not have it."""


@dataclass(frozen=True)
class Places:
    """Where changes stand in their source's log, as `CONTROL` has it."""

    position: pa.Array
    """NULL where a record does not say it."""
    within: pa.Array
    malformed: pa.Array
    """Which records say a place that is none."""


def pairs(headers: pa.Array) -> pa.Array:
    """Of each record's headers, which half of a changed key it is, or NULL."""
    names = pc.struct_field(headers.flatten(), "name")
    halves = pc.index_in(names, pa.array(list(_PAIR_HEADERS)))
    found = pc.is_valid(halves)
    which = pa.array(_PAIR_HEADERS.values(), pa.string()).take(halves.filter(found))
    marked = pc.list_parent_indices(headers).filter(found)
    return which.take(pc.index_in(pa.array(range(len(headers)), marked.type), marked))


def places(of_source: OfSource) -> Places:
    """Where records of one envelope, all of one connector, stand in their source's log."""
    connectors = of_source("connector")
    name = next((name for name in pc.unique(connectors).to_pylist() if name in _WHERE), None)
    if name is None:
        return _alone(pa.nulls(len(connectors), _NUMBERS), pc.is_null(connectors))
    found = _WHERE[name](of_source)
    others = pc.fill_null(pc.not_equal(connectors, name), True)
    return replace(found, malformed=pc.or_(found.malformed, others))


def _in_binlog(of_source: OfSource) -> Places:
    """MySQL's and MariaDB's."""
    files, at, rows = (of_source(name) for name in ("file", "pos", "row"))
    known = pc.and_(pc.is_valid(files), pc.is_valid(at))
    suffixes = pc.extract_regex(files, _BINLOG_FILE)
    sound = pc.and_(known, pc.is_valid(suffixes))
    of_file = pc.if_else(sound, pc.struct_field(suffixes, "number"), "0").cast(pa.int64())
    row = pc.fill_null(rows.cast(pa.int64()), 0)
    position = _lists([of_file, at.cast(pa.int64()), row], sound)
    return _alone(position, pc.and_(known, pc.invert(sound)))


def _in_wal(of_source: OfSource) -> Places:
    """PostgreSQL's; NULL for a row of an incremental snapshot, which has no place of its own.

    A sequence is JSON in JSON: `[null,"27458928"]`.
    """
    sequences, lsns = of_source("sequence"), of_source("lsn")
    known = pc.and_(pc.is_valid(sequences), pc.is_valid(lsns))
    sound = pc.fill_null(pc.match_substring_regex(sequences, _SEQUENCE), False)
    inner = pc.if_else(pc.and_(known, sound), sequences, None)
    for text, by in (("null", _NO_COMMIT), ('"', ""), ("[", ""), ("]", "")):
        inner = pc.replace_substring(inner, pattern=text, replacement=by)
    position = pc.split_pattern(inner, pattern=",").cast(_NUMBERS)
    return _alone(position, pc.and_(known, pc.invert(sound)))


def _by_lsn(of_source: OfSource) -> Places:
    """SQL Server's; a row of a snapshot has a commit alone."""
    commits, changes = of_source("commit_lsn"), of_source("change_lsn")
    serials = of_source("event_serial_no").cast(pa.int64())
    commit, change = _lsn_parts(commits), _lsn_parts(changes)
    is_change = pc.and_(pc.is_valid(change[0]), pc.is_valid(serials))
    is_known = pc.and_(pc.is_valid(commit[0]), pc.or_(is_change, is_of_snapshot(of_source)))
    malformed = pc.or_(
        pc.and_(pc.is_valid(commits), pc.is_null(commit[0])),
        pc.and_(pc.is_valid(changes), pc.is_null(change[0])),
    )
    return Places(_lists(commit, is_known), _lists([*change, serials], is_change), malformed)


def _by_scn(of_source: OfSource) -> Places:
    """Oracle's, as its connector has them by LogMiner; a row of a snapshot has that one's SCN."""
    of_snapshot = is_of_snapshot(of_source)
    scns = pc.if_else(of_snapshot, of_source("scn"), of_source("commit_scn"))
    sound = pc.fill_null(pc.match_substring_regex(scns, _SCN), False)
    scn = pc.if_else(sound, scns, None).cast(pa.int64())
    numbers = of_source("txSeq").cast(pa.int64())
    is_change = pc.and_(pc.is_valid(numbers), pc.is_valid(of_source("txId")))
    is_known = pc.and_(sound, pc.or_(is_change, of_snapshot))
    malformed = pc.and_(pc.is_valid(scns), pc.invert(sound))
    return Places(_lists([scn], is_known), _lists([numbers], is_change), malformed)


_WHERE: dict[str, Callable[[OfSource], Places]] = {
    "postgresql": _in_wal,
    "mysql": _in_binlog,
    "mariadb": _in_binlog,
    "sqlserver": _by_lsn,
    "oracle": _by_scn,
}
CONNECTORS = tuple(_WHERE)
"""Whose places are known, by the names that they give themselves."""


def is_of_snapshot(of_source: OfSource) -> pa.Array:
    """Which records are rows of a snapshot."""
    return pc.not_equal(pc.fill_null(of_source("snapshot"), NO_SNAPSHOT), NO_SNAPSHOT)


def _lsn_parts(texts: pa.Array) -> list[pa.Array]:
    """The three numbers of each LSN (`00000027:00000758:0003`); NULL for what is none."""
    sound = pc.if_else(pc.match_substring_regex(texts, _LSN), texts, None).dictionary_encode()
    distinct = [
        [int(part, 16) for part in text.split(":")] for text in sound.dictionary.to_pylist()
    ]
    return [
        pa.array([parts[at] for parts in distinct], pa.int64()).take(sound.indices)
        for at in range(3)
    ]


def _lists(parts: Sequence[pa.Array], where: pa.Array) -> pa.Array:
    """Rows of so many numbers; NULL elsewhere."""
    rows = len(where)
    numbers = pa.concat_arrays(parts)
    order = [at + part * rows for at in range(rows) for part in range(len(parts))]
    ends = pa.array(range(0, len(parts) * rows + 1, len(parts)), pa.int32())
    lists = pa.ListArray.from_arrays(ends, numbers.take(pa.array(order, pa.int64())))
    return pc.if_else(where, lists, pa.scalar(None, lists.type))


def _alone(position: pa.Array, malformed: pa.Array) -> Places:
    """Places that need no other number to differ from each other."""
    return Places(position, pa.nulls(len(position), _NUMBERS), malformed)
