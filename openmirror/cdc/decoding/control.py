"""The columns before a table's own: where in its source a change stands."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_PAIR_HEADERS = {"__debezium.newkey": "newkey", "__debezium.oldkey": "oldkey"}
_NO_COMMIT = "-1"
_SEQUENCE = r'\A\[(?:null|"[0-9]{1,18}"),"[0-9]{1,18}"\]\z'


def pairs(headers: pa.Array) -> pa.Array:
    """Of each record's headers, which half of a changed key it is, or NULL."""
    names = pc.struct_field(headers.flatten(), "name")
    halves = pc.index_in(names, pa.array(list(_PAIR_HEADERS)))
    found = pc.is_valid(halves)
    which = pa.array(_PAIR_HEADERS.values(), pa.string()).take(halves.filter(found))
    marked = pc.list_parent_indices(headers).filter(found)
    return which.take(pc.index_in(pa.array(range(len(headers)), marked.type), marked))


def positions(sequences: pa.Array, lsns: pa.Array) -> tuple[pa.Array, pa.Array]:
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
