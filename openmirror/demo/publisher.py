"""The demo's publisher, a process of its own: `python -m openmirror.demo.publisher --help`.

It touches nothing but the landing zone, in a folder or on a storage account, and reports what it
does in lines on its output: `day <ISO date>` and `news <text>`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing
from datetime import date
from pathlib import Path

from openmirror.demo.scope import Scope
from openmirror.demo.source import KEYS, TABLES, read_source
from openmirror.demo.story import Begin, Day, Loaded, News, Publish, story
from openmirror.protocol.names import ROW_MARKER_COLUMN, TablePath
from openmirror.protocol.rows import Marker
from openmirror.publishing import BatchLimits, Publisher, PublisherOptions, TableWriter
from openmirror.publishing.backlog import mirror_status
from openmirror.publishing.places import ZonePlace, zone_place
from openmirror.table import layout

MIRROR = "nycflights"
KEY = "OPENMIRROR_ACCOUNT_KEY"
"""The variable with an account's key, for emulators."""
_OPTIONS = PublisherOptions(limits=BatchLimits(seconds=None))
_PATIENCE = 120.0
"""Seconds to wait for the initial loads to be mirrored; a publisher goes on then all the same."""


def publish(root: str, key: str | None, scope: Scope) -> None:
    """Land the whole story, at its own pace, in the landing zone below a root."""
    folder = layout.landing_zone(MIRROR)
    zone: Path | str = f"{root}/{folder}" if "://" in root else Path(root) / folder
    place = zone_place(zone, key)
    with closing(place), Publisher.of_store(place.store, place.path, _OPTIONS) as publisher:
        publisher.introduce("openmirror demo", "nycflights13")
        writers: dict[str, TableWriter] = {}
        due = time.monotonic()
        for action in story(read_source(), scope):
            match action:
                case Begin(table):
                    if table in writers:
                        writers[table].close()
                    writers[table] = publisher.table(table, KEYS[table], recreate=True)
                case Publish(table, rows):
                    is_load = ROW_MARKER_COLUMN not in rows.column_names
                    writers[table].publish(rows, marker=Marker.INSERT if is_load else None)
                    writers[table].flush()
                case Loaded():
                    _say("news the initial loads are published")
                    _wait_until_replicated(place)
                    due = time.monotonic()
                case Day(day):
                    time.sleep(max(0.0, due - time.monotonic()))
                    due += scope.seconds_per_day
                    _say(f"day {day.isoformat()}")
                case News(text):
                    _say(f"news {text}")


def _wait_until_replicated(place: ZonePlace) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if all(_is_replicated(place, table) for table in TABLES):
            return
        time.sleep(0.2)


def _is_replicated(place: ZonePlace, table: str) -> bool:
    says = mirror_status(place.store, place.path, TablePath("", table), _OPTIONS.default_schema)
    return says is not None and says.status == "Replicating"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def arguments(root: str, scope: Scope) -> list[str]:
    """The arguments that make this program publish that scope to a folder or an account."""
    return [
        f"--root={root}",
        f"--history-from={scope.history_from}",
        f"--days-from={scope.days_from}",
        f"--until={scope.until}",
        f"--seconds-per-day={scope.seconds_per_day}",
    ]


def main() -> None:
    """Parse the arguments and publish."""
    parser = argparse.ArgumentParser(description="Publish flights of 2013 into a landing zone.")
    parser.add_argument("--root", required=True, help="a folder, or an account's URL")
    parser.add_argument("--history-from", type=date.fromisoformat, required=True)
    parser.add_argument("--days-from", type=date.fromisoformat, required=True)
    parser.add_argument("--until", type=date.fromisoformat, required=True)
    parser.add_argument("--seconds-per-day", type=float, required=True)
    given = parser.parse_args()
    scope = Scope(given.history_from, given.days_from, given.until, given.seconds_per_day)
    publish(given.root, os.environ.get(KEY), scope)


if __name__ == "__main__":
    main()
