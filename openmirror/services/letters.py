"""Messages that were given up: kept, shown, and put back when their cause is gone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import NAMESPACE_URL, uuid5

from openmirror.doorbells import EVENTS_QUEUE, WORK_QUEUE, decode, decode_buried, plain
from openmirror.errors import NotThere
from openmirror.events import NoEvent, ReadEvent
from openmirror.ports import NoTelemetry, Telemetry
from openmirror.ports.letters import DeadLetter, DeadLetters, Letter, Letters, Post

EVENT_GRID = "event-grid"
"""The source of what Event Grid could not deliver."""

QUEUE_OF = {EVENTS_QUEUE: EVENTS_QUEUE, WORK_QUEUE: WORK_QUEUE, EVENT_GRID: EVENTS_QUEUE}
"""Where a letter of each source goes when it is put back."""

ReadEvents = Callable[[bytes], Sequence[ReadEvent]]


_NOBODY = NoTelemetry()


def keep_event(
    letters: Letters,
    read: ReadEvents,
    identity: str,
    body: bytes,
    at: datetime,
    telemetry: Telemetry = _NOBODY,
) -> Letter:
    """Keep a message of the queue of landing events, saying what is wrong with it."""
    body = plain(body)
    wrong = [event.reason for event in read(body) if isinstance(event, NoEvent)]
    reason = wrong[0] if wrong else "handling it failed again and again; see the function's errors"
    letter = Letter(source=EVENTS_QUEUE, identity=identity, at=at, reason=reason, body=body)
    return _kept(letters, letter, telemetry)


def keep_ring(
    letters: Letters,
    identity: str,
    body: bytes,
    at: datetime,
    telemetry: Telemetry = _NOBODY,
) -> Letter:
    """Keep a message of the work queue as it was sent, saying whose it is and why it was buried."""
    body = plain(body)
    if buried := decode_buried(body.decode("utf-8", "replace")):
        body = buried.body.encode()
    ring = decode(body.decode("utf-8", "replace"))
    if buried:
        reason = f"{ring.folder}: {buried.why}" if ring else buried.why
    elif ring:
        reason = f"visiting {ring.folder} failed again and again; see its status"
    else:
        reason = "it is no doorbell message"
    letter = Letter(source=WORK_QUEUE, identity=identity, at=at, reason=reason, body=body)
    return _kept(letters, letter, telemetry)


def _kept(letters: Letters, letter: Letter, telemetry: Telemetry) -> Letter:
    """Told only then: who dies in between finds the message again, and tells it."""
    letters.keep(letter)
    telemetry.letter_kept(letter)
    return letter


MOST_AT_ONCE = 500
"""Dead letters that one pass collects; the next one goes on."""


def collect(
    letters: Letters, dead: DeadLetters, at: datetime, telemetry: Telemetry = _NOBODY
) -> list[Letter]:
    """Keep what Event Grid gave up, so that all letters lie in one place.

    A pass that dies half way leaves a letter in both places; the next one makes it one.
    """
    kept = []
    for found in dead.waiting(MOST_AT_ONCE):
        kept.append(_kept(letters, _from_event_grid(found, at), telemetry))
        dead.delete(found.path)
    return kept


def count(letters: Letters, telemetry: Telemetry) -> Mapping[str, int]:
    """How many letters there are of each source, 0 as well; tells it."""
    found = Counter(name.partition("/")[0] for name in letters.names())
    counts = {source: found[source] for source in QUEUE_OF}
    telemetry.letters_wait(counts)
    return counts


def _from_event_grid(found: DeadLetter, at: datetime) -> Letter:
    events = _events(found.body)
    first: Mapping[str, object] = events[0] if events else {}
    said = {key.lower(): value for key, value in first.items()}
    why = said.get("deadletterreason") or "Event Grid gave no reason"
    attempts = said.get("deliveryattempts")
    outcome = said.get("lastdeliveryoutcome")
    reason = f"{len(events)} event(s): {why}"
    if attempts is not None:
        reason += f" after {attempts} attempts"
    if outcome is not None:
        reason += f", the last of which ended with {outcome}"
    return Letter(
        source=EVENT_GRID,
        identity=str(uuid5(NAMESPACE_URL, found.path)),
        at=_moment(said.get("publishtime")) or at,
        reason=reason,
        body=found.body,
    )


def _events(body: bytes) -> list[Mapping[str, object]]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return []
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None


@dataclass(frozen=True)
class Mailbox:
    """What status shows of the letters."""

    count: int
    newest: tuple[Letter, ...]


def mailbox(letters: Letters, most: int = 10) -> Mailbox:
    """How many letters there are, and the newest of them."""
    names = letters.names()
    return Mailbox(len(names), tuple(islice(_still_there(letters, names), most)))


def _still_there(letters: Letters, names: Iterable[str]) -> Iterator[Letter]:
    for name in names:
        with suppress(NotThere):  # put back since they were listed
            yield letters.read(name)


def requeue(letters: Letters, post: Post, name: str) -> Letter:
    """Put a letter back into its queue and forget it; a crash in between may repeat it.

    Raises NotThere when there is no such letter.
    """
    letter = letters.read(name)
    for body in _messages(letter):
        post.send(QUEUE_OF[letter.source], body)
    letters.delete(name)
    return letter


def _messages(letter: Letter) -> Iterator[bytes]:
    """What Event Grid dead-letters together may be too much for one message of a queue."""
    events = _events(letter.body) if letter.source == EVENT_GRID else []
    if not events:
        yield letter.body
    for event in events:
        yield json.dumps(event).encode()
