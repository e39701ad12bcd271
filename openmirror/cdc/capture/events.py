"""What Debezium's engine hands over, as records of a spool."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jpype  # type: ignore[import-untyped]

from openmirror.cdc.capture.event_columns import NEW_KEY, OLD_KEY, EventColumns
from openmirror.cdc.capture.schemas import KnownSchemas
from openmirror.cdc.capture.transactions import Transactions
from openmirror.cdc.spool.writer import SpooledRecord

_HALVES = {
    (False, False): (),
    (True, False): ((NEW_KEY, None),),
    (False, True): ((OLD_KEY, None),),
    (True, True): ((NEW_KEY, None), (OLD_KEY, None)),
}
"""A record's headers, of which only these matter, and that they are there."""


class EventReader:
    """Reads batches of events, whose keys and values are JSON without schemas."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._schemas = KnownSchemas()
        self._columns = EventColumns()

    def read(self, events: Any) -> tuple[list[SpooledRecord], Any]:
        """The records, and the last event up to which all transactions are whole, if any."""
        texts, records, whole = self._columns.read(events), [], None
        places = zip(texts.topics, texts.key_schemas, texts.value_schemas, strict=True)
        for at, (place, key, value) in enumerate(
            zip(places, texts.keys, texts.values, strict=True)
        ):
            topic, schemas = place[0], self._schemas.of(place, partial(events.get, at))
            if self._transactions.is_whole_at(topic, value):
                whole = at
            records.append(
                SpooledRecord(
                    topic=topic,
                    key=_bytes(key),
                    value=_bytes(value),
                    headers=_HALVES[texts.has_new_key[at], texts.has_old_key[at]],
                    key_schema=None if key is None else schemas.key,
                    value_schema=None if value is None else schemas.value,
                )
            )
        return records, None if whole is None else events.get(whole)


def source_of(event: Any) -> bytes:
    """The source's own place behind an event, as the file of offsets has it."""
    record = event.sourceRecord()
    return json.dumps(
        {"partition": _plain(record.sourcePartition()), "offset": _plain(record.sourceOffset())}
    ).encode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _plain(values: Any) -> dict[str, object]:
    found: dict[str, object] = {}
    for entry in values.entrySet():
        value = entry.getValue()
        if value is None:
            found[str(entry.getKey())] = None
        elif isinstance(value, jpype.JClass("java.lang.Boolean")):
            found[str(entry.getKey())] = bool(value)
        elif isinstance(value, jpype.JClass("java.lang.Number")):
            found[str(entry.getKey())] = int(value.longValue())
        else:
            found[str(entry.getKey())] = str(value)
    return found
