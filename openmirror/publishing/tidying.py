"""What publishers that died have left in a table folder (PROTOCOL §13.1)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from openmirror.errors import ConditionFailed, FolderReplaced, NotThere
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import ARCHIVE_FOLDER
from openmirror.protocol.sequence import PARQUET
from openmirror.publishing.newest import change_files, gone, newest_of
from openmirror.publishing.read_footers import identity_of
from openmirror.table.layout import StorePath, join

STAGED = "_publishing-"
"""What staged files are called; the underscore keeps mirrors away (PROTOCOL §2.1)."""
_ABANDONED_AFTER = timedelta(days=1)


def tidy(store: FileStore, folder: StorePath) -> None:
    """Remove what publishers that died have left: staged files of yesterday, numbers used twice.

    Raises FolderReplaced without such a folder.
    """
    try:
        listing = store.list_folder(folder)
    except NotThere as error:
        raise gone(folder) from error
    for entry in listing.entries:
        is_old = listing.at - entry.modified > _ABANDONED_AFTER
        if entry.name.startswith(STAGED) and not entry.is_folder and is_old:
            with suppress(NotThere):
                store.delete_file(join(folder, entry.name))
    _take_away_twice_used(store, folder)


def _take_away_twice_used(store: FileStore, folder: StorePath) -> None:
    """A publisher died between step 4 and step 5: its file is read by nobody."""
    archive = join(folder, ARCHIVE_FOLDER)
    try:
        archived = change_files(store, archive)
    except FolderReplaced:
        return
    files = change_files(store, folder)
    newest, _ = newest_of(files)
    for number in sorted(files.keys() & archived.keys() - {newest}):
        path = join(folder, files[number].name)
        ours = identity_of(store, path)
        # A mirror that died while it archived leaves one file under both names: its affair.
        if ours is not None and ours != identity_of(store, join(archive, archived[number].name)):
            take_away(store, folder, files[number])


def take_away(store: FileStore, folder: StorePath, entry: Entry) -> None:
    """Remove a file, under its ETag: nothing that took its name meanwhile."""
    discarded = join(folder, f"{STAGED}{uuid4().hex}.{PARQUET}")
    with suppress(NotThere, ConditionFailed):
        store.move_file(join(folder, entry.name), discarded, entry.etag)
        store.delete_file(discarded)
