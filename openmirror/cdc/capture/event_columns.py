"""A batch of Debezium's events column by column: a few calls into Java a batch, not some a record.

Java's own streams call the events' methods, and join what these answer to one text. Nothing that
is read has a line feed of its own: keys and values are JSON on one line, and topics have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jpype  # type: ignore[import-untyped]

_SEPARATOR = "\n"
_NULL = "null"
NEW_KEY, OLD_KEY = "__debezium.newkey", "__debezium.oldkey"
"""Headers that make a delete and an insert one row's. Others say the same of every record."""


@dataclass(frozen=True, kw_only=True)
class EventTexts:
    """One text an event in each column, in the events' order."""

    topics: list[str]
    keys: list[str | None]
    values: list[str | None]
    key_schemas: list[str]
    """What stands for the very object that is the key's schema."""
    value_schemas: list[str]
    has_new_key: list[bool]
    has_old_key: list[bool]


class EventColumns:
    """Reads batches (`java.util.List` of events of the embedded engine)."""

    def __init__(self) -> None:
        event = _class("io.debezium.embedded.EmbeddedEngineChangeEvent")
        record = _class("org.apache.kafka.connect.source.SourceRecord")
        schema = _class("org.apache.kafka.connect.data.Schema")
        headers = _class("org.apache.kafka.connect.header.Headers")
        of_event = _method(event, "sourceRecord", record)
        of_key = _then(of_event, _method(record, "keySchema", schema))
        of_value = _then(of_event, _method(record, "valueSchema", schema))
        of_headers = _then(of_event, _method(record, "headers", headers))
        self._collectors = _class("java.util.stream.Collectors")
        self._text = _function(_static("java.lang.String", "valueOf", _class("java.lang.String")))
        self._key = _function(_method(event, "key", _object()))
        self._value = _function(_method(event, "value", _object()))
        self._topic = _function(_method(event, "destination", _class("java.lang.String")))
        identity = _static("java.lang.System", "identityHashCode", jpype.JInt)
        self._key_schema = _function(_then(of_key, identity))
        self._value_schema = _function(_then(of_value, identity))
        self._new_key = _function(_then(of_headers, _has_header(headers, NEW_KEY)))
        self._old_key = _function(_then(of_headers, _has_header(headers, OLD_KEY)))

    def read(self, events: Any) -> EventTexts:
        """All columns; raises RuntimeError where a text has a line feed after all."""
        new_keys = self._column(events, self._new_key)
        old_keys = self._column(events, self._old_key)
        return EventTexts(
            topics=self._column(events, self._topic),
            keys=[_or_none(text) for text in self._column(events, self._key)],
            values=[_or_none(text) for text in self._column(events, self._value)],
            key_schemas=self._column(events, self._key_schema),
            value_schemas=self._column(events, self._value_schema),
            has_new_key=[text == "true" for text in new_keys],
            has_old_key=[text == "true" for text in old_keys],
        )

    def _column(self, events: Any, of_event: Any) -> list[str]:
        texts = events.stream().map(of_event).map(self._text)
        found = str(texts.collect(self._collectors.joining(_SEPARATOR))).split(_SEPARATOR)
        if len(found) != events.size():
            raise RuntimeError(f"{events.size()} events have {len(found)} texts")
        return found


def _or_none(text: str) -> str | None:
    return None if text == _NULL else text


# --- Java's methods as functions of its streams ---------------------------------------------------


def _class(name: str) -> Any:
    return jpype.JClass(name)


def _object() -> Any:
    return _class("java.lang.Object")


def _handles() -> Any:
    return _class("java.lang.invoke.MethodHandles")


def _signature(*types: Any) -> Any:
    return _class("java.lang.invoke.MethodType").methodType(*types)


def _method(of: Any, name: str, answer: Any, *given: Any) -> Any:
    return _handles().publicLookup().findVirtual(of, name, _signature(answer, *given))


def _static(of: str, name: str, answer: Any) -> Any:
    """A static method of one object."""
    return _handles().publicLookup().findStatic(_class(of), name, _signature(answer, _object()))


def _then(first: Any, second: Any) -> Any:
    """What the second method makes of what the first one answers."""
    between = first.type().returnType()
    adapted = second.asType(_signature(second.type().returnType(), between))
    return _handles().filterReturnValue(first, adapted)


def _has_header(headers: Any, name: str) -> Any:
    text = _class("java.lang.String")
    header = _class("org.apache.kafka.connect.header.Header")
    by_name = _method(headers, "lastWithName", header, text)
    with_name = _handles().insertArguments(by_name, 1, [name])
    return _then(with_name, _static("java.util.Objects", "nonNull", jpype.JBoolean))


def _function(handle: Any) -> Any:
    proxies = _class("java.lang.invoke.MethodHandleProxies")
    return proxies.asInterfaceInstance(_class("java.util.function.Function"), handle)
