"""Which records are in Avro, and by which schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openmirror.cdc.avro.registry import SchemaId

MAGIC = b"\x00"
"""What framed bytes begin with, and no JSON does."""
_PREFIX = 5
"""Bytes before a value: that one, and a number that the registry knows the schema by."""
CONTENT_TYPE = "content-type"
_AVRO = b"avro/binary+"

Framed = tuple[SchemaId, bytes]
"""The schema, and the value by it."""


def framed(content: bytes | None) -> Framed | None:
    """What begins as the serializers of Confluent's registry, and of those like it, write it."""
    if content is None or not content.startswith(MAGIC) or len(content) < _PREFIX:
        return None
    number = int.from_bytes(content[1:_PREFIX], "big")
    return SchemaId(str(number)), content[_PREFIX:]


def announced(
    headers: Sequence[Mapping[str, Any]] | None, value: bytes | None
) -> tuple[SchemaId | None, SchemaId | None]:
    """The schemas of a record's key and value, as headers name them for Azure's registry.

    The converter adds a header for the key, and then one of the same name for the value. Where one
    stands alone it is the value's, unless there is none or it is JSON, as no value of Avro begins.
    """
    found = [
        SchemaId(header["value"].removeprefix(_AVRO).decode("ascii", "replace"))
        for header in headers or ()
        if header["name"] == CONTENT_TYPE and (header["value"] or b"").startswith(_AVRO)
    ]
    if not found:
        return None, None
    if len(found) > 1:
        return found[0], found[-1]
    return (found[0], None) if value is None or value.startswith(b"{") else (None, found[0])
