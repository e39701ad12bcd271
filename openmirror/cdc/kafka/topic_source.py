"""Reading a topic from any offset that it still holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import pyarrow as pa  # type: ignore[import-untyped]
from confluent_kafka import KafkaError, Message, TopicPartition

from openmirror.cdc.kafka.brokers import Brokers
from openmirror.cdc.kafka.topic_facts import need_followable
from openmirror.cdc.records import RECORDS, SCHEMA_TEXT
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.errors import Unavailable
from openmirror.protocol.streams import START, Offset, StreamIdentity

_PORTION = 2_000
"""Messages that are taken from the client at a time."""
_POLL = 0.1
"""Seconds to wait for so many: what comes later is in the next read."""
_PATIENCE = 20.0
"""Seconds without any message or end, until the brokers count as away."""
_BETWEEN_CHECKS = 10.0
"""Seconds, while nothing comes."""


class TopicSource:
    """A `RecordSource` over a topic of one partition.

    Its identity is the topic's own: it is asked for before and after whatever is read, since one
    that is deleted and made again counts its records from 0. Offsets may have holes, where a
    producer's transaction ended or was taken back.
    """

    def __init__(
        self, brokers: Brokers, topic: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises TopicRefused for a topic that cannot be followed exactly, and what Brokers do."""
        facts = brokers.facts(topic)
        need_followable(replace(facts, cleanup_policy=brokers.cleanup_policy(topic)))
        self._brokers = brokers
        self._topic = topic
        self._monotonic = monotonic
        self._identity = facts.identity
        self._consumer = brokers.consumer()
        self._next: Offset | None = None
        self._at_end = False
        self._checked_at = monotonic()

    @property
    def identity(self) -> StreamIdentity:
        """Which topic it is."""
        return self._identity

    @property
    def forgets_by_itself(self) -> bool:
        """After the retention of the topic."""
        return True

    def ends(self) -> tuple[Offset, Offset]:
        """The first record that is there, and the one that comes next."""
        found = self._brokers.ends(self._consumer, self._topic)
        self._need_same()
        return found

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        """Records from an offset on; see `RecordSource`. None before the end means none is there.

        Raises StreamReplaced for another topic of this name, and Unavailable.
        """
        if start != self._next:
            self._consumer.assign([TopicPartition(self._topic, 0, start)])
            self._at_end = False
        self._next = None  # whatever fails now: the next call begins where it is asked to
        messages = self._messages(start, most_records, most_bytes)
        if messages or self._monotonic() - self._checked_at >= _BETWEEN_CHECKS:
            self._need_same()
        self._next = Offset(_offset(messages[-1]) + 1) if messages else start
        return _table(self._topic, messages)

    def forget(self, before: Offset) -> None:
        """Nothing: how long a topic keeps its records is its own affair."""

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def _messages(self, start: Offset, most_records: int, most_bytes: int) -> list[Message]:
        found: list[Message] = []
        size = 0
        until = self._monotonic() + _PATIENCE
        while len(found) < most_records and size < most_bytes:
            wanted = min(_PORTION, most_records - len(found))
            portion = self._consumer.consume(wanted, 0.0 if self._at_end else _POLL)
            for message in portion:
                error = message.error()
                self._at_end = error is not None
                if error is None:
                    found.append(message)
                    size += len(message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    self._failed(start, error)
            self._brokers.check()
            if self._at_end or (found and not portion):
                break
            if not portion and self._monotonic() >= until:
                self._need_same()
                raise Unavailable(f"topic {self._topic}: nothing came in {_PATIENCE:.0f} s")
        return found

    def _failed(self, start: Offset, error: KafkaError) -> None:
        """Raise what an error of the partition means."""
        self._need_same()
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            low, high = self.ends()
            raise EventsLost(
                f"topic {self._topic} holds records {low} to {high - 1}, and {start} is wanted: "
                "its retention has passed. Let the connector take a new snapshot, and a topic keep "
                "its records for longer than a relay may stand still"
            )
        raise self._brokers.problem(error)

    def _need_same(self) -> None:
        self._checked_at = self._monotonic()
        facts = self._brokers.facts(self._topic)
        if facts.identity != self._identity:
            raise StreamReplaced(
                f"topic {self._topic} was deleted and made again ({facts.identity}, was "
                f"{self._identity}): begin the relay again"
            )
        need_followable(facts)


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])


def _offset(message: Message) -> int:
    offset = message.offset()
    return START if offset is None else offset


def _table(topic: str, messages: Sequence[Message]) -> pa.Table:
    """Messages as `RECORDS`, whose schemas stand within."""
    without = pa.nulls(len(messages), SCHEMA_TEXT)
    columns = [
        [_offset(message) for message in messages],
        [topic] * len(messages),
        [message.key() for message in messages],
        [message.value() for message in messages],
        without,
        without,
        [
            [{"name": name, "value": value} for name, value in _headers(message)]
            for message in messages
        ],
    ]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, RECORDS, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=RECORDS)
