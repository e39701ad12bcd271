"""Keys of `_metadata.json` that mean nothing, and resemble one that does (PROTOCOL §4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from openmirror.protocol.json_text import JsonValue
from openmirror.protocol.names import fold_case

_TABLE = (
    "keyColumns",
    "isUpsertDefaultRowMarker",
    "fileDetectionStrategy",
    "isPartitionEnabled",
    "ConditionalUpdateColumn",
    "FileFormat",
    "FileExtension",
    "FileFormatTypeProperties",
    "SchemaDefinition",
)
_FORMAT = (
    "FirstRowAsHeader",
    "RowSeparator",
    "ColumnSeparator",
    "QuoteCharacter",
    "EscapeCharacter",
    "NullValue",
    "Encoding",
)
_SCHEMA = ("Columns",)
_COLUMN = ("Name", "DataType", "IsNullable")
_PLACES = {**dict.fromkeys(_TABLE, ""), **dict.fromkeys(_FORMAT, "FileFormatTypeProperties")}
"""Keys that are looked for at the top as well, each with the object that it belongs into."""
_ALIKE = 0.75
"""How alike two keys are, of 1, for one to be a slip of the other."""


def misspelt(document: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What is close to a key that is known, and none: a sentence each. Other keys are ignored."""
    return tuple(_misspelt(document))


def _misspelt(document: Mapping[str, JsonValue]) -> Iterator[str]:
    yield from _slips(document, "", (*_TABLE, *_FORMAT))
    properties = _field(document, "FileFormatTypeProperties")
    if isinstance(properties, Mapping):
        yield from _slips(properties, "FileFormatTypeProperties.", _FORMAT)
    schema = _field(document, "SchemaDefinition")
    if isinstance(schema, Mapping):
        yield from _slips(schema, "SchemaDefinition.", _SCHEMA)
        columns = _field(schema, "Columns")
        for number, column in enumerate(columns if isinstance(columns, list) else ()):
            if isinstance(column, Mapping):
                yield from _slips(column, f"SchemaDefinition.Columns[{number}].", _COLUMN)


def _field(document: Mapping[str, JsonValue], key: str) -> JsonValue:
    return next((v for k, v in document.items() if fold_case(k) == fold_case(key)), None)


def _slips(document: Mapping[str, JsonValue], where: str, known: Sequence[str]) -> Iterator[str]:
    there = {fold_case(key) for key in document}
    here = {fold_case(key) for key in known if where or not _PLACES.get(key)}
    for key in document:
        if fold_case(key) in here:
            continue
        meant = _nearest(key, known)
        if meant is None or (not where and _PLACES[meant] == "" and fold_case(meant) in there):
            continue  # the right one is there as well: this one is somebody's own
        inside = "" if where else _PLACES[meant]
        yield f"{where}{key} means nothing; {f'{inside}.' if inside else where}{meant} may be meant"


def _nearest(key: str, known: Sequence[str]) -> str | None:
    bare = {_bare(name): name for name in known}
    own = _bare(key)
    within = next(
        (name for squeezed, name in bare.items() if len(squeezed) > 7 and squeezed in own), None
    )
    near = get_close_matches(own, list(bare), n=1, cutoff=_ALIKE)
    return bare[near[0]] if near else within


def _bare(key: str) -> str:
    return "".join(c for c in fold_case(key) if c.isalnum())
