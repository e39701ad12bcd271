"""Mirrors as a whole, and their tables page by page: what status shows over HTTP."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from openmirror.errors import SOLUTIONS, Malformed
from openmirror.operate.report import (
    heartbeat,
    mirror_unreadable,
    statuses_of,
    unlisted,
)
from openmirror.protocol.names import TablePath
from openmirror.protocol.rules import Broken
from openmirror.reconcile.discovery import explore
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirror_reads import read_settings
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import TableStatus, Trouble, Word, at_second, held_since
from openmirror.table.control import Hold

LATE = timedelta(minutes=15)
"""An older heartbeat means that nothing is at work; it is many times the interval of a sweep."""
MOST_ON_A_PAGE = 200
"""Tables on one page; each costs an observation."""


class MirrorState(StrEnum):
    """A mirror's status in Fabric's own words."""

    INITIALIZED = "Initialized"
    RUNNING = "Running"
    STOPPED = "Stopped"


@dataclass(frozen=True)
class MirrorHead:
    """The status of a mirror itself, whatever its tables do."""

    name: str
    state: MirrorState
    heartbeat: datetime | None
    """The newest heartbeat; None where no runner or sweep was ever at work."""
    trouble: Trouble | None = None


@dataclass(frozen=True)
class TablePage:
    """Some tables of a mirror, by name."""

    tables: list[TableStatus]
    more: TablePath | None = None
    """The last table here, when others follow it."""


def mirror_head(ports: RootPorts, mirror: str) -> MirrorHead:
    """The status of a mirror; reads three small files, and observes no table."""
    try:
        beat = heartbeat(ports.store, mirror)
        settings, _ = read_settings(ports.store, mirror)
        hold = Documents(ports.store).mirror(mirror).value.hold
    except Exception as error:  # noqa: BLE001 - mirror_unreadable raises it again if it is fatal
        trouble = mirror_unreadable(mirror, error).problem
        return MirrorHead(mirror, MirrorState.STOPPED, None, trouble)
    trouble = None
    if isinstance(settings, Broken):
        trouble = Trouble(settings.code.value, settings.detail, SOLUTIONS[settings.code])
    if hold:
        return MirrorHead(mirror, MirrorState.STOPPED, beat, trouble or _held(mirror, hold))
    if beat is None:
        return MirrorHead(mirror, MirrorState.INITIALIZED, None, trouble)
    if ports.clock() - beat <= LATE:
        return MirrorHead(mirror, MirrorState.RUNNING, beat, trouble)
    silent = Trouble(
        Word.NO_HEARTBEAT,
        f"neither a runner nor a sweep has been at work since {at_second(beat)}",
        "Start `openmirror up`, or see that the Function App and its timers run.",
        since=beat,
    )
    return MirrorHead(mirror, MirrorState.STOPPED, beat, trouble or silent)


def _held(mirror: str, hold: Hold) -> Trouble:
    return Trouble(
        Word.HELD,
        f"every table is {held_since(hold)}",
        f"`openmirror resume --mirror {mirror}` lets it go on.",
        since=hold.since,
    )


def table_page(
    ports: RootPorts, mirror: str, after: TablePath | None = None, most: int = MOST_ON_A_PAGE
) -> TablePage:
    """The tables of a mirror that come after one, at most so many of them.

    A zone that cannot be listed is one entry that says so, as in `statuses`.
    """
    try:
        found = explore(ports.store, mirror)
        folders = [folder for folder in found.folders if after is None or folder.path > after]
        page, rest = folders[:most], folders[most:]
        while rest and rest[0].path == page[-1].path:  # a history stands behind its current table
            page.append(rest.pop(0))
        tables = statuses_of(ports, mirror, page)
        if after is None:
            tables = [*unlisted(mirror, found), *tables]
    except Exception as error:  # noqa: BLE001 - mirror_unreadable raises it again if it is fatal
        return TablePage([mirror_unreadable(mirror, error)])
    return TablePage(tables, page[-1].path if rest else None)


def token_of(path: TablePath) -> str:
    """Where to go on after a table, for an address."""
    return base64.urlsafe_b64encode(str(path).encode()).decode()


def path_of(token: str) -> TablePath:
    """The table that a token goes on after; raises Malformed for one that is none of ours."""
    try:
        return TablePath.parse(base64.b64decode(token, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        raise Malformed("continuationToken: not one that this service gave") from None
