"""Commits without a job of Spark: this process writes the data files, and Delta commits them.

A job that reads a table of a file, joins a thousand changes to it and writes it again is mostly
planning and compiling. For tables that need nothing but a Parquet file with their columns all of
that is left out. What this does not write, or would have to guess, Spark does as before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from openmirror.plan import Batch
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.ports.new_files import Codec, FileWriter, NewFile, WrittenInserts, new_name
from openmirror.spark.choosing import MANY, Commit, CurrentTable
from openmirror.spark.delta_checksum import Agreement
from openmirror.spark.delta_transaction import DeltaTransaction, relative_path
from openmirror.spark.new_data_files import DataFolder
from openmirror.spark.plain_tables import is_plain
from openmirror.spark.transacting import ChangedMeanwhile
from openmirror.table.control import BatchKind

_CODEC = "spark.sql.parquet.compression.codec"
_OF_SPARK = {
    "snappy": Codec.SNAPPY,
    "zstd": Codec.ZSTD,
    "gzip": Codec.GZIP,
    "lz4_raw": Codec.LZ4,
    "none": Codec.NONE,
    "uncompressed": Codec.NONE,
}
_VAIN_FOR = 600.0
"""Seconds in which no large batch is tried again as one of inserts."""
_COMPACTS = "spark.databricks.delta.autoCompact.enabled"
"""With it, Spark's writers compact a table behind a commit, whatever its properties say."""


