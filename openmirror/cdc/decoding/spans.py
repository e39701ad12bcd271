"""Records' bytes as two texts each, a schema and a payload, just as they were written."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_BEGIN = '{"schema":'
_SEAM = ',"payload":'
_END = "}"
_SPACE = " \t\n\r"


@dataclass(frozen=True)
class Spans:
    """The keys or the values of a batch."""

    schemas: pa.DictionaryArray
    """The schema's JSON, few distinct texts; NULL where there are no bytes, or a fault."""
    payloads: pa.Array
    """The payload's JSON; NULL likewise."""
    faults: dict[int, str]
    """Why a row is not one JSON object of a schema and a payload."""


def apart(records: pa.Array, schemas: pa.DictionaryArray) -> Spans:
    """Keys or values (binary), of which some have their schema beside them."""
    within = pc.and_(pc.is_valid(records), pc.is_null(schemas))
    if not pc.any(within).as_py():
        texts, faults = _texts(records)
        sound = pa.array([_is_whole(text) for text in schemas.dictionary.to_pylist()], pa.bool_())
        known = pc.fill_null(sound.take(schemas.indices), True)
        if not pc.all(known).as_py():
            wrong = pc.indices_nonzero(pc.invert(known)).to_pylist()
            faults |= dict.fromkeys(wrong, "its schema is no JSON object")
            texts = pc.if_else(known, texts, None)
        indices = pc.if_else(pc.is_valid(texts), schemas.indices, None)
        return Spans(pa.DictionaryArray.from_arrays(indices, schemas.dictionary), texts, faults)
    if pc.all(pc.or_(within, pc.is_null(records))).as_py():
        return split(records)
    return together(
        apart(pc.if_else(within, None, records), schemas),
        split(pc.if_else(within, records, None)),
    )


def together(*spans: Spans) -> Spans:
    """Spans of the same records, of which each has others."""
    texts = [pc.dictionary_decode(one.schemas) for one in spans]
    return Spans(
        pc.coalesce(*texts).dictionary_encode(),
        pc.coalesce(*(one.payloads for one in spans)),
        {row: why for one in spans for row, why in one.faults.items()},
    )


def split(records: pa.Array) -> Spans:
    """Keys or values (binary) that have their schema within, in two.

    What the converter writes is cut without being read: the seam cannot stand inside a text, where
    its quotes would be escaped. Whatever begins or ends in another way is read exactly.
    """
    texts, faults = _texts(records)
    parts = pc.split_pattern(texts, pattern=_SEAM, max_splits=1)
    usual = pc.and_(pc.starts_with(texts, pattern=_BEGIN), pc.ends_with(texts, pattern=_END))
    usual = pc.fill_null(pc.and_(usual, pc.equal(pc.list_value_length(parts), 2)), False)
    if not pc.all(usual).as_py():  # or all of them are copied
        parts = pc.if_else(usual, parts, pa.scalar(["", _END], parts.type))
    heads = pc.list_element(parts, 0).dictionary_encode()
    distinct = heads.dictionary.to_pylist()
    sound = pa.array([_is_whole(head + _END) for head in distinct], pa.bool_())
    usual = pc.and_(usual, sound.take(heads.indices))
    tails = pc.binary_slice(pc.list_element(parts, 1).cast(pa.binary()), 0, -len(_END))
    payloads = pc.if_else(usual, tails.cast(pa.string()), None)
    unusual = pc.indices_nonzero(pc.and_(pc.is_valid(texts), pc.invert(usual))).to_pylist()
    bare = pa.array([head[len(_BEGIN) :] for head in distinct], pa.string())
    indices = pc.if_else(usual, heads.indices, None)
    if not unusual:
        return Spans(pa.DictionaryArray.from_arrays(indices, bare), payloads, faults)
    schemas = pc.dictionary_decode(pa.DictionaryArray.from_arrays(indices, bare)).to_pylist()
    exact = payloads.to_pylist()
    for row in unusual:
        try:
            schemas[row], exact[row] = _members(texts[row].as_py())
        except ValueError as error:
            faults[row] = str(error)
        except RecursionError:
            faults[row] = "it is nested too deeply"
    encoded = pa.array(schemas, pa.string()).dictionary_encode()
    return Spans(encoded, pa.array(exact, pa.string()), faults)


def _texts(records: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Bytes as text; NULL, and a fault, where they are none."""
    try:
        return records.cast(pa.string()), {}
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        faults = {}
        for row, record in enumerate(records.to_pylist()):
            try:
                texts.append(None if record is None else record.decode())
            except UnicodeDecodeError as error:
                texts.append(None)
                faults[row] = f"it is no UTF-8: {error}"
        return pa.array(texts, pa.string()), faults


def _is_whole(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _members(text: str) -> tuple[str, str]:
    """The texts of schema and payload. Raises ValueError for any other JSON, and for none."""
    members: dict[str, str] = {}
    decoder = json.JSONDecoder()
    place = _expect(text, 0, "{")
    while True:
        name, place = decoder.raw_decode(text, _beyond_space(text, place))
        begin = _beyond_space(text, _expect(text, place, ":"))
        _, place = decoder.raw_decode(text, begin)
        if name not in ("schema", "payload") or name in members:
            raise ValueError(f"it has {name!r} beside a schema and a payload")
        members[name] = text[begin:place]
        place = _beyond_space(text, place)
        if text[place : place + 1] != ",":
            break
        place += 1
    if _beyond_space(text, _expect(text, place, "}")) < len(text):
        raise ValueError("something follows after its JSON")
    if len(members) < 2:
        raise ValueError("it has no schema and payload: the converter writes JSON without schemas")
    return members["schema"], members["payload"]


def _beyond_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _expect(text: str, place: int, character: str) -> int:
    place = _beyond_space(text, place)
    if text[place : place + 1] != character:
        raise ValueError(f"it is no JSON object: {character!r} is missing at character {place}")
    return place + 1
