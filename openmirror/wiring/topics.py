"""Topics of Kafka and Event Hubs, as sources of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from openmirror.cdc.avro.azure import AzureRegistry
from openmirror.cdc.avro.confluent import ConfluentRegistry, registry_config, without_registry
from openmirror.cdc.avro.records import AvroRecords
from openmirror.cdc.avro.registry import SchemaRegistry
from openmirror.cdc.kafka.brokers import Brokers
from openmirror.cdc.kafka.client_config import client_config, read_client_config
from openmirror.cdc.kafka.topic_source import TopicSource
from openmirror.cdc.relay.relay import BatchReport
from openmirror.cdc.relay.running import RunningRelay
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import CannotStart
from openmirror.topic_address import BrokerKind, TopicAddress
from openmirror.wiring.local import Say
from openmirror.wiring.relays import RelayWishes, relaying

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Cluster:
    """Brokers, and what reads their records that are not in JSON."""

    brokers: Brokers
    avro: AvroRecords


def cluster_of(
    address: TopicAddress, own: Path | None, given: TokenCredential | None = None
) -> Cluster:
    """The cluster at an address; `own` is the user's file of properties.

    Event Hubs without a connection string there are asked with the `given` credential, or with the
    identity of the environment; their schema registry always is.
    Raises WrongRequest for a file that cannot be read, CannotStart for what is missing.
    """
    found = read_client_config(own) if own is not None else {}
    registry, properties = registry_config(found), without_registry(found)
    if (
        given is None
        and address.kind is BrokerKind.EVENT_HUBS
        and "sasl.password" not in properties
    ):
        _need_identity()
    tokens = _token if given is None else partial(_token_of, given)
    brokers = Brokers(address, client_config(address, properties, tokens))
    return Cluster(brokers, AvroRecords(ConfluentRegistry(registry), _named(address, given)))


def _named(address: TopicAddress, given: TokenCredential | None) -> SchemaRegistry:
    """Where headers' schemas are: in the namespace that the records are in."""

    def credential() -> TokenCredential:
        if given is not None:
            return given
        _need_identity()
        from azure.identity import DefaultAzureCredential

        return DefaultAzureCredential()

    return AzureRegistry(address.host, credential)


@contextmanager
def relaying_topic(
    cluster: Cluster,
    topic: str,
    zone: StreamZone,
    spark: SparkSession,
    wishes: RelayWishes,
    report: Callable[[BatchReport], None],
    trouble: Say,
) -> Iterator[RunningRelay]:
    """A relay of a topic into a zone, stopped at the end; raises what `relaying` and topics do."""
    with (
        topic_source(cluster.brokers, topic) as source,
        relaying(zone, topic, source, spark, wishes, report, trouble, cluster.avro) as relay,
    ):
        yield relay


@contextmanager
def topic_source(brokers: Brokers, topic: str) -> Iterator[TopicSource]:
    """A topic, until the block ends; raises what TopicSource does."""
    source = TopicSource(brokers, topic)
    try:
        yield source
    finally:
        source.close()


def _token(resource: str) -> tuple[str, float]:
    """Asked for anew now and then, from the client's own thread."""
    from azure.identity import DefaultAzureCredential

    with DefaultAzureCredential() as credential:
        return _token_of(credential, resource)


def _token_of(credential: TokenCredential, resource: str) -> tuple[str, float]:
    token = credential.get_token(resource)
    return token.token, float(token.expires_on)


def _need_identity() -> None:
    try:
        import azure.identity  # noqa: F401 - found, not used
    except ImportError as error:
        raise CannotStart(
            "Event Hubs are asked with an identity of Entra ID, which needs azure-identity: "
            "pip install 'openmirror[azure]'. Or put their connection string into the file of "
            "--client-config, as sasl.password=Endpoint=sb://…"
        ) from error
