"""Debezium's own dispatcher: records as its queue has them, with their headers and offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jpype

from tests.cdc.decoding.minting.mint import Event, java, json_converter

# When it was sent, which is the same in every run of the program.
_SENT = re.compile(rb'(?P<op>"op":"."),"ts_ms":\d+,"ts_us":\d+,"ts_ns":\d+')
_ALWAYS = b',"ts_ms":1795414441215,"ts_us":1795414441215000,"ts_ns":1795414441215000000'


@dataclass(frozen=True)
class Dispatched:
    """A record that a connector sends."""

    event: Event
    offset: Any
    """Where the connector goes on when it begins behind this record; a map of Java's."""


class Dispatching:
    """The dispatcher and the queue of one run of a connector."""

    def __init__(self, config: Any, schema: Any, metadata: Any) -> None:
        self._config = config
        self.queue = _queue()
        event = java("io.debezium.pipeline.DataChangeEvent")
        creator = jpype.JProxy(
            "io.debezium.pipeline.spi.ChangeEventCreator",
            dict={"createDataChangeEvent": event},
        )
        self.dispatcher = java("io.debezium.pipeline.EventDispatcher")(
            config,
            self.naming(config),
            schema,
            self.queue,
            config.getTableFilters().dataCollectionFilter(),
            creator,
            metadata,
            java("io.debezium.heartbeat.Heartbeat$ScheduledHeartbeat").NOOP_HEARTBEAT,
            java("io.debezium.schema.SchemaNameAdjuster").NO_OP,
            jpype.JObject(None, java("io.debezium.connector.common.DebeziumHeaderProducer")),
        )
        self._keys, self._values = json_converter(is_key=True), json_converter(is_key=False)
        self._headers = java("org.apache.kafka.connect.storage.SimpleHeaderConverter")()

    @staticmethod
    def naming(config: Any) -> Any:
        """How the connector calls its topics: with the database in their names."""
        return java("io.debezium.schema.SchemaTopicNamingStrategy").create(config, True)

    def errors(self, kind: str) -> Any:
        """A handler of the connector's class."""
        self._errors = java(kind)(self._config, self.queue, jpype.JObject(None, java(kind)))
        return self._errors

    def initial_snapshots(self) -> Any:
        """The service that says whether to stream: it does."""
        snapshotter = java("io.debezium.snapshot.mode.InitialSnapshotter")()
        query = jpype.JObject(None, java("io.debezium.snapshot.spi.SnapshotQuery"))
        lock = jpype.JObject(None, java("io.debezium.snapshot.spi.SnapshotLock"))
        return java("io.debezium.snapshot.SnapshotterService")(snapshotter, query, lock)

    def sent(self) -> list[Dispatched]:
        """What the queue has; raises what the connector failed by."""
        failure = self._errors.getProducerThrowable()
        if failure is not None:
            raise failure
        found: list[Dispatched] = []
        while self.queue.remainingCapacity() < self.queue.totalCapacity():
            found += [self._written(event.getRecord()) for event in self.queue.poll()]
        return found

    def _written(self, record: Any) -> Dispatched:
        topic = record.topic()
        key, value = (
            None if content is None else bytes(converter.fromConnectData(topic, schema, content))
            for converter, schema, content in (
                (self._keys, record.keySchema(), record.key()),
                (self._values, record.valueSchema(), record.value()),
            )
        )
        headers = [
            [str(header.key()), bytes(self._header(topic, header)).decode()]
            for header in record.headers()
        ]
        value = None if value is None else _SENT.sub(rb"\g<op>" + _ALWAYS, value)
        return Dispatched([str(topic), key, value, headers], record.sourceOffset())

    def _header(self, topic: Any, header: Any) -> Any:
        return self._headers.fromConnectHeader(topic, header.key(), header.schema(), header.value())


def with_restarts(stream: Callable[..., list[Dispatched]], stops: Sequence[int]) -> list[Event]:
    """A whole stream as topic `0`, and as topic `n` the one from behind its nth record.

    `stream` gives what a connector sends from an offset on; without one, all of it.
    """
    whole = stream()
    runs = {0: whole, **{at: stream(whole[at - 1].offset) for at in stops}}
    return [[str(run), *sent.event[1:]] for run, of in runs.items() for sent in of]


def _queue() -> Any:
    length = 100_000
    builder = java("io.debezium.connector.base.ChangeEventQueue$Builder")()
    builder.pollInterval(java("java.time.Duration").ofMillis(1)).maxBatchSize(length - 1)
    builder.maxQueueSize(length).maxQueueSizeInBytes(0)
    builder.queueProvider(java("io.debezium.connector.base.DefaultQueueProvider")(length))
    contexts = java("io.debezium.util.LoggingContext")
    nowhere = {"get": lambda: contexts.forConnector("minting", "minting", "minting")}
    builder.loggingContextSupplier(jpype.JProxy("java.util.function.Supplier", dict=nowhere))
    return builder.build()
