"""Making the next file of a table out of a stream's records and the state that the folder has."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.cdc.relay.progress import TableProgress
from openmirror.cdc.relay.selecting import Before, FileRows, Selection, TableRecords, select
from openmirror.cdc.stops import StreamReplaced
from openmirror.errors import FolderReplaced, OtherPublisher
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.streams import StreamIdentity
from openmirror.publishing.columns import merged
from openmirror.publishing.encoding import encoded, one_table
from openmirror.publishing.footer import PublishedFooter, with_footer
from openmirror.publishing.landing import ComposedFile
from openmirror.publishing.newest import ZoneState


class StreamComposer:
    """Composes the files of one batch of a stream for one table.

    The folder's newest footer alone says what of the batch has landed, so the same batch may be
    given again, cut in any way, and by several relays at once.
    """

    def __init__(
        self,
        stream: str,
        identity: StreamIdentity,
        records: TableRecords,
        default: Marker | None,
        *,
        is_known: bool,
    ) -> None:
        """`is_known`: whether files of this stream landed in the table before."""
        self._stream = stream
        self._identity = identity
        self._records = records
        self._default = default
        self._is_known = is_known
        self.selection = Selection(())
        """What followed when it was last asked."""
        self.has_resumed = False
        """Whether the table goes on behind where it had stopped."""
        self.rows = 0
        """Change rows of the files that it made last."""

    def compose(self, state: ZoneState) -> ComposedFile | None:
        """The next file; None when all that can land has landed.

        Raises StreamReplaced for a folder of another stream, OtherPublisher for progress that
        cannot be read, PublishRefused for columns that the table cannot have.
        """
        before = self._before(state)
        stopped_at = self._records.stopped_at
        self.has_resumed = stopped_at is not None and before.through > stopped_at
        self.selection = select(before, self._records)
        if not self.selection.files:
            return None
        return self._file(self.selection.files[0], state)

    def _before(self, state: ZoneState) -> Before:
        progress = progress_in(state, self._stream)
        if progress is None:
            if self._is_known:
                raise FolderReplaced("its folder was deleted, and with it what landed before")
            if state.newest is not None:
                raise OtherPublisher(
                    f"there are change files already, and none of them is of stream {self._stream}"
                )
            return Before()
        if progress.identity != self._identity:
            raise StreamReplaced(
                f"its files are of stream {self._stream} as it was before ({progress.identity})"
            )
        return Before(
            through=progress.through,
            seen=progress.seen,
            columns=progress.columns,
            ever=state.columns,
            snapshot=progress.snapshot,
            origin=progress.database,
        )

    def _file(self, rows: FileRows, state: ZoneState) -> ComposedFile:
        carried = state.carried or PublishedFooter(file="", previous=None)
        after = rows.after
        progress = TableProgress(
            identity=self._identity,
            through=after.through,
            seen=after.seen,
            columns=after.columns or TableSchema(),
            snapshot=after.snapshot,
            database=after.origin,
        )
        table: pa.Table = one_table(rows.pieces, rows.columns, self._default)
        footer = PublishedFooter(
            file=uuid4().hex,
            previous=state.predecessor,
            sources=carried.sources,
            streams={**carried.streams, self._stream: progress.as_json()},
            columns=merged(carried.columns, rows.columns),
            rows=carried.rows + table.num_rows,
        )
        self.rows = int(table.num_rows)
        return ComposedFile(footer, with_footer(encoded(table), footer.as_json()))


def progress_in(state: ZoneState, stream: str) -> TableProgress | None:
    """How far a stream has landed by the newest footer; raises OtherPublisher."""
    found = state.carried.streams.get(stream) if state.carried is not None else None
    return None if found is None else TableProgress.from_json(found)
