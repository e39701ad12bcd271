"""Records in Avro, as the texts of JSON that the decoder takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.avro.framing import CONTENT_TYPE, MAGIC, Framed, announced, framed
from openmirror.cdc.avro.registry import SchemaId, SchemaRegistry, WrongAvroSchema
from openmirror.cdc.avro.schemas import connect_schema, parsed
from openmirror.cdc.avro.values import AvroValues, WrongAvro
from openmirror.cdc.decoding.spans import Spans


@dataclass(frozen=True)
class _Schema:
    connect: str
    """As JSON."""
    values: AvroValues


class AvroRecords:
    """Reads those keys and values of records that are in Avro."""

    def __init__(self, numbered: SchemaRegistry, named: SchemaRegistry) -> None:
        """`numbered` knows the schemas of framed bytes, `named` those that headers name."""
        self._numbered = numbered
        self._named = named
        self._known: dict[tuple[bool, SchemaId], _Schema | str] = {}

    def __call__(self, records: pa.Table) -> tuple[Spans | None, Spans | None]:
        """Of keys and of values, as `ReadOtherwise` has it; raises what registries do."""
        has_names = _has_content_types(records)
        if not has_names and not any(_has_framed(records.column(n)) for n in ("key", "value")):
            return None, None
        keys, values = (records.column(name).to_pylist() for name in ("key", "value"))
        if has_names:
            headers = records.column("headers").to_pylist()
            pairs = [announced(own, value) for own, value in zip(headers, values, strict=True)]
            named: tuple[Sequence[SchemaId | None], ...] = tuple(zip(*pairs, strict=True))
        else:
            named = ((None,) * len(keys),) * 2
        return self._spans(keys, named[0]), self._spans(values, named[1])

    def _spans(
        self, contents: Sequence[bytes | None], named: Sequence[SchemaId | None]
    ) -> Spans | None:
        schemas: list[str | None] = [None] * len(contents)
        payloads: list[str | None] = [None] * len(contents)
        faults: dict[int, str] = {}
        for row, (content, name) in enumerate(zip(contents, named, strict=True)):
            avro = framed(content) if name is None or content is None else (name, content)
            if avro is None:
                continue
            schema = self._schema(avro, is_named=name is not None)
            if isinstance(schema, str):
                faults[row] = schema
                continue
            try:
                payloads[row] = schema.values.as_json(avro[1])
                schemas[row] = schema.connect
            except WrongAvro as error:
                faults[row] = f"by schema {avro[0]} of Avro, {error}"
        if not faults and all(text is None for text in payloads):
            return None
        encoded = pa.array(schemas, pa.string()).dictionary_encode()
        return Spans(encoded, pa.array(payloads, pa.string()), faults)

    def _schema(self, avro: Framed, *, is_named: bool) -> _Schema | str:
        """The schema of a value, or why there is none; what is unknown is asked for again."""
        id_ = avro[0]
        if (is_named, id_) in self._known:
            return self._known[is_named, id_]
        registry = self._named if is_named else self._numbered
        try:
            text = registry.schema(id_)
            if text is None:
                return f"it is in Avro by schema {id_}, which the schema registry does not have"
            found: _Schema | str = _schema(text)
        except WrongAvroSchema as error:
            found = f"it is in Avro by schema {id_}: {error}"
        self._known[is_named, id_] = found
        return found


def _schema(text: str) -> _Schema:
    tree = parsed(text)
    connect = connect_schema(tree)
    return _Schema(json.dumps(connect, separators=(",", ":")), AvroValues(tree, connect))


def _has_framed(contents: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.equal(pc.binary_slice(contents, 0, 1), MAGIC)).as_py())


def _has_content_types(records: pa.Table) -> bool:
    headers = records.column("headers").combine_chunks()
    names = pc.struct_field(headers.flatten(), "name")
    return bool(pc.any(pc.equal(names, CONTENT_TYPE)).as_py())
