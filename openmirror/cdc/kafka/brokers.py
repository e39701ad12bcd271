"""A cluster of brokers: which topics it has, and what they are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from openmirror.cdc.kafka.client_config import ClientConfig
from openmirror.cdc.kafka.topic_facts import TopicFacts
from openmirror.cdc.stops import StreamReplaced
from openmirror.errors import (
    AccessDenied,
    CannotStart,
    OpenmirrorError,
    Unavailable,
    UnknownName,
)
from openmirror.protocol.streams import Offset, StreamIdentity
from openmirror.topic_address import TopicAddress

_PATIENCE = 15.0
"""Seconds that an answer may take."""
_DENIED = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_UNKNOWN = _DENIED | {KafkaError.UNSUPPORTED_VERSION, KafkaError.INVALID_REQUEST}
_NO_IDENTITY = StreamIdentity("0" * 32)
_LOG = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class Brokers:
    """The brokers that an address names, and a connection to them.

    Every call raises Unavailable where they do not answer, AccessDenied where they refuse.
    """

    def __init__(self, address: TopicAddress, config: ClientConfig) -> None:
        """Raises CannotStart for properties that there are none of."""
        self._address = address
        self._config = config
        self._refusal: KafkaError | None = None
        settings = {**config, "error_cb": self._heard}
        try:
            self._admin = AdminClient(settings, logger=_LOG)
        except (KafkaException, ValueError, TypeError) as error:
            raise CannotStart(f"the client's properties are wrong: {_words(error)}") from None

    def topics(self) -> list[str]:
        """The topics that the address means; raises UnknownName where there is none."""
        metadata = self._asked(lambda: self._admin.list_topics(timeout=_PATIENCE))
        found = sorted(topic for topic in metadata.topics if self._address.has(topic))
        if not found:
            raise UnknownName(
                f"there is no topic {self._address.pattern} at {','.join(self._address.brokers)}; "
                f"there are: {', '.join(sorted(metadata.topics)) or 'none'}"
            )
        return found

    def facts(self, topic: str) -> TopicFacts:
        """What a topic is, but for its policy; raises StreamReplaced if it is gone."""
        wanted = TopicCollection([topic])
        found = self._asked(
            lambda: self._admin.describe_topics(wanted, request_timeout=_PATIENCE)[topic].result()
        )
        id_ = found.topic_id
        halves = id_.get_most_significant_bits(), id_.get_least_significant_bits()
        identity = StreamIdentity("".join(f"{half % (1 << 64):016x}" for half in halves))
        if identity == _NO_IDENTITY:
            # Brokers that give topics none: one that is made again cannot be known by this.
            name = f"{','.join(self._address.brokers)}\0{topic}".encode()
            identity = StreamIdentity(blake2b(name, digest_size=16).hexdigest())
        return TopicFacts(topic, identity, len(found.partitions))

    def consumer(self) -> Consumer:
        """A consumer, which is assigned nothing yet."""
        return Consumer({**self._config, "error_cb": self._heard}, logger=_LOG)

    def ends(self, consumer: Consumer, topic: str) -> tuple[Offset, Offset]:
        """The first record of a topic that can be read, and the next one that will be written."""
        partition = TopicPartition(topic, 0)
        low, high = self._asked(
            lambda: consumer.get_watermark_offsets(partition, timeout=_PATIENCE)
        )
        return Offset(low), Offset(high)

    def check(self) -> None:
        """Raise AccessDenied where the brokers have refused a client since."""
        if self._refusal is not None:
            error, self._refusal = self._refusal, None
            raise self.problem(error)

    def problem(self, error: KafkaError) -> OpenmirrorError:
        """What a client's error means here."""
        where = ",".join(self._address.brokers)
        if error.code() in _DENIED:
            return AccessDenied(
                f"{where} refuses: {error.str()}. Whoever follows a topic needs to describe and "
                "read it; set what brokers ask for in the file of --client-config"
            )
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID):
            return StreamReplaced(
                f"{self._address} is gone ({error.str()}): what it had and has not landed is lost. "
                "Let the connector begin a topic anew by a new snapshot, then run with --anew"
            )
        return Unavailable(f"{where} does not answer: {error.str()}")

    def cleanup_policy(self, topic: str) -> str | None:
        """What becomes of a topic's old records; None where the brokers do not say it."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        future = self._admin.describe_configs([resource], request_timeout=_PATIENCE)[resource]
        try:
            return str(future.result()["cleanup.policy"].value)
        except KeyError:
            return None
        except KafkaException as error:
            if error.args[0].code() in _UNKNOWN:
                return None
            raise self.problem(error.args[0]) from None

    def _asked(self, ask: Callable[[], _Answer]) -> _Answer:
        try:
            return ask()
        except KafkaException as error:
            self._admin.poll(0)
            self.check()
            raise self.problem(error.args[0]) from None

    def _heard(self, error: KafkaError) -> None:
        """From the client's own thread: a refusal that no call reports."""
        if error.code() in _DENIED:
            self._refusal = error


def _words(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return first.str() if isinstance(first, KafkaError) else str(first)
