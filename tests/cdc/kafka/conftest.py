"""One broker for these tests, and Kafka Connect beside it for those who ask.

They end with them: a broker that nobody asks anything takes a thirtieth of a core.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from openmirror.spark.jars import default_cache
from standins.kafka.cluster import Broker, Connect
from standins.kafka.jars import cluster_jars, connector_jars


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    jars = cluster_jars(default_cache(), lambda line: None)
    made = Broker(tmp_path_factory.mktemp("broker"), jars)
    made.start()
    try:
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="package")
def connect(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    jars = cluster_jars(default_cache(), lambda line: None)
    plugins = connector_jars(default_cache(), lambda line: None)
    made = Connect(tmp_path_factory.mktemp("connect"), jars, plugins, broker.server)
    made.start()
    try:
        yield made
    finally:
        made.kill()


def make_topic(broker: Broker, name: str, partitions: int = 1, **settings: str) -> None:
    broker.make_topic(name, partitions, **settings)


def delete_topic(broker: Broker, name: str) -> None:
    client = AdminClient({"bootstrap.servers": broker.server})
    client.delete_topics([name])[name].result()
