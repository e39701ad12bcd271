"""The schemas of records: each is written out once, and not once a record.

With its schema a record is five times as long, and most of the time of a capture would go into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jpype  # type: ignore[import-untyped]


@dataclass(frozen=True)
class RecordSchemas:
    """What the records of one envelope have in common."""

    key: str | None
    """The schema's JSON, as Kafka Connect's converter writes it; None for records without."""
    value: str | None


class KnownSchemas:
    """The texts of schemas, found again by the very objects that Debezium uses for them.

    A table makes its schemas anew whenever its columns change, and only then.
    """

    def __init__(self) -> None:
        self._converter = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
        self._converter.configure(jpype.JClass("java.util.HashMap")(), False)
        self._known: dict[tuple[str, str, str], RecordSchemas] = {}
        self._kept: list[Any] = []

    def of(self, place: tuple[str, str, str], event: Callable[[], Any]) -> RecordSchemas:
        """Those of an event; `place` is its topic, and the identities of its two schemas."""
        known = self._known.get(place)
        if known is None:
            record = event().sourceRecord()
            key, value = record.keySchema(), record.valueSchema()
            # For as long as an object is there, no other one has its identity.
            self._kept += [key, value]
            known = self._known[place] = RecordSchemas(self._text(key), self._text(value))
        return known

    def _text(self, schema: Any) -> str | None:
        return None if schema is None else str(self._converter.asJsonSchema(schema).toString())
