"""Commits of small batches without a job of Spark: this process writes the data file, and Delta
commits it.

A job that reads a table of a file, joins a thousand changes to it and writes it again is mostly
planning and compiling. For tables that need nothing but a Parquet file with their columns all of
that is left out. What this does not write, or would have to guess, Spark does as before.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from openmirror.plan import Batch
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.ports.new_files import FileWriter, NewFile
from openmirror.spark.choosing import Commit
from openmirror.spark.delta_transaction import Agreement, DeltaTransaction, relative_path
from openmirror.spark.new_data_files import NewDataFile
from openmirror.spark.plain_tables import is_plain

_CODEC = "spark.sql.parquet.compression.codec"
_USUAL_CODEC = "snappy"


@dataclass(frozen=True)
class _Followed:
    """The version of a table behind which no commit but ours has come since its log was read."""

    table_id: str
    version: int
    agrees: Agreement


class DirectCommits:
    """Commits batches by Delta's own transaction; safe to use from several threads.

    The state of a log is computed for the first such commit to a table, and its checksum compared
    with that. From there on checksums are gone by, for as long as all commits are these.
    """

    def __init__(self, writer: FileWriter, small_table: int) -> None:
        """`small_table` is how many bytes of data files a table may have that is written whole."""
        self._writer = writer
        self._small_table = small_table
        self._followed: dict[str, _Followed] = {}

    def follows(self, table: str) -> bool:
        """Whether the next commit needs no state of the table's log."""
        found = self._followed.get(table)
        return found is not None and found.agrees.transactions

    def leave(self, table: str) -> None:
        """A commit of Spark's comes to this table."""
        self._followed.pop(table, None)

    def commit(
        self,
        session: SparkSession,
        how: Commit,
        folded: FoldedBatch,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> bool:
        """Append to a table or overwrite it; False, with nothing done, where Spark has to.

        Raises what Delta raises for conflicts.
        """
        if how not in (Commit.APPEND, Commit.OVERWRITE) or batch.union.added or batch.union.widened:
            return False
        begun = DeltaTransaction.begin(session, table)
        if begun is None or not is_plain(begun.protocol, begun.metadata, batch.union.schema):
            return False
        agrees = self._agreement(begun, table)
        if begun.has_applied(transaction, by_checksum=agrees.transactions):
            return True
        files = begun.read_whole(by_checksum=agrees.files) if how is Commit.OVERWRITE else None
        codec = session.conf.get(_CODEC, _USUAL_CODEC) or _USUAL_CODEC
        name = f"part-00000-{uuid.uuid4()}-c000.{codec}.parquet"
        with NewDataFile(session, begun.folder, begun.hadoop_settings, name) as place:
            new = self._written(files, batch, folded, codec, place)
            if new is None:
                return False
            if new.rows:
                place.put()
        version = begun.commit(transaction, batch_record, new, name)
        if version == begun.version + 1:
            self._followed[table] = _Followed(begun.table_id, version, agrees)
        return True

    def _agreement(self, begun: DeltaTransaction, table: str) -> Agreement:
        followed = self._followed.pop(table, None)
        if followed and (followed.table_id, followed.version) == (begun.table_id, begun.version):
            return followed.agrees
        return begun.checksum_agrees()

    def _written(
        self,
        files: Sequence[Mapping[str, Any]] | None,
        batch: Batch,
        folded: FoldedBatch,
        codec: str,
        place: NewDataFile,
    ) -> NewFile | None:
        """The new file; `files` are those that it stands for, None where it stands beside them."""
        try:
            if files is None:
                return self._writer.added(batch, folded, codec, place.path)
            if sum(int(file["size"]) for file in files) > self._small_table:
                return None  # it has grown since it was chosen to be written whole
            names = [relative_path(file) for file in files]
            here = [place.fetched(name) for name in names if name is not None]
            if len(here) < len(files):
                return None
            return self._writer.applied(here, batch, folded, codec, place.path)
        except FileNotFoundError:
            return None  # the table has gone: Spark finds that out, and says so
