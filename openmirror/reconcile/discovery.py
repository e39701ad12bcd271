"""Finding mirrors and table folders."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from openmirror.errors import NotThere, Unavailable, is_of_one_place
from openmirror.ports import Entry, FileStore, Listing, UnseenEntry
from openmirror.protocol.names import SCHEMA_SUFFIX, ETag, TableFolder, TablePath, is_reserved
from openmirror.reconcile.mirror_reads import read_settings, wanted_histories
from openmirror.table import layout
from openmirror.table.layout import StorePath

OF_THE_DISK = "lost+found"
"""What a file system has where it is mounted, and root alone may see; never a mirror."""


def mirrors(store: FileStore) -> list[str]:
    """Every mirror that has a landing zone; raises NotThere for a root without `landing`."""
    return [
        entry.name
        for entry in _visible(store.list_folder(layout.LANDING))
        if _may_be_folder(entry) and entry.name != OF_THE_DISK and has_zone(store, entry.name)
    ]


def has_zone(store: FileStore, mirror: str) -> bool:
    """Whether a mirror has a landing zone; one that may not be seen is none that is gone."""
    try:
        return store.incarnation(layout.landing_zone(mirror)) is not None
    except Exception as error:
        if not _is_passed_over(error):
            raise
        return True  # whoever lists it reports what is wrong, of this mirror alone


def _is_passed_over(error: Exception) -> bool:
    """Whether what lies beside a folder that failed can still be seen."""
    return is_of_one_place(error) and not isinstance(error, Unavailable)


def landed_folders(store: FileStore, mirror: str) -> set[TableFolder]:
    """Every table folder that can be seen in the landing zone (PROTOCOL §2.1).

    Raises NotThere when the zone cannot be listed: an unmounted zone is not an empty one.
    """
    return {folder for folder, _ in _landed(store, mirror, {})}


def is_landed(store: FileStore, folder: TableFolder) -> bool:
    """Whether a table folder lies in its landing zone.

    Raises NotThere, or why else the folder that it would lie in cannot be listed: only a list
    shows that something is gone.
    """
    unlisted: _Unlisted = {}
    if any(found == folder.current for found, _ in _landed(store, folder.mirror, unlisted)):
        return True
    above = layout.folder_of(layout.table_folder(folder))
    if above in unlisted:
        raise unlisted[above]
    return False


def known_folders(store: FileStore, mirror: str) -> dict[TableFolder, ETag]:
    """Every folder that has a control document, landed or not, with the document's ETag."""
    return dict(_known(store, mirror, {}))


_Unlisted = dict[StorePath, Exception]
_Found = Iterator[tuple[TableFolder, ETag]]


def _landed(
    store: FileStore, mirror: str, unlisted: _Unlisted, reserved: set[str] | None = None
) -> _Found:
    zone = layout.landing_zone(mirror)
    return _tables(store, mirror, zone, _folder, unlisted, reserved)


def _known(
    store: FileStore, mirror: str, unlisted: _Unlisted, reserved: set[str] | None = None
) -> _Found:
    place = layout.control_documents(mirror)
    try:
        yield from _tables(store, mirror, place, _documented, unlisted, reserved)
    except NotThere:
        return


def _begun_histories(store: FileStore, mirror: str, unlisted: _Unlisted) -> _Found:
    """The histories that have a control document."""
    try:
        found = _tables(store, mirror, layout.history_documents(mirror), _documented, unlisted)
        yield from ((folder.history, etag) for folder, etag in found)
    except NotThere:
        return


def _has_histories(mirror: str, beside: Container[str]) -> bool:
    """Whether any was ever begun; `beside` has what is reserved among control documents."""
    return layout.name_of(layout.history_documents(mirror)) in beside


def _may_be_folder(entry: Entry) -> bool:
    return entry.is_folder or isinstance(entry, UnseenEntry)


def _folder(entry: Entry) -> str | None:
    return entry.name if _may_be_folder(entry) else None


def _documented(entry: Entry) -> str | None:
    return None if entry.is_folder else layout.table_of_document(entry.name)


