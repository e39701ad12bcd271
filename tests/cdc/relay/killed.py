"""A relay that kills or stalls itself at a named point.

`python -m tests.cdc.relay.killed ROOT POINT COUNT SIGNAL` lands `EVENTS` from where it had come,
and sends itself SIGKILL or SIGSTOP when the point has been reached COUNT times. POINT `never` lets
it end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.protocol.rows import EXTENSIONS
from openmirror.publishing.tidying import STAGED
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import name_of
from tests.cdc.relay.sources import Event, Rows, Stream
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ZONE

STREAM = "shop"
BATCH = 4
"""Records of one batch: the two halves of the changed key are in two of them."""
SURVIVED = 9
"""Exit code where the point was not reached so often."""


def _change(place: int, op: str, number: int, text: str | None = None, table: str = "one") -> Event:
    return Event(table, op, number, text, (place, place), place)


def _read(number: int, text: str) -> Event:
    return Event("one", "r", number, text, (16, 16))


_MOVED = Event("one", "d", 1, None, (12, 12), 12, pair="newkey")
EVENTS: tuple[Event, ...] = (
    Event("one", "r", 1, "a"),
    Event("one", "r", 2, "b"),
    Event("two", "r", 9, "nine"),
    _change(10, "c", 3, "c"),
    _change(11, "u", 2, "B"),
    _change(11, "u", 9, "NINE", "two"),
    _change(11, "c", 8, "eight", "two"),
    _MOVED,
    Event("one", "c", 5, "a", (12, 12), 12, pair="oldkey"),
    _change(13, "d", 9, None, "two"),
    _change(14, "t", 0, None, "two"),
    _change(15, "c", 7, "seven", "two"),
    # Its connector takes a new snapshot of one table.
    _read(2, "B"),
    _read(5, "a"),
    _change(17, "c", 6, "six"),
    _change(18, "u", 6, "SIX"),
)
HISTORY: dict[str, list[Rows]] = {
    "one": [
        {},
        {1: "a"},
        {1: "a", 2: "b"},
        {1: "a", 2: "b", 3: "c"},
        {1: "a", 2: "B", 3: "c"},
        {2: "B", 3: "c", 5: "a"},
        # The snapshot, which has no row 3.
        {2: "B"},
        {2: "B", 5: "a"},
        {2: "B", 5: "a", 6: "six"},
        {2: "B", 5: "a", 6: "SIX"},
    ],
    "two": [
        {},
        {9: "nine"},
        {9: "NINE"},
        {9: "NINE", 8: "eight"},
        {8: "eight"},
        {},
        {7: "seven"},
    ],
}
"""What each table holds, one state after the other."""


def _staged(call: Call) -> bool:
    return call.method == "write" and name_of(call.path).startswith(STAGED)


def _renamed(call: Call) -> bool:
    return call.method == "move_file" and name_of(call.path).startswith(STAGED)


def _of_document(call: Call) -> bool:
    return call.method == "write" and call.path.endswith(f"{STREAM}.json")


POINTS: dict[str, Callable[[Call], bool]] = {
    "after staging": _staged,
    "after a rename": _renamed,
    "after the document": _of_document,
    "never": lambda call: False,
}


def relay(root: Path, watch: Callable[[Call], object], source: Stream) -> Relay:
    """A relay of the events over a local root."""
    store = WatchedStore(LocalStore(root), after=watch)
    options = RelayOptions(most_records=BATCH, idle_seconds=0, takes=EXTENSIONS)
    return Relay(store, ZONE, STREAM, source, source.decode, options)


def main(root: Path, point: str, count: int, how: signal.Signals = signal.SIGKILL) -> int:
    """The exit code, where it ends by itself."""
    left = count

    def watch(call: Call) -> None:
        nonlocal left
        if not POINTS[point](call):
            return
        left -= 1
        if not left:
            os.kill(os.getpid(), how)

    stream = Stream(events=[*EVENTS])
    made = relay(root, watch, stream)
    made.open()
    while True:
        if not made.step().records:
            return SURVIVED if point != "never" else 0


def ends(root: Path, point: str, count: int, how: signal.Signals) -> None:
    """What a process of its own runs."""
    sys.exit(main(root, point, count, how))


if __name__ == "__main__":
    ends(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), signal.Signals[sys.argv[4]])
