"""Making the next file of a table out of waiting rows and the state that the folder has."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.columns import merged
from openmirror.publishing.encoding import encoded, one_table
from openmirror.publishing.footer import PublishedFooter, with_footer
from openmirror.publishing.landing import ComposedFile
from openmirror.publishing.newest import ZoneState
from openmirror.publishing.pieces import WaitingRows, columns_of
from openmirror.publishing.positions import (
    landed,
    need_no_step_back,
    still_to_land,
)


class FileComposer:
    """Composes files of one source for one table; remembers what it encoded last."""

    def __init__(self, source: str, metadata: TableMetadata, state: ZoneState) -> None:
        self._source = source
        self._default = metadata.default_marker
        self._encoded: tuple[list[WaitingRows], tuple[memoryview, TableSchema, int]] | None = None
        self._made: PublishedFooter | None = None
        self.progress = state.progress(source)
        """How far the source is, by the newest footer that was seen."""
        self.landed_rows = state.rows
        """Change rows of this incarnation, by the newest footer that was seen."""
        self.columns = state.columns
        """Every column that landed, by the newest footer that was seen."""
        self.rows = 0
        """Change rows of the file that was composed last."""
        self.size = 0
        """Its bytes."""

    def compose(self, rows: Sequence[WaitingRows], state: ZoneState) -> ComposedFile | None:
        """A file with what of these rows did not land yet; None when nothing is left.

        Raises PublishRefused for columns that do not merge with what others published meanwhile,
        OtherPublisher when another process moved the source on in a way that cannot be followed,
        or when what landed before is in no footer.
        """
        carried = state.carried or PublishedFooter(file="", previous=None)
        progress = state.progress(self._source)
        need_no_step_back(self._source, progress, self.progress)
        left = still_to_land(self._source, rows, progress, self.progress)
        self.progress, self.landed_rows = progress, carried.rows
        self.columns = carried.columns
        if not left:
            return None
        data, columns, count = self._file(left)
        identity = uuid4().hex
        now = landed(progress, left, identity)
        footer = PublishedFooter(
            file=identity,
            previous=state.predecessor,
            sources={**carried.sources, self._source: now},
            streams=carried.streams,
            columns=merged(carried.columns, columns),
            rows=carried.rows + count,
        )
        whole = with_footer(data, footer.as_json())
        self._made, self.rows, self.size = footer, count, len(whole)
        return ComposedFile(footer, whole)

    def _file(self, left: list[WaitingRows]) -> tuple[memoryview, TableSchema, int]:
        """The encoded rows, their columns and their number; encoded once, however often lost."""
        known = self._encoded
        if known is None or list(map(id, known[0])) != list(map(id, left)):
            columns = columns_of(left)
            assert not isinstance(columns, Broken)  # they were cut as one file's
            table = one_table(left, columns, self._default)
            done = encoded(table), columns, int(table.num_rows)
            known = self._encoded = (left, done)
        return known[1]

    def landed(self) -> None:
        """What was composed last has landed."""
        assert self._made is not None
        self.progress = self._made.sources[self._source]
        self.landed_rows = self._made.rows
        self.columns = self._made.columns
        self._encoded = None
