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

from openmirror.errors import NotThere
from openmirror.ports import NoTelemetry, Telemetry
from openmirror.ports.dead_letters import (
    DeadLetter,
    DeadLetters,
    Requeuer,
    UndeliveredEvent,
    UndeliveredEvents,
)
from openmirror.ports.landing_events import NoEvent, ReadEvent
from openmirror.ports.work_items import (
    EVENTS_QUEUE,
    WORK_QUEUE,
    decode,
    decode_dead_lettered,
    plain,
)

EVENT_GRID = "event-grid"
"""The source of what Event Grid could not deliver."""

QUEUE_OF = {EVENTS_QUEUE: EVENTS_QUEUE, WORK_QUEUE: WORK_QUEUE, EVENT_GRID: EVENTS_QUEUE}
"""The queue that a dead letter of each source is put back into."""

ReadEvents = Callable[[bytes], Sequence[ReadEvent]]


_NOBODY = NoTelemetry()


def keep_event(
    dead_letters: DeadLetters,
    read: ReadEvents,
    identity: str,
    body: bytes,
    at: datetime,
    telemetry: Telemetry = _NOBODY,
) -> DeadLetter:
    """Keep a message of the queue of landing events, with what is wrong with it."""
    body = plain(body)
    wrong = [event.reason for event in read(body) if isinstance(event, NoEvent)]
    reason = wrong[0] if wrong else "handling it failed again and again; see the function's errors"
    dead_letter = DeadLetter(
        source=EVENTS_QUEUE, identity=identity, at=at, reason=reason, body=body
    )
    return _kept(dead_letters, dead_letter, telemetry)


def keep_work_item(
    dead_letters: DeadLetters,
    identity: str,
    body: bytes,
    at: datetime,
    telemetry: Telemetry = _NOBODY,
) -> DeadLetter:
    """Keep a message of the work queue as it was sent, with its table and why it was given up."""
    body = plain(body)
    if dead_lettered := decode_dead_lettered(body.decode("utf-8", "replace")):
        body = dead_lettered.body.encode()
    work_item = decode(body.decode("utf-8", "replace"))
    if dead_lettered:
        reason = f"{work_item.folder}: {dead_lettered.why}" if work_item else dead_lettered.why
    elif work_item:
        reason = f"reconciling {work_item.folder} failed again and again; see its status"
    else:
        reason = "it is no work item"
    dead_letter = DeadLetter(source=WORK_QUEUE, identity=identity, at=at, reason=reason, body=body)
    return _kept(dead_letters, dead_letter, telemetry)


def _kept(dead_letters: DeadLetters, dead_letter: DeadLetter, telemetry: Telemetry) -> DeadLetter:
    """Keep it, then emit it: after a crash in between the message is kept and emitted again."""
    dead_letters.keep(dead_letter)
    telemetry.dead_letter_kept(dead_letter)
    return dead_letter


MOST_AT_ONCE = 500
"""Dead letters that one pass collects; the next one goes on."""


def collect(
    dead_letters: DeadLetters, dead: UndeliveredEvents, at: datetime, telemetry: Telemetry = _NOBODY
) -> list[DeadLetter]:
    """Keep what Event Grid gave up, so that all dead letters lie in one place.

    A pass that dies half way leaves one in both places; the next pass mends that.
    """
    kept = []
    for found in dead.waiting(MOST_AT_ONCE):
        kept.append(_kept(dead_letters, _from_event_grid(found, at), telemetry))
        dead.delete(found.path)
    return kept


def count(dead_letters: DeadLetters, telemetry: Telemetry) -> Mapping[str, int]:
    """How many dead letters there are of each source, 0 as well; emits the counts."""
    found = Counter(name.partition("/")[0] for name in dead_letters.names())
    counts = {source: found[source] for source in QUEUE_OF}
    telemetry.dead_letters_waiting(counts)
    return counts


def _from_event_grid(found: UndeliveredEvent, at: datetime) -> DeadLetter:
    events = _events(found.body)
    first: Mapping[str, object] = events[0] if events else {}
    properties = {key.lower(): value for key, value in first.items()}
    why = properties.get("deadletterreason") or "Event Grid gave no reason"
    attempts = properties.get("deliveryattempts")
    outcome = properties.get("lastdeliveryoutcome")
    reason = f"{len(events)} event(s): {why}"
    if attempts is not None:
        reason += f" after {attempts} attempts"
    if outcome is not None:
        reason += f", the last of which ended with {outcome}"
    return DeadLetter(
        source=EVENT_GRID,
        identity=str(uuid5(NAMESPACE_URL, found.path)),
        at=_moment(properties.get("publishtime")) or at,
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
class DeadLetterPage:
    """What the status page shows of the dead letters."""

    count: int
    newest: tuple[DeadLetter, ...]


def dead_letter_page(dead_letters: DeadLetters, most: int = 10) -> DeadLetterPage:
    """How many dead letters there are, and the newest of them."""
    names = dead_letters.names()
    return DeadLetterPage(len(names), tuple(islice(_still_there(dead_letters, names), most)))


def _still_there(dead_letters: DeadLetters, names: Iterable[str]) -> Iterator[DeadLetter]:
    for name in names:
        with suppress(NotThere):  # put back since they were listed
            yield dead_letters.read(name)


def requeue(dead_letters: DeadLetters, requeuer: Requeuer, name: str) -> DeadLetter:
    """Put a dead letter back into its queue and delete it; a crash in between may repeat it.

    Raises NotThere when there is no such dead letter.
    """
    dead_letter = dead_letters.read(name)
    for body in _messages(dead_letter):
        requeuer.send(QUEUE_OF[dead_letter.source], body)
    dead_letters.delete(name)
    return dead_letter


def _messages(dead_letter: DeadLetter) -> Iterator[bytes]:
    """The messages to send: one for each event, since all together may exceed a queue's message."""
    events = _events(dead_letter.body) if dead_letter.source == EVENT_GRID else []
    if not events:
        yield dead_letter.body
    for event in events:
        yield json.dumps(event).encode()
