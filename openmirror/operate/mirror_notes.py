"""What there is to know of a mirror beside its tables: who publishes, and what lies misplaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from openmirror.errors import SOLUTIONS, is_of_one_place
from openmirror.operate.listed import listed
from openmirror.operate.stream_notes import MirrorStreams, declared_in, streams_of
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import (
    PARTNER_EVENTS_FILE,
    SCHEMA_SUFFIX,
    fold_case,
    is_reserved,
)
from openmirror.protocol.naming_scheme import NamingScheme, may_hold_changes
from openmirror.protocol.partner import Partner, parse_partner_events
from openmirror.protocol.rules import Code
from openmirror.reconcile.mirror_reads import read_settings
from openmirror.status import MirrorNotes, Warn, stream_warnings
from openmirror.table import layout
from openmirror.table.layout import StorePath

_Found = tuple[StorePath, str]


def mirror_notes(store: FileStore, mirror: str, now: datetime) -> MirrorNotes:
    """What there is to know of one mirror; lists its folders, and observes no table."""
    settings, _ = read_settings(store, mirror)
    streams = streams_of(store, mirror, declared_in(settings))
    return MirrorNotes(
        mirror=mirror,
        partner=partner_of(store, mirror),
        warnings=tuple(_not_applied(store, mirror, streams)),
        streams=streams.notes,
        of_relays=tuple(
            why for note in streams.notes for why in stream_warnings(mirror, note, now)
        ),
    )


def not_applied(store: FileStore, mirror: str) -> list[Warn]:
    """What was sent into a mirror and feeds no table, one warning for each reason."""
    return list(_not_applied(store, mirror, streams_of(store, mirror)))


def _not_applied(store: FileStore, mirror: str, streams: MirrorStreams) -> Iterator[Warn]:
    by_reason: dict[str, list[StorePath]] = {}
    for path, reason in _misplaced(store, mirror):
        by_reason.setdefault(reason, []).append(path)
    yield from (_warning(reason, paths) for reason, paths in by_reason.items())
    yield from streams.unread
    yield from (why for _, why in streams.stopped(mirror))


def all_notes(store: FileStore, mirrors: Iterable[str], now: datetime) -> list[MirrorNotes]:
    """The notes of these mirrors, and of folders that may be meant for one and are none."""
    known = list(mirrors)
    return [mirror_notes(store, name, now) for name in (*known, *stray_mirrors(store, known))]


def stray_mirrors(store: FileStore, known: Iterable[str]) -> Iterator[str]:
    """Folders of `landing` that have no landing zone, and something like one."""
    for entry in listed(store, layout.LANDING):
        name = entry.name
        if not entry.is_folder or is_reserved(name) or name in known:
            continue
        if store.incarnation(layout.landing_zone(name)) is None and any(_wrong_zones(store, name)):
            yield name


def partner_of(store: FileStore, mirror: str) -> Partner | None:
    """Who publishes into a mirror, in its own words; None without a file that can be read."""
    try:
        content = store.read(layout.join(layout.landing_zone(mirror), PARTNER_EVENTS_FILE))
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return None  # it says who publishes, and decides nothing: no table may wait for it
    return parse_partner_events(content.data)


def _warning(reason: str, paths: list[StorePath]) -> Warn:
    more = f", like {len(paths) - 1} more" if len(paths) > 1 else ""
    code = Code.FILE_MISPLACED
    return Warn(code, f"feeds no table{more}: {reason}", SOLUTIONS[code], paths[0])


def _misplaced(store: FileStore, mirror: str) -> Iterator[_Found]:
    yield from _wrong_zones(store, mirror)
    zone = layout.landing_zone(mirror)
    for entry in listed(store, zone):
        path = layout.join(zone, entry.name)
        if not entry.is_folder:
            if _may_be_change(entry):
                yield path, "a change file lies in a table folder, not beside them"
        elif entry.name == SCHEMA_SUFFIX:
            yield path, f"the name of a schema is missing before {SCHEMA_SUFFIX}"
        elif entry.name.endswith(SCHEMA_SUFFIX):
            for child in listed(store, path):
                if not child.is_folder and _may_be_change(child):
                    reason = "a change file lies in a table folder, not in a schema's"
                    yield layout.join(path, child.name), reason


def _wrong_zones(store: FileStore, mirror: str) -> Iterator[_Found]:
    """Folders that are called almost as the landing zone is, or lie almost where it does."""
    top = layout.join(layout.LANDING, mirror)
    reason = f"the landing zone is {layout.landing_zone('<mirror>')}, in this very spelling"
    for entry in listed(store, top):
        path = layout.join(top, entry.name)
        if not entry.is_folder:
            continue
        if fold_case(entry.name) == fold_case(layout.ZONE[-1]):
            yield path, reason
        if fold_case(entry.name) == fold_case(layout.FILES):
            for child in listed(store, path):
                is_zone = child.is_folder and fold_case(child.name) == fold_case(layout.ZONE[-1])
                if is_zone and (entry.name, child.name) != layout.ZONE:
                    yield layout.join(path, child.name), reason


def _may_be_change(entry: Entry) -> bool:
    return not is_reserved(entry.name) and may_hold_changes(
        NamingScheme(), entry.name, is_folder=False
    )
