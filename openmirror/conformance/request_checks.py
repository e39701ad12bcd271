"""How a publisher's history is assessed by each rule about requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from openmirror.conformance.exchanges import Deed, Exchange
from openmirror.conformance.history import (
    Appearance,
    Declared,
    Landing,
    PublisherHistory,
    Touch,
)
from openmirror.conformance.rules import Breach, Untried
from openmirror.plan.rules import changed_options
from openmirror.ports.landing_events import Elsewhere, Inside, location_of
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import ARCHIVE_FOLDER
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import file_stem
from openmirror.table import layout
from openmirror.table.control import FrozenOptions
from openmirror.table.layout import StorePath

_Assess = Callable[[PublisherHistory], Iterable[Breach] | Untried]

NO_REQUESTS = Untried("no request was seen: `openmirror check --serve` shows them")
NOTHING_LANDED = Untried("no change file was published")
_WRITES = frozenset(
    {
        Deed.MAKE_FILE,
        Deed.APPEND,
        Deed.FLUSH,
        Deed.PUT,
        Deed.RENAME,
        Deed.DELETE,
        Deed.MAKE_FOLDER,
        Deed.CHANGE,
    }
)
_LOCAL_IDENTITY = "_openmirror"


def breach(exchange: Exchange, what: str, place: str) -> Breach:
    """A breach by one request."""
    return Breach(what=what, place=place, request=exchange.number, at=exchange.at)


def place_of(landing: Landing) -> str:
    """A landed file as a report names it."""
    return f"{landing.folder}/{landing.name}"


def stays_in_zone(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Writes above, beside and at the landing zone itself."""
    writes = list(_writes(history))
    if not writes:
        return Untried("nothing was written")
    return [
        breach(exchange, f"{exchange.asked.deed} outside of a landing zone", path)
        for exchange, path in writes
        if not _in_zone(path) and not _in_monitoring(path)
    ]


