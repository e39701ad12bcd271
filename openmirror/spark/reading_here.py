"""Batches that this process reads instead of Spark: small ones, and those whose commit will most
likely be a direct one."""

from __future__ import annotations

from contextlib import ExitStack

from pyspark.sql import SparkSession

from openmirror.plan import Batch
from openmirror.ports import BadFile, Prepared
from openmirror.ports.merge_rows import BatchFolder, FoldedBatch
from openmirror.ports.new_files import Codec, InsertsWriter, NotWritten, WrittenInserts
from openmirror.spark.copies import Copies
from openmirror.spark.direct_commits import DirectCommits
from openmirror.spark.markers import counts_without_reading
from openmirror.spark.prepared import FoldedPrepared, WrittenPrepared


class ReadingHere:
    """Reads batches, or leaves them to Spark: None; safe to use from several threads."""

    def __init__(
        self,
        direct: DirectCommits,
        folder: BatchFolder | None,
        inserts: InsertsWriter | None,
        copies: Copies | None,
    ) -> None:
        """Nothing is read here without `folder`. What `inserts` writes lies where `copies` do."""
        self._direct = direct
        self._folder = folder
        self._inserts = inserts
        self._copies = copies

    def small(self, batch: Batch) -> Prepared | BadFile | None:
        """A small batch, whatever its commit will be."""
        return _prepared(self._folder.fold(batch)) if self._folder else None

    def larger(self, session: SparkSession, batch: Batch, table: str) -> Prepared | BadFile | None:
        """A larger batch, for a direct commit."""
        if self._folder is None:
            return None
        expected = self._direct.expected(session, batch, table)
        if expected is None:
            return None
        if expected.inserts:
            written = self._written(batch, expected.codec)
            if not isinstance(written, NotWritten):
                return written
            if written is not NotWritten.UNTRIED:
                self._direct.read_in_vain(table)
            if written is NotWritten.UNFIT:
                return None
        adds = counts_without_reading(batch) is not None
        if not (expected.changes or adds) or not self._folder.may_fold(batch, direct=True):
            return None
        found = self._folder.fold(batch, direct=True)
        if found is None:
            self._direct.give_up(table)
        return _prepared(found)

    def _written(self, batch: Batch, codec: Codec) -> Prepared | BadFile | NotWritten:
        if self._inserts is None or self._copies is None:
            return NotWritten.UNTRIED
        with ExitStack() as stack:
            folder = stack.enter_context(self._copies.folder())
            found = self._inserts.written(batch, codec, folder)
            if not isinstance(found, WrittenInserts):
                return found
            return WrittenPrepared(written=found, let_go=stack.pop_all().close)


def _prepared(found: FoldedBatch | BadFile | None) -> Prepared | BadFile | None:
    return FoldedPrepared(found) if isinstance(found, FoldedBatch) else found
