"""Debezium's embedded engine in this process, by JPype: its records go into a spool.

Only the end of a whole transaction is acknowledged: a connector that is stopped between the two
halves of a changed key, and goes on behind the first, never sends the second.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jpype  # type: ignore[import-untyped]

from openmirror.cdc.capture.events import EventReader, source_of
from openmirror.cdc.capture.failures import ConnectorFailed
from openmirror.cdc.capture.transactions import Transactions
from openmirror.cdc.snapshot_marks import failed_snapshot
from openmirror.cdc.spool.writer import SpooledRecord, SpoolWriter

_JVM = (
    "-Xmx1g",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Duser.timezone=UTC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)


def start_jvm(class_path: str) -> None:
    """Start this process's one JVM with Debezium's jars."""
    jpype.startJVM(*_JVM, classpath=class_path.split(":"), interrupt=False)


class Capture:
    """One engine; `run` ends when it was asked to stop, or when the connector has failed."""

    def __init__(self, properties: Mapping[str, str], writer: SpoolWriter) -> None:
        self._writer = writer
        transactions = Transactions(f"{properties['topic.prefix']}.transaction")
        self._reader = EventReader(transactions)
        self._failure: str | None = None
        self._own_failure: Exception | None = None
        self._stopping = threading.Event()
        self._engine = self._made(properties)

    def run(self) -> None:
        """Capture; raises ConnectorFailed, also for a snapshot, or what the spool raised."""
        self._engine.run()
        if self._own_failure is not None:
            raise self._own_failure
        if self._failure is not None and not self._stopping.is_set():
            raise ConnectorFailed(self._failure)

    def stop(self) -> None:
        """End it; from another thread.

        One that is just beginning cannot be asked to: it ends with its process, and has spooled
        nothing that it was not sure of.
        """
        self._stopping.set()
        try:
            self._engine.close()
        except jpype.JClass("java.lang.IllegalStateException"):
            return

    def _made(self, properties: Mapping[str, str]) -> Any:
        form = jpype.JClass("io.debezium.engine.format.Json")
        engine = jpype.JClass("io.debezium.engine.DebeziumEngine")
        # Without headers, each of which would be converted in every record.
        forms = jpype.JClass("io.debezium.engine.format.KeyValueChangeEventFormat")
        given = jpype.JClass("java.util.Properties")()
        for name, value in properties.items():
            given.setProperty(name, value)
        consumer = jpype.JProxy(
            "io.debezium.engine.DebeziumEngine$ChangeConsumer",
            dict={"handleBatch": self._take, "supportsTombstoneEvents": lambda: True},
        )
        completed = jpype.JProxy(
            "io.debezium.engine.DebeziumEngine$CompletionCallback", dict={"handle": self._ended}
        )
        builder = engine.create(forms.of(form, form)).using(given)
        return builder.using(completed).notifying(consumer).build()

    def _take(self, events: Any, committer: Any) -> None:
        """Make a batch last, then acknowledge what is whole of it."""
        try:
            records, whole = self._reader.read(events)
            source = self._writer.source if whole is None else source_of(whole)
            self._writer.append(records, source or b"")
        except Exception as error:
            # The engine says in its own words that its consumer has failed; this is why.
            self._own_failure = error
            raise
        if whole is not None:
            committer.markProcessed(whole)
            committer.markBatchFinished()
        self._need_whole_snapshots(records)

    def _need_whole_snapshots(self, records: Sequence[SpooledRecord]) -> None:
        """End a connector in which a snapshot of a table has failed.

        It keeps rows that it had read, and would send them with the next snapshot, however old they
        are by then. Nothing that comes behind the mark is spooled.
        """
        for record in records:
            why = failed_snapshot(record.topic, record.value)
            if why is not None:
                self._own_failure = ConnectorFailed(f"a snapshot of a table failed: {why}")
                raise self._own_failure

    def _ended(self, success: bool, message: Any, error: Any) -> None:
        if not success:
            cause = error
            while cause is not None and cause.getCause() is not None:
                cause = cause.getCause()
            self._failure = str(cause.getMessage() if cause is not None else message)


def write_offsets(path: Path, name: str, source: bytes | None) -> None:
    """The file from which Debezium goes on; none where it begins."""
    path.unlink(missing_ok=True)
    if not source:
        return
    place = json.loads(source)
    key = json.dumps([name, place["partition"]], separators=(",", ":"))
    value = json.dumps(place["offset"], separators=(",", ":"))
    offsets = jpype.JClass("java.util.HashMap")()
    to_bytes = jpype.JArray(jpype.JByte)
    offsets.put(to_bytes(key.encode()), to_bytes(value.encode()))
    files = jpype.JClass("java.io.FileOutputStream")(str(path))
    stream = jpype.JClass("java.io.ObjectOutputStream")(files)
    stream.writeObject(offsets)
    stream.close()
