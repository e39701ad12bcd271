"""Records that nobody can understand, each with a word of why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cdc.decoding.minted import (
    MintedTable,
    Record,
    Tree,
    column,
    compact,
    struct,
    with_schema,
)

TABLE = MintedTable(
    [
        column("id", "int64", optional=False),
        column("small", "int16"),
        column("words", "string"),
        column("must", "boolean", optional=False),
        column("day", "int32", "io.debezium.time.Date"),
        column("data", "bytes"),
        column("real", "double"),
        column("single", "float"),
        column("list", "array", items={"type": "string", "optional": True}),
    ],
    name="strict",
)
GOOD = {"id": 1, "must": True}


def with_value(edit: Callable[[str], str | bytes], op: str = "c") -> Record:
    topic, key, value, headers = TABLE.change(op, GOOD)
    assert value is not None
    edited = edit(value.decode())
    assert edited != value.decode(), "the edit must change something"
    return topic, key, edited.encode() if isinstance(edited, str) else edited, headers


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def with_key(key: bytes | None) -> Record:
    topic, _, value, headers = TABLE.change("c", GOOD)
    return topic, key, value, headers


def without_schema() -> Record:
    return TABLE.topic, None, compact(TABLE.payload("c", GOOD)).encode(), {}


def flattened() -> Record:
    schema = struct(TABLE.columns, "pg.public.strict.Value")
    return TABLE.topic, None, compact({"schema": schema, "payload": GOOD}).encode(), {}


def keyed(schema: Tree, payload: Any) -> Record:
    return with_key(with_schema(schema, payload))


def written(old: str, new: str) -> Record:
    """A create that is written otherwise in one place."""
    return with_value(replaced(old, new))


NULL_PAYLOAD = (TABLE.topic, None, with_schema(TABLE.envelope(), None), {})
UPDATE_WITHOUT_ROW = with_value(replaced('"op":"d"', '"op":"u"'), "d")
OTHER_KEY = struct([column("x", "int64")], "pg.public.strict.Key")
MALFORMED = {
    "no UTF-8": (with_value(lambda text: text.encode() + b"\xff"), "UTF-8"),
    "no JSON at all": ((TABLE.topic, None, b"hello", {}), "JSON"),
    "an empty value": ((TABLE.topic, None, b"", {}), "JSON"),
    "a record that was cut": (with_value(lambda text: text[:-30]), ""),
    "a payload that was cut": (with_value(lambda text: text[:-30] + "}}"), "JSON"),
    "something after its end": (with_value(lambda text: text + " {}"), ""),
    "a field beside its payload": (with_value(lambda text: text[:-1] + ',"more":1}'), ""),
    "its payload twice": (with_value(lambda text: text[:-1] + ',"payload":{}}'), ""),
    "no schema": (without_schema(), "schema"),
    "a flattened row": (flattened(), "no envelope"),
    "a schema that is none": (written('"type":"int16"', '"type":"int17"'), "int17"),
    "a payload that is NULL": (NULL_PAYLOAD, "NULL"),
    "a text for a number": (written('"small":null', '"small":"5"'), "'small'"),
    "a number for a text": (written('"words":null', '"words":5'), "'words'"),
    "an object for a text": (written('"words":null', '"words":{}'), "'words'"),
    "a number for a boolean": (written('"must":true', '"must":1'), "'must'"),
    "a fraction for a whole number": (written('"id":1', '"id":1.0'), "'id'"),
    "a number that is too large": (written('"small":null', '"small":32768'), ""),
    "one that 64 bits do not hold": (written('"id":1', '"id":9223372036854775808'), ""),
    "one that a double does not hold": (written('"real":null', '"real":1e400'), "'real'"),
    "one that a float does not hold": (written('"single":null', '"single":4E38'), "'single'"),
    "a long one that a float does not hold": (
        written('"single":null', f'"single":{10**39}'),
        "'single'",
    ),
    "a payload that is nested too deeply": (
        written('"words":null', f'"words":{"[" * 200_000}'),
        "deeply",
    ),
    "a schema of too many levels": (
        written('"type":"int16"', '"type":"array","items":{' * 400 + '"type":"int16"' + "}" * 400),
        "deeply",
    ),
    "a schema that is nested too deeply": (written('"schema":{', f'"schema":{"[" * 200_000}'), ""),
    "no base64": (written('"data":null', '"data":"a*b="'), "'data'"),
    "half of a surrogate pair": (written('"words":null', '"words":"\\ud83d"'), "'words'"),
    "a list of another type": (written('"list":null', '"list":["a",1]'), "'list'"),
    "a field that is missing": (written('"small":null,', ""), "'small'"),
    "a field that stands twice": (written('"small":null', '"small":null,"small":1'), "'small'"),
    "a field of no schema": (written('"small":null', '"small":null,"x":1'), "'x'"),
    "NULL where none may be": (written('"must":true', '"must":null'), "'must'"),
    "an op that nobody knows": (written('"op":"c"', '"op":"q"'), "op"),
    "a change without its row": (UPDATE_WITHOUT_ROW, "no row"),
    "another connector": (
        written('"connector":"postgresql"', '"connector":"informix"'),
        "connector",
    ),
    "a position that is none": (written('[\\"100\\",', '[\\"1x0\\",'), "position"),
    "a change without a position": (TABLE.change("u", GOOD, lsn=None, sequence=None), "stands"),
    "a key that is NULL": (keyed(TABLE.key_schema(), None), "key"),
    "a key without its column": (keyed(TABLE.key_schema(), {}), "'id'"),
    "a key of other columns": (keyed(OTHER_KEY, {"x": 1}), "'x'"),
    "a key that is no JSON": (with_key(b"1"), "key"),
}
