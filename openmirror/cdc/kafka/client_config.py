"""How brokers are reached: what this product needs, and what the user adds in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openmirror.errors import WrongRequest
from openmirror.topic_address import BrokerKind, TopicAddress

ClientConfig = Mapping[str, Any]
"""Properties of librdkafka, by their names."""
BearerTokens = Callable[[str], tuple[str, float]]
"""For a resource, a bearer token and when it expires, in seconds since 1970."""

_OURS: ClientConfig = {
    # Nothing is committed there: a stream's place is in its document.
    "group.id": "openmirror",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A place that is gone is an error, never the next one that is left.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    # What a producer took back never was.
    "isolation.level": "read_committed",
    "check.crcs": True,
}
_DEFAULTS: ClientConfig = {
    # What is fetched beforehand, and a single record may be as large as a client takes it.
    "queued.max.messages.kbytes": 64 << 10,
    "receive.message.max.bytes": 1_000_000_000,
    # What fails is raised; the client would write a line a second besides while brokers are away.
    "log_level": 2,
    # Or brokers that are back are asked after ten seconds.
    "reconnect.backoff.max.ms": 1_000,
    # Event Hubs closes connections that are idle for four minutes.
    "connections.max.idle.ms": 180_000,
}
_CONNECTION_STRING = "$ConnectionString"


def client_config(address: TopicAddress, own: ClientConfig, tokens: BearerTokens) -> ClientConfig:
    """All properties for an address; `own` are the user's.

    Event Hubs are asked with the connection string that stands in `own` as `sasl.password`, else
    with tokens of `tokens`.
    """
    config = {**_DEFAULTS, **own, **_OURS, "bootstrap.servers": ",".join(address.brokers)}
    if address.kind is not BrokerKind.EVENT_HUBS:
        return config
    config = {"security.protocol": "SASL_SSL", **config}
    if "sasl.password" in own:
        return {"sasl.mechanisms": "PLAIN", "sasl.username": _CONNECTION_STRING, **config}
    resource = f"https://{address.host}/.default"
    return {
        **config,
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": lambda _: tokens(resource),
    }


def read_client_config(path: Path) -> ClientConfig:
    """The properties in a file, a `name=value` a line; raises WrongRequest for any other line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongRequest(f"{path} cannot be read: {error}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        where = f"{path}, line {number}"
        if not equals or not name:
            raise WrongRequest(f"{where}: write name=value")
        if name == "sasl.jaas.config":
            raise WrongRequest(
                f"{where}: {name} is for clients in Java. Write its parts as sasl.mechanisms, "
                "sasl.username and sasl.password"
            )
        if name in _OURS or name == "bootstrap.servers":
            raise WrongRequest(f"{where}: {name} is not for users to choose here; remove the line")
        if name in found:
            raise WrongRequest(f"{where}: {name} stands there twice")
        found[name] = value
    return found
