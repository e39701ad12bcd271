"""What a topic is, and whether changes in it can be followed exactly."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.errors import OpenmirrorError
from openmirror.protocol.streams import StreamIdentity


class TopicRefused(OpenmirrorError):
    """The topic cannot be followed as it is; the message has the remedy."""


@dataclass(frozen=True)
class TopicFacts:
    """What its brokers say of a topic."""

    topic: str
    identity: StreamIdentity
    """A topic that is deleted and made again has another one."""
    partitions: int
    cleanup_policy: str | None = None
    """None where the brokers do not say it, or were not asked."""


def need_followable(facts: TopicFacts) -> None:
    """Raise TopicRefused where changes would get lost, or come in another order."""
    if facts.partitions != 1:
        raise TopicRefused(
            f"StreamPartitioned: topic {facts.topic} has {facts.partitions} partitions. Changes "
            "are in order within a partition only, and a truncate or a changed key concerns all of "
            "a table: give the topic one partition. Make it anew so, and let the connector take a "
            "new snapshot into it"
        )
    if "compact" in (facts.cleanup_policy or ""):
        raise TopicRefused(
            f"topic {facts.topic} is compacted (cleanup.policy={facts.cleanup_policy}), which "
            "removes changes before they are read, deletes among them. Set cleanup.policy=delete, "
            "and let the connector take a new snapshot"
        )
