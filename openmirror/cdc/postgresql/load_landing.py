"""Landing a load: all of a table's rows, and the changes that came meanwhile, as one change file.

Where the table has rows in the mirror, and the file can take their place there, it begins with a
truncate and lands in the same folder. Otherwise the folder is made again: the mirror keeps the old
table until the first file of the new folder can be read, and then replaces it in one commit
(PROTOCOL §7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.progress import (
    LogProgress,
    SentColumn,
    is_of_stream,
    progress_in,
)
from openmirror.cdc.postgresql.table_files import StreamFolders, next_footer
from openmirror.errors import OtherPublisher, PublishRefused
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.columns import merged
from openmirror.publishing.landing import ComposedFile
from openmirror.publishing.newest import ZoneState
from openmirror.publishing.streamed import StreamedParquet


@dataclass(frozen=True, kw_only=True)
class ReadLoad:
    """A load whose rows have all been read."""

    path: TablePath
    number: str
    keys: tuple[str, ...]
    sent: tuple[SentColumn, ...]
    """The columns as the log sends them."""
    columns: TableSchema
    """The columns of the file without its marker."""
    through: LogPlace
    """Every change up to here is in the file."""
    fingerprint: Fingerprint
    """The table in the catalogue when the load was begun."""
    body: Callable[[bool], StreamedParquet]
    """Gives the file's rows; informed whether the table has no row in the mirror."""


def land_load(files: StreamFolders, takes: frozenset[Marker], load: ReadLoad) -> LogPlace:
    """Land a load, unless it has landed; return the place up to which it has every change.

    Args:
        files: the stream's table folders.
        takes: what the zone's mirror takes beyond the published markers (PROTOCOL §5.7).
        load: what is to land.

    Raises:
        OtherPublisher: The folder has files of somebody else.
        PublishRefused: No table can have such a name or such columns.
    """
    landed = _make_room(files, takes, load)
    if landed is not None:
        return landed
    opened = files.opened(load.path, load.keys)
    is_empty = opened.lander.state().newest is None
    body = load.body(is_empty)

    def compose(state: ZoneState) -> ComposedFile | None:
        before = progress_in(state, files.stream, files.identity)
        if before is not None and before.load == load.number:
            return None
        after = LogProgress(
            identity=files.identity,
            place=load.through,
            columns=load.sent,
            load=load.number,
            fingerprint=load.fingerprint,
        )
        footer = next_footer(state, files.stream, after, load.columns, body.rows)
        return ComposedFile(footer, body)

    while opened.lander.land(compose) is not None:
        pass
    return load.through


def _make_room(files: StreamFolders, takes: frozenset[Marker], load: ReadLoad) -> LogPlace | None:
    """Delete a folder that the file cannot land in; return the place where it has landed before."""
    if not files.has_folder(load.path):
        return None
    files.forget(load.path)
    opened = files.opened(load.path)
    state = opened.lander.state()
    before = progress_in(state, files.stream, files.identity)
    if before is not None and before.load == load.number:
        return before.place
    if state.newest is None and (not opened.metadata.key_columns or opened.has_keys(load.keys)):
        return None
    if state.newest is not None and not is_of_stream(state, files.stream):
        raise OtherPublisher(
            f"there are change files already, and none of them is of stream {files.stream}"
        )
    can_stay = (
        before is not None
        and Marker.TRUNCATE in takes
        and opened.has_keys(load.keys)
        and _fits(state.columns, load.columns)
    )
    if not can_stay:
        files.delete(load.path)
    return None


def _fits(table: TableSchema, columns: TableSchema) -> bool:
    """Return whether every column of the table can get the type that the load's rows have.

    A column of a wider type would keep it: dates would stay timestamps in the mirror.
    """
    try:
        both = merged(table, columns)
    except PublishRefused:
        return False
    found = [(column.type, both.find(column.name)) for column in columns.columns]
    return all(other is not None and other.type == own for own, other in found)