def reserved_left_alone(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Writes to what belongs to the mirror; an archived file may be deleted."""
    writes = list(_writes(history))
    if not writes:
        return Untried("nothing was written")
    return [
        breach(exchange, f"{exchange.asked.deed} of what the mirror writes", path)
        for exchange, path in writes
        if _in_monitoring(path)
        or (_is_the_mirrors(path) and exchange.asked.deed is not Deed.DELETE)
    ]


def appears_whole(*, text: bool) -> _Assess:
    """Files that were made under their final name and filled there."""

    def assess(history: PublisherHistory) -> Iterable[Breach] | Untried:
        own = [one for one in history.landings if one.is_text == text]
        if not own:
            return Untried(f"no {'delimited text' if text else 'Parquet file'} was published")
        what = "made empty under its final name, and filled there"
        return [
            breach(one.exchange, what, place_of(one))
            for one in own
            if one.appearance is Appearance.PIECEMEAL
        ]

    return assess


def flush_closes(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Files that no flush ever called finished."""
    last: dict[str, tuple[Landing, Exchange]] = {}
    closed: set[str] = set()
    for landing, exchange in history.flushed:
        last[place_of(landing)] = landing, exchange
        if exchange.asked.closes:
            closed.add(place_of(landing))
    if not last:
        return Untried("no change file was flushed under its final name")
    return [
        breach(exchange, "flushed without close=true", place)
        for place, (_, exchange) in last.items()
        if place not in closed
    ]


def new_names_only(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Names that were taken whoever had them."""
    if not history.landings:
        return NOTHING_LANDED
    return [
        breach(one.exchange, f"{one.appearance} without If-None-Match: *", place_of(one))
        for one in history.landings
        if not one.exchange.asked.new_only
    ]


def never(touch: Touch, what: str) -> _Assess:
    """Published files to which this was done."""

    def assess(history: PublisherHistory) -> Iterable[Breach] | Untried:
        if not history.landings and not history.touched:
            return NOTHING_LANDED
        return [
            breach(one.exchange, what, f"{one.folder}/{one.name}")
            for one in history.touched
            if one.touch is touch
        ]

    return assess


def number_never_again(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Numbers that another file of the same incarnation had, and that is gone."""
    if len(history.landings) < 2 and not any(one.is_reused for one in history.landings):
        return Untried("no two change files were published")
    what = "another file had this name before"
    return [breach(one.exchange, what, place_of(one)) for one in history.landings if one.is_reused]


def next_number(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Numbers ahead of their turn."""
    numbered = [
        (one, one.number, one.expected)
        for one in history.landings
        if one.number is not None and one.expected is not None
    ]
    if not numbered:
        return Untried("no change file followed another")
    return [
        breach(one.exchange, f"{file_stem(expected)} comes next", place_of(one))
        for one, number, expected in numbered
        if number > expected
    ]


def anew_from_1(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """First files of a folder that have another number than 1."""
    first = [one for one in history.landings if one.is_first and one.number is not None]
    if not first:
        return Untried("no new table folder got a numbered file")
    return [
        breach(one.exchange, "the first file of a new folder", place_of(one))
        for one in first
        if one.number != 1
    ]


def metadata_first(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """First files of a folder that had no declaration yet."""
    first = [one for one in history.landings if one.is_first]
    if not first:
        return Untried("no new table folder got a change file")
    return [
        breach(one.exchange, "no _metadata.json with content was there before it", place_of(one))
        for one in first
        if not one.has_metadata
    ]


def options_kept(*, keys: bool) -> _Assess:
    """Declarations that change what files were published under."""

    def assess(history: PublisherHistory) -> Iterable[Breach] | Untried:
        again = list(_declared_again(history))
        if not again:
            return Untried("_metadata.json was not written again after a change file")
        found = []
        for before, now, declared in again:
            broken = changed_options(now, _frozen(before))
            if broken is not None and (broken.code is Code.KEY_COLUMNS_CHANGED) == keys:
                place = f"{declared.folder}/_metadata.json"
                found.append(breach(declared.exchange, broken.detail, place))
        return found

    return assess


def lists_one_level(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Lists that go down into archives."""
    lists = [one for one in history.exchanges if one.asked.deed is Deed.LIST]
    if not lists:
        return Untried("nothing was listed")
    return [
        breach(one, "listed with all that lies below", one.asked.path)
        for one in lists
        if one.asked.recursive and _in_zone(layout.join(one.asked.path, "any"))
    ]


def status_read(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Never broken by reading; that nobody reads it may be right."""
    if any(
        one.asked.deed is Deed.READ and _in_monitoring(one.asked.path) for one in history.exchanges
    ):
        return ()
    return Untried("Files/Monitoring was not read")


def leaves_nothing_staged(history: PublisherHistory) -> Iterable[Breach] | Untried:
    """Staged data that is still there."""
    if not history.left and not history.landings:
        return NOTHING_LANDED
    what = "staged, and neither renamed nor deleted"
    return [breach(one, what, _shown(one.asked.path)) for one in history.left]


def _writes(history: PublisherHistory) -> Iterator[tuple[Exchange, StorePath]]:
    """What was asked to be written, whether or not the account did it, with each path."""
    for exchange in history.exchanges:
        if exchange.asked.deed in _WRITES:
            yield exchange, exchange.asked.path
            if exchange.asked.source is not None:
                yield exchange, exchange.asked.source


def _in_zone(path: StorePath) -> bool:
    """Whether a path lies below a landing zone; the zone itself does not."""
    where = location_of(path)
    if not isinstance(where, Elsewhere):
        return True
    parts = path.split("/")
    return len(parts) > 4 and layout.join(layout.LANDING, *parts[1:4]) == layout.landing_zone(
        parts[1]
    )


def _in_monitoring(path: StorePath) -> bool:
    parts = path.split("/")
    return len(parts) > 2 and f"{path}/".startswith(f"{layout.monitoring(parts[1])}/")


def _is_the_mirrors(path: StorePath) -> bool:
    inside = path.split("/")[4:]
    return ARCHIVE_FOLDER in inside or _LOCAL_IDENTITY in inside


def _declared_again(
    history: PublisherHistory,
) -> Iterator[tuple[TableMetadata, TableMetadata, Declared]]:
    """Declarations after the first file, each with the one that was in force."""
    before: dict[object, TableMetadata] = {}
    for declared in history.declared:
        now = parse_metadata(declared.content) if declared.content else None
        if not isinstance(now, TableMetadata):
            continue
        if declared.landed and declared.folder in before:
            yield before[declared.folder], now, declared
        before[declared.folder] = now


def _frozen(metadata: TableMetadata) -> FrozenOptions:
    return FrozenOptions(
        key_columns=metadata.key_columns,
        detection=metadata.detection,
        default_marker=metadata.default_marker,
        partitioned=metadata.partitioned,
        text=metadata.text,
        version_column=metadata.version_column,
    )


def _shown(path: StorePath) -> str:
    where = location_of(path)
    return f"{where.folder}/{where.name}" if isinstance(where, Inside) else path
