"""The columns before a table's own: where in its source a change stands, by each connector."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_PAIR_HEADERS = {"__debezium.newkey": "newkey", "__debezium.oldkey": "oldkey"}
_NO_COMMIT = "-1"
_POSTGRESQL = "postgresql"
_BINLOG = ("mysql", "mariadb")
CONNECTORS = (_POSTGRESQL, *_BINLOG)
"""Whose places are known, by the names that they give themselves."""
_BINLOG_FILE = r"\.(?P<number>[0-9]{1,18})\z"
_SEQUENCE = r'\A\[(?:null|"[0-9]{1,18}"),"[0-9]{1,18}"\]\z'


def pairs(headers: pa.Array) -> pa.Array:
    """Of each record's headers, which half of a changed key it is, or NULL."""
    names = pc.struct_field(headers.flatten(), "name")
    halves = pc.index_in(names, pa.array(list(_PAIR_HEADERS)))
    found = pc.is_valid(halves)
    which = pa.array(_PAIR_HEADERS.values(), pa.string()).take(halves.filter(found))
    marked = pc.list_parent_indices(headers).filter(found)
    return which.take(pc.index_in(pa.array(range(len(headers)), marked.type), marked))


def positions(of_source: Callable[[str], pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Where records of one envelope stand in their source's log, and which say it wrongly.

    `of_source` gives a field of the envelope's source. NULL where a record does not say it.
    """
    if pc.any(pc.is_in(of_source("connector"), pa.array(_BINLOG))).as_py():
        return _in_binlog(of_source("file"), of_source("pos"), of_source("row"))
    return _in_wal(of_source("sequence"), of_source("lsn"))


def _in_binlog(files: pa.Array, places: pa.Array, rows: pa.Array) -> tuple[pa.Array, pa.Array]:
    """MySQL's and MariaDB's as [number of the log's file; place in it; row of the event there]."""
    known = pc.and_(pc.is_valid(files), pc.is_valid(places))
    suffixes = pc.extract_regex(files, _BINLOG_FILE)
    sound = pc.and_(known, pc.is_valid(suffixes))
    of_file = pc.if_else(sound, pc.struct_field(suffixes, "number"), "0").cast(pa.int64())
    place, row = places.cast(pa.int64()), pc.fill_null(rows.cast(pa.int64()), 0)
    numbers = pa.concat_arrays([of_file, place, row])
    records = len(files)
    order = [at + part * records for at in range(records) for part in range(3)]
    ends = pa.array(range(0, 3 * records + 1, 3), pa.int32())
    lists = pa.ListArray.from_arrays(ends, numbers.take(pa.array(order, pa.int64())))
    found = pc.if_else(sound, lists, pa.scalar(None, lists.type))
    return found, pc.and_(known, pc.invert(sound))


def _in_wal(sequences: pa.Array, lsns: pa.Array) -> tuple[pa.Array, pa.Array]:
    """PostgreSQL's places as [LSN of the last commit before, or -1; LSN], and which are none.

    NULL for a row of an incremental snapshot, which has no place of its own. A sequence is JSON in
    JSON: `[null,"27458928"]`.
    """
    known = pc.and_(pc.is_valid(sequences), pc.is_valid(lsns))
    sound = pc.fill_null(pc.match_substring_regex(sequences, _SEQUENCE), False)
    inner = pc.if_else(pc.and_(known, sound), sequences, None)
    for text, by in (("null", _NO_COMMIT), ('"', ""), ("[", ""), ("]", "")):
        inner = pc.replace_substring(inner, pattern=text, replacement=by)
    numbers = pc.split_pattern(inner, pattern=",").cast(pa.list_(pa.int64()))
    return numbers, pc.and_(known, pc.invert(sound))
