"""Dead letters: messages that were given up, kept whole until a person has dealt with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

CONTAINER = "dead-letters"
"""Event Grid writes its dead letters here too, below folders named in capitals."""


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """One message that nobody could deliver or handle."""

    source: str
    """Where it was meant to go: a queue, or `event-grid` for what never reached one."""
    identity: str
    """Unique among those of its source; of `a`-`z`, `A`-`Z`, `0`-`9` and `-`."""
    at: datetime
    """When it was given up, as far as is known."""
    reason: str
    """For people."""
    body: bytes
    """The payload as it was."""

    @property
    def name(self) -> str:
        """How an operator names it: `<source>/<date>/<identity>`."""
        return f"{self.source}/{self.at:%Y-%m-%d}/{self.identity}"


class DeadLetters(Protocol):
    """Keeps dead letters until they are deleted."""

    def keep(self, dead_letter: DeadLetter) -> None:
        """Keep a dead letter; keeping it again changes nothing."""
        ...

    def names(self) -> list[str]:
        """The names of all dead letters, the newest first."""
        ...

    def read(self, name: str) -> DeadLetter:
        """One dead letter; raises NotThere for a name that has none, or none any more."""
        ...

    def delete(self, name: str) -> None:
        """Delete a dead letter; harmless when it is gone."""
        ...


@dataclass(frozen=True)
class UndeliveredEvent:
    """What Event Grid wrote down when it gave up delivering."""

    path: str
    body: bytes


class UndeliveredEvents(Protocol):
    """Event Grid's own dead letters."""

    def waiting(self, most: int) -> list[UndeliveredEvent]:
        """Some that nobody has collected yet; none where there is no place for them."""
        ...

    def delete(self, path: str) -> None:
        """It was collected; harmless when it is gone."""
        ...


class Requeuer(Protocol):
    """Puts a message back into one of the queues."""

    def send(self, queue: str, body: bytes) -> None:
        """Send a message as its first sender would have."""
        ...