def _tables(
    store: FileStore,
    mirror: str,
    folder: StorePath,
    table_of: Callable[[Entry], str | None],
    unlisted: _Unlisted,
    reserved: set[str] | None = None,
) -> _Found:
    """Tables directly in a folder, and in each `<schema>.schema` folder below it.

    A schema that cannot be listed is added to `unlisted`; it must not hide those beside it. Names
    in the folder that are reserved are added to `reserved`.
    """
    listing = store.list_folder(folder)
    if reserved is not None:
        reserved.update(entry.name for entry in listing.entries if is_reserved(entry.name))
    for entry in _visible(listing):
        schema = entry.name.removesuffix(SCHEMA_SUFFIX)
        if not (_may_be_folder(entry) and schema != entry.name):
            if table := table_of(entry):
                yield TableFolder(mirror, TablePath("", table)), entry.etag
        elif schema:
            below = layout.join(folder, entry.name)
            try:
                inner = store.list_folder(below)
            except NotThere:
                continue  # deleted since its parent was listed: so are its tables
            except Exception as error:
                if not _is_passed_over(error):
                    raise
                unlisted[below] = error
                continue
            for child in _visible(inner):
                if table := table_of(child):
                    yield TableFolder(mirror, TablePath(schema, table)), child.etag


def discover(store: FileStore, mirror: str) -> list[TableFolder]:
    """Every table of a mirror that can be seen, landed or remembered, by name.

    Raises NotThere, or why else the zone itself cannot be listed.
    """
    reserved: set[str] = set()
    landed = landed_folders(store, mirror)
    known = dict(_known(store, mirror, {}, reserved))
    settings, _ = read_settings(store, mirror)
    histories = set(wanted_histories(store, mirror, settings, landed))
    if _has_histories(mirror, reserved):
        histories |= {folder for folder, _ in _begun_histories(store, mirror, {})}
    return sorted({*landed, *known, *histories})


@dataclass(frozen=True)
class Traces:
    """What the listings of a mirror show of one table; a folder's ETag is not one of its files'."""

    folder: ETag | None
    """None while the table folder is not there."""
    document: ETag | None
    """Of its control document; None without one."""


@dataclass(frozen=True)
class Discovered:
    """The tables of a mirror, as far as they can be seen."""

    traces: Mapping[TableFolder, Traces]
    """Every table by name, landed or remembered."""
    unlisted: Mapping[StorePath, Exception] = field(default_factory=dict)
    """Folders of several tables that could not be listed, and why: nobody knows what is there."""
    reserved: frozenset[str] = frozenset()
    """Names that lie in the zone beside the tables, and are reserved."""
    settings: ETag | None = None
    """Of `mirroring.json`, by which it is known which tables have a history; None without one."""

    @property
    def folders(self) -> list[TableFolder]:
        """Every table by name."""
        return list(self.traces)


def explore(store: FileStore, mirror: str) -> Discovered:
    """Every table of a mirror, and what kept others from being seen.

    A zone that refuses to be listed hides no table that was known before. Raises NotThere for one
    that is not there: nothing may be concluded about its tables.
    """
    unlisted: _Unlisted = {}
    reserved: set[str] = set()
    landed_beside = partial(_landed, reserved=reserved)
    landed = _as_far_as_seen(landed_beside, store, mirror, layout.landing_zone(mirror), unlisted)
    beside: set[str] = set()
    known_beside = partial(_known, reserved=beside)
    place = layout.control_documents(mirror)
    known = _as_far_as_seen(known_beside, store, mirror, place, unlisted)
    settings, settings_etag = read_settings(store, mirror)
    begun: dict[TableFolder, ETag] = {}
    if _has_histories(mirror, beside):
        place = layout.history_documents(mirror)
        begun = _as_far_as_seen(_begun_histories, store, mirror, place, unlisted)
    histories = {*wanted_histories(store, mirror, settings, landed), *begun}
    traces = {f: Traces(landed.get(f), known.get(f)) for f in landed | known}
    traces |= {f: Traces(landed.get(f.current), begun.get(f)) for f in histories}
    return Discovered(dict(sorted(traces.items())), unlisted, frozenset(reserved), settings_etag)


def _as_far_as_seen(
    list_tables: Callable[[FileStore, str, _Unlisted], _Found],
    store: FileStore,
    mirror: str,
    place: StorePath,
    unlisted: _Unlisted,
) -> dict[TableFolder, ETag]:
    try:
        return dict(list_tables(store, mirror, unlisted))
    except NotThere:
        raise
    except Exception as error:
        if not _is_passed_over(error):
            raise
        unlisted[place] = error
        return {}


def _visible(listing: Listing) -> list[Entry]:
    return [entry for entry in listing.entries if not is_reserved(entry.name)]
