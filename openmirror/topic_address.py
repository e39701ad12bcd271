"""Where a topic is, as people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Self
from urllib.parse import urlsplit

from openmirror.errors import WrongRequest

_FORM = "kafka://broker:9092/topic, or eventhubs://NAMESPACE.servicebus.windows.net/hub"
_BROKER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:@/\[\]]+)(?::(?P<port>[0-9]{1,5}))?\Z")
_TOPIC = re.compile(r"[A-Za-z0-9._*-]{1,249}\Z")


class BrokerKind(Enum):
    """What serves the topic, by the URL's scheme; with the port where none is named."""

    KAFKA = ("kafka", 9092)
    EVENT_HUBS = ("eventhubs", 9093)

    @property
    def port(self) -> int:
        """Where it listens by default."""
        return self.value[1]


_KINDS: Mapping[str, BrokerKind] = {kind.value[0]: kind for kind in BrokerKind}


@dataclass(frozen=True)
class TopicAddress:
    """Topics of one cluster."""

    kind: BrokerKind
    brokers: tuple[str, ...]
    """Each `host:port`; those that are asked first for all others."""
    pattern: str
    """A topic's name, where `*` stands for any characters."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL; raises WrongRequest, which never shows a password."""
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise WrongRequest(f"the topic's URL cannot be read: {error}; {_FORM}") from None
        kind = _KINDS.get(parts.scheme)
        if kind is None:
            shown = f"{parts.scheme}://…" if parts.scheme else "it"
            raise WrongRequest(f"{shown} is no URL of a topic: {_FORM}")
        if "@" in parts.netloc:
            raise WrongRequest(
                "the topic's URL names a user: what brokers ask for stands in the file of "
                "--client-config (OPENMIRROR_CLIENT_CONFIG) instead, as sasl.username and "
                "sasl.password"
            )
        if parts.query or parts.fragment:
            raise WrongRequest(f"the topic's URL has more behind the topic's name: {_FORM}")
        pattern = parts.path.strip("/")
        if not _TOPIC.match(pattern):
            raise WrongRequest(
                f"{pattern!r} is no topic's name: a to z, A to Z, 0 to 9, '.', '_' and '-', and * "
                f"for any of them; {_FORM}"
            )
        return cls(kind, tuple(_broker(one, kind) for one in parts.netloc.split(",")), pattern)

    @property
    def host(self) -> str:
        """Of the first broker."""
        return self.brokers[0].rpartition(":")[0]

    def has(self, topic: str) -> bool:
        """Whether a topic is meant; those that Kafka or a connector keeps for itself are not."""
        return topic == self.pattern or (
            fnmatchcase(topic, self.pattern) and not topic.startswith("__")
        )

    def __str__(self) -> str:
        return f"{self.kind.value[0]}://{','.join(self.brokers)}/{self.pattern}"


def _broker(text: str, kind: BrokerKind) -> str:
    match = _BROKER.match(text)
    port = int(match["port"] or kind.port) if match else 0
    if match is None or not 0 < port < 1 << 16:
        raise WrongRequest(f"{text!r} is no broker: host:port; {_FORM}")
    return f"{match['host']}:{port}"
