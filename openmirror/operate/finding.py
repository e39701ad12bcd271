"""From what an operator calls a mirror or a table to the one that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from openmirror.errors import (
    AccessDenied,
    DocumentUnreadable,
    NotThere,
    UnknownName,
    WrongRequest,
    is_of_one_place,
)
from openmirror.ports import FileStore
from openmirror.protocol.names import TableArgument, TableFolder, TableName, name_of
from openmirror.reconcile.discovery import OF_THE_DISK, explore, mirrors
from openmirror.reconcile.documents import Documents
from openmirror.table import layout
from openmirror.table.control import MirrorDocument

_MOST_NAMES = 10


def known_mirrors(store: FileStore) -> list[str]:
    """Every mirror that has a landing zone, or had one.

    A zone that is gone is no reason to be silent about its tables.
    """
    try:
        landed = mirrors(store)
    except NotThere:
        landed = []
    used = [name for name in _names_in(store, layout.LAKE) if _was_used(store, name)]
    return sorted({*landed, *used})


def _was_used(store: FileStore, mirror: str) -> bool:
    controls = layout.control_folder(mirror)
    try:
        return layout.name_of(controls) in _names_in(store, layout.join(layout.LAKE, mirror))
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return mirror != OF_THE_DISK  # what may not be seen may well have been a mirror


def _names_in(store: FileStore, folder: layout.StorePath) -> list[str]:
    try:
        return [entry.name for entry in store.list_folder(folder).entries if entry.is_folder]
    except NotThere:
        return []


def find_mirror(store: FileStore, name: str, root: object = "the root") -> str:
    """The mirror of this name; raises UnknownName, with similar names."""
    known = known_mirrors(store)
    if name not in known:
        raise UnknownName(f"there is no mirror {name} in {root}. {_near(name, known)}")
    return name


class Names:
    """What tables are called, by the default schema of each mirror."""

    def __init__(self, store: FileStore) -> None:
        self._documents = Documents(store)
        self._schemas: dict[str, str] = {}

    def of(self, folder: TableFolder) -> TableName:
        """The table that a landing folder feeds."""
        if folder.mirror not in self._schemas:
            try:
                stored = self._documents.mirror(folder.mirror).value
            except (AccessDenied, DocumentUnreadable):
                stored = MirrorDocument()
            self._schemas[folder.mirror] = stored.default_schema
        return name_of(folder, self._schemas[folder.mirror])

    def __call__(self, folder: TableFolder) -> str:
        """A table as an operator would type it."""
        return f"{folder.mirror}/{self.of(folder)}"


def find_table(store: FileStore, chosen: Iterable[str], text: str) -> TableFolder:
    """The landing folder of the table that an operator means.

    The exact name wins over one that differs in case. A landing folder's own path is understood
    as well: only that distinguishes two folders of one name. Raises UnknownName otherwise,
    WrongRequest for a text that names no table.
    """
    names = Names(store)
    folders = [folder for mirror in chosen for folder in _discovered(store, mirror)]
    for folder in folders:
        if text == str(folder):
            return folder
    try:
        wanted = TableArgument.parse(text)
    except ValueError as error:
        raise WrongRequest(str(error)) from None
    here = [f for f in folders if wanted.mirror in (None, f.mirror)]
    matches: list[Callable[[TableFolder], bool]] = [
        lambda folder: names.of(folder) == wanted.name,
        lambda folder: names.of(folder).folded == wanted.name.folded,
    ]
    for matches_name in matches:
        found = [folder for folder in here if matches_name(folder)]
        if len(found) == 1:
            return found[0]
        if found:
            same_name = len({names(folder) for folder in found}) < len(found)
            shown = [str(folder) if same_name else names(folder) for folder in found]
            raise UnknownName(f"{text} may be {_listed(shown, ' or ')}: say which")
    known = [names(folder) for folder in folders]
    raise UnknownName(f"there is no table {text}. {_near_tables(text, known)}")


def _discovered(store: FileStore, mirror: str) -> list[TableFolder]:
    try:
        return explore(store, mirror).folders
    except NotThere as error:
        raise NotThere(f"the landing zone of mirror {mirror} cannot be listed: {error}") from error


def _near_tables(text: str, known: list[str]) -> str:
    """A sentence with similar names, compared with and without their mirror."""
    bare = {name.partition("/")[2]: name for name in known}
    folded = {name.lower(): name for name in (*known, *bare)}
    near = get_close_matches(text.lower(), list(folded), n=3, cutoff=0.5)
    found = list(dict.fromkeys(bare.get(folded[name], folded[name]) for name in near))
    if found:
        return f"Did you mean {_listed(found, ' or ')}?"
    return f"There are: {_listed(known, ', ')}." if known else "There are no tables yet."


def _near(text: str, known: list[str]) -> str:
    near = get_close_matches(text, known, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {_listed(near, ' or ')}?"
    return f"There are: {_listed(known, ', ')}." if known else "There are none yet."


def _listed(names: list[str], between: str) -> str:
    more = len(names) - _MOST_NAMES
    return between.join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
