"""The streams that mirrors declare in mirroring.json, landed beside the work of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING

from openmirror.cdc.relay.declared import DeclaredStream, DeclaredStreams, LandedStream
from openmirror.mirroring import DeclaredTopic
from openmirror.ports import FileStore
from openmirror.progress.runner import PeriodicTask
from openmirror.protocol.rules import Broken
from openmirror.reconcile.mirror_reads import read_settings
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.timers import Beside, Repeating, Wake
from openmirror.settings import Settings
from openmirror.topic_address import TopicAddress
from openmirror.wiring.azure import given_identity
from openmirror.wiring.local import Say
from openmirror.wiring.packages import optional_packages
from openmirror.wiring.relays import RelayWishes
from openmirror.wiring.stream_zones import zone_of_mirror

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.wiring.topics import Cluster

_PACKAGES = dict.fromkeys(("confluent_kafka", "fastavro", "orjson", "azure"), "openmirror[kafka]")
_EVERY = timedelta(seconds=10)
"""How often it is asked what is declared, and how each stream is."""
_SHORTEST_STOP = 5.0
"""Seconds that a turn underway may take at least: brokers may be asked in it."""


def declared_streams(
    settings: Settings,
    ports: RootPorts,
    spark: SparkSession,
    mirrors: Callable[[], Iterable[str]],
) -> Callable[[Wake], Beside]:
    """Begins to land what these mirrors declare, for a process that can wake tables."""

    def begin(wake: Wake) -> Beside:
        declared = _Declared(ports.store, mirrors)
        streams = _Streams(settings, ports.store, spark)
        return _StreamsBeside(ports, DeclaredStreams(declared, streams, wake, ports.emit))

    return begin


class _StreamsBeside:
    """`DeclaredStreams` on a thread of their own."""

    def __init__(self, ports: RootPorts, streams: DeclaredStreams) -> None:
        self._streams = streams
        self._turns = Repeating(ports, PeriodicTask.STREAMS, _EVERY, streams.turn)

    def check(self) -> None:
        self._turns.check()

    def stop(self, seconds: float) -> None:
        self._turns.stop(max(seconds, _SHORTEST_STOP))
        self._streams.stop()


class _Declared:
    """What mirrors declare now. Settings that are refused change nothing about their streams."""

    def __init__(self, store: FileStore, mirrors: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._mirrors = mirrors
        self._known: dict[str, tuple[DeclaredStream, ...]] = {}

    def __call__(self) -> list[DeclaredStream]:
        before, self._known = self._known, {}
        for mirror in self._mirrors():
            wanted, _ = read_settings(self._store, mirror)
            if isinstance(wanted, Broken):
                self._known[mirror] = before.get(mirror, ())
            else:
                self._known[mirror] = tuple(
                    DeclaredStream(mirror, one, wanted.lineage) for one in wanted.streams
                )
        return [stream for of_mirror in self._known.values() for stream in of_mirror]


class _Streams:
    """Topics, landed in the zones of a root."""

    def __init__(self, settings: Settings, store: FileStore, spark: SparkSession) -> None:
        self._settings = settings
        self._store = store
        self._spark = spark
        self._clusters: dict[TopicAddress, Cluster] = {}

    def topics(self, stream: DeclaredStream) -> Sequence[str]:
        return self._cluster_of(stream.declared).brokers.topics()

    def landing(
        self,
        stream: DeclaredStream,
        topic: str,
        report: Callable[[BatchReport], None],
        trouble: Say,
    ) -> AbstractContextManager[LandedStream]:
        from openmirror.wiring.topics import relaying_topic

        cluster = self._cluster_of(stream.declared)
        zone = zone_of_mirror(self._store, stream.mirror)
        declared = stream.declared
        wishes = RelayWishes(declared.every, choice=declared.choice)
        return relaying_topic(cluster, topic, zone, self._spark, wishes, report, trouble)

    def _cluster_of(self, declared: DeclaredTopic) -> Cluster:
        address = declared.address
        if address not in self._clusters:
            with optional_packages("streams of topics need", **_PACKAGES):
                from openmirror.wiring.topics import cluster_of
            given = given_identity(self._settings)
            self._clusters[address] = cluster_of(address, self._settings.client_config, given)
        return self._clusters[address]