@dataclass(frozen=True, kw_only=True)
class _Followed:
    """A commit of ours, behind which no other has come as long as it is the newest."""

    table_id: str
    version: int
    transaction_id: str
    agrees: Agreement


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A table that takes rows without Spark."""

    codec: Codec
    inserts: bool
    """Whether to find out if a batch is one of inserts, however large."""
    changes: bool
    """Whether it also takes changes of rows: it is small enough to be written whole."""


class DirectCommits:
    """Commits batches by Delta's own transaction; safe to use from several threads.

    The state of a log is computed for the first such commit to a table, and its checksum compared
    with that. From there on checksums are gone by, for as long as all commits are these.
    """

    def __init__(self, writer: FileWriter | None, small_table: int) -> None:
        """`small_table` is how many bytes of data files a table may have that is written whole.

        Without a writer every batch is left to Spark."""
        self._writer = writer
        self._small_table = small_table
        self._followed: dict[str, _Followed] = {}
        self._given_up: set[str] = set()
        self._in_vain: dict[str, float] = {}

    def follows(self, table: str) -> bool:
        """Whether the next commit needs no state of the table's log."""
        return table in self._followed

    def leave(self, table: str) -> None:
        """Another commit comes to this table, of which it is not known yet how it ends."""
        self._followed.pop(table, None)

    def give_up(self, table: str) -> None:
        """What was tried was not to be done here: nothing large is tried before something small
        was done."""
        self._given_up.add(table)

    def read_in_vain(self, table: str) -> None:
        """A large batch that might have been written here could not be: whoever publishes such
        files does so again, so for some time none is tried."""
        self._in_vain[table] = time.monotonic()

    def expected(self, session: SparkSession, batch: Batch, table: str) -> Expected | None:
        """What of a batch that is not read yet, and is no small one, will most likely be committed
        here; None where nothing is. Asks the newest version's checksum."""
        if batch.is_of_history or table in self._given_up:
            return None
        try:
            begun = self.begin(session, batch, table)
        except (Py4JError, PySparkException):
            return None  # the commit says what it is
        if begun is None or begun.checksum is None:
            return None
        now = begun.checksum
        return Expected(
            codec=_OF_SPARK[_codec(session)],
            inserts=time.monotonic() - self._in_vain.get(table, -math.inf) > _VAIN_FOR,
            changes=0 < now.files <= MANY and now.bytes <= self._small_table,
        )

    def begin(
        self, session: SparkSession, batch: Batch, table: str, *, anew: bool = False
    ) -> DeltaTransaction | None:
        """A transaction over a plain table whose schema the batch leaves as it is; else None.

        Its log is listed where it is not followed, or is to be found `anew`.
        """
        union = batch.union
        if self._writer is None or batch.kind is not BatchKind.EXTEND:
            return None
        if union.added or union.widened or batch.hardens:
            return None
        if batch.features.is_due or _codec(session) not in _OF_SPARK:
            return None
        if session.conf.get(_COMPACTS, "false") != "false":
            return None
        begun = DeltaTransaction.begin(session, table, goes_on=self.follows(table) and not anew)
        if begun is None or begun.encrypts:
            return None
        return begun if is_plain(begun.protocol, begun.metadata, union.schema) else None

    def current(self, begun: DeltaTransaction, table: str) -> CurrentTable | None:
        """What a followed table is, by its checksum; None where its log has to be read for it."""
        found, checksum = self._followed_by(begun, table), begun.checksum
        if found is None or checksum is None:
            return None
        return CurrentTable(
            version=begun.version,
            files=checksum.files,
            bytes=checksum.bytes,
            # No plain table has them.
            has_change_data_feed=False,
            has_deletion_vectors=False,
            tracks_rows=False,
            only_appends=False,
        )

    def writes_many(self, table: str) -> bool:
        """Whether many small files of a plain table are one as easily as two."""
        return table not in self._given_up

    def commit(
        self,
        begun: DeltaTransaction,
        how: Commit,
        folded: FoldedBatch,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> bool:
        """Append to a table or overwrite it; False, with nothing done, where Spark has to.

        Raises what Delta raises for conflicts, and ChangedMeanwhile where the table is another one.
        """
        if how not in (Commit.APPEND, Commit.OVERWRITE):
            return False
        codec = _OF_SPARK[_codec(begun.session)]
        agrees = self._left(begun, table)
        if begun.has_applied(transaction, by_checksum=agrees.transactions):
            return True
        files = begun.read_whole(by_checksum=agrees.files) if how is Commit.OVERWRITE else None
        with DataFolder(begun.session, begun.folder, begun.hadoop_settings) as place:
            to = place.path(new_name(codec))
            new = self._written(files, batch, folded, codec, place, to)
            if new is None or (new.rows and not place.put(to)):
                self.give_up(table)
                return False
        try:
            version = begun.commit(transaction, batch_record, [new] if new.rows else [])
        except ChangedMeanwhile:
            place.take_back([to])
            raise
        self._follow(begun, table, version, agrees)
        return True

    def commit_written(
        self,
        session: SparkSession,
        written: WrittenInserts,
        batch: Batch,
        table: str,
        transaction: Transaction,
        batch_record: str,
    ) -> bool:
        """Append rows that are written; False, with nothing done, where the table has gone or has
        become one that does not take them."""
        before = self.begin(session, batch, table)
        if before is None:
            return False
        files = [written.folder / new.name for new in written.files]
        with DataFolder(session, before.folder, before.hadoop_settings) as place:
            if not place.put(*files):
                return False
            # That may take minutes. Of a log that took the place of this one meanwhile Delta would
            # see no conflict, if it is as long.
            begun = self.begin(session, batch, table, anew=True)
            if begun is None or begun.table_id != before.table_id:
                place.take_back(files)
                return False
            agrees = self._left(begun, table)
            if begun.has_applied(transaction, by_checksum=agrees.transactions):
                place.take_back(files)
                return True
            version = begun.commit(transaction, batch_record, written.files)
        self._follow(begun, table, version, agrees)
        return True

    def _left(self, begun: DeltaTransaction, table: str) -> Agreement:
        """What of its checksum a commit may go by; until it has ended, nobody goes on from it: one
        that fails may do so by what Delta has of the log, and the next must list that anew."""
        followed = self._followed_by(begun, table)
        self.leave(table)
        return followed.agrees if followed else begun.checksum_agrees()

    def _follow(self, begun: DeltaTransaction, table: str, version: int, agrees: Agreement) -> None:
        """A commit of ours has made this version."""
        self._given_up.discard(table)
        if version == begun.version + 1 and agrees.transactions:
            self._followed[table] = _Followed(
                table_id=begun.table_id,
                version=version,
                transaction_id=begun.transaction_id,
                agrees=agrees,
            )
        else:
            self.leave(table)

    def _followed_by(self, begun: DeltaTransaction, table: str) -> _Followed | None:
        """The commit of ours that this transaction goes on from; None for any other commit."""
        found = self._followed.get(table)
        by = begun.checksum.transaction_id if begun.checksum else None
        newest = (begun.table_id, begun.version, by)
        if found and (found.table_id, found.version, found.transaction_id) == newest:
            return found
        return None

    def _written(
        self,
        files: Sequence[Mapping[str, Any]] | None,
        batch: Batch,
        folded: FoldedBatch,
        codec: Codec,
        place: DataFolder,
        to: Path,
    ) -> NewFile | None:
        """The new file; `files` are those that it stands for, None where it stands beside them."""
        assert self._writer is not None  # or nothing had begun
        try:
            if files is None:
                return self._writer.added(batch, folded, codec, to)
            names = [relative_path(file) for file in files]
            size = sum(int(file["size"]) for file in files)
            if not names or None in names or size > self._small_table:
                return None  # it has become another table since it was chosen to be written whole
            here = [place.fetched(name) for name in names if name is not None]
            return self._writer.applied(here, batch, folded, codec, to)
        except FileNotFoundError:
            return None  # the table has gone: Spark finds that out, and says so


def _codec(session: SparkSession) -> str:
    """How Spark compresses data files, by its own name; of some this process has no such way."""
    return (session.conf.get(_CODEC, None) or "snappy").lower()
