"""A database behind Kafka Connect and a broker, as `cdc template` configures its connector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from openmirror.cdc.connector_templates import ConnectorKind, as_mapping, template
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.spark.jars import default_cache
from standins.kafka.cluster import Broker, Connect
from standins.kafka.jars import cluster_jars, connector_jars


@contextmanager
def through_kafka(
    database: DatabaseUrl, tables: Sequence[str], topic: str, folder: Path
) -> Iterator[str]:
    """The URL of a topic that gets all changes of a PostgreSQL's tables, until the block ends.

    `tables`: as `schema.table`. What broker and Connect keep lies in `folder`.
    """
    cache = default_cache()
    jars = cluster_jars(cache, print)
    broker = Broker(folder / "broker", jars)
    connect = Connect(folder / "connect", jars, connector_jars(cache, print), broker.server)
    try:
        broker.start()
        broker.make_topic(topic)
        broker.make_topic(f"__debezium-heartbeat.{topic}")
        connect.start()
        connect.put(topic, _configuration(database, tables, topic))
        yield f"kafka://{broker.server}/{topic}"
    finally:
        connect.kill()
        broker.kill()


def _configuration(database: DatabaseUrl, tables: Sequence[str], topic: str) -> Mapping[str, str]:
    return {
        **as_mapping(template(ConnectorKind.POSTGRESQL, topic)),
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.dbname": database.database,
        "table.include.list": ",".join(tables),
    }
