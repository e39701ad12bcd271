"""Batches that were read: held by Spark, or folded in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from openmirror.ports import Counts
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.ports.new_files import WrittenInserts
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.sequence import Sequence
from openmirror.spark.markers import MarkedRows
from openmirror.table.phases import Phase, Phases


@dataclass(kw_only=True)
class SparkPrepared:
    """A batch for Spark to fold: what later happens to its files cannot reach it."""

    session: SparkSession
    changes: DataFrame
    """Read anew each time, from copies, or held by Spark."""
    marked: MarkedRows
    checksums: Mapping[Sequence, Checksum]
    let_go: Callable[[], None]
    phases: Phases = field(default_factory=dict)
    """Empty: all was reading, for Spark folds during the commit."""

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        return self.marked.counts

    @property
    def truncates(self) -> bool:
        """Whether the table is emptied before these rows."""
        return bool(self.marked.truncates)

    @property
    def asks_table(self) -> bool:
        """Whether each partial update was found a row, in the table as it was then."""
        return bool(self.marked.absent)

    def release(self) -> None:
        """Let go of copies, or of rows that Spark holds."""
        self.let_go()


@dataclass
class BeginningPrepared:
    """What a history begins with: the rows of its current table, which the commit reads."""

    counts: Counts = field(default_factory=Counts)
    checksums: Mapping[Sequence, Checksum] = field(default_factory=dict)
    phases: Phases = field(default_factory=dict)
    asks_table: bool = False

    def release(self) -> None:
        """Nothing is held: that version of the table stays as it is."""


@dataclass(kw_only=True)
class WrittenPrepared:
    """A large batch of inserts, written already: its commit only has to name the files."""

    written: WrittenInserts
    let_go: Callable[[], None]
    phases: Phases = field(default_factory=dict)
    """Empty: all was reading, and writing what was read."""
    asks_table: bool = False

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        return self.written.counts

    @property
    def checksums(self) -> Mapping[Sequence, Checksum]:
        """Those of all its files."""
        return self.written.checksums

    def release(self) -> None:
        """Let go of the files, but for those that a table has."""
        self.let_go()


@dataclass
class FoldedPrepared:
    """A small batch that is folded already, in memory of this process."""

    folded: FoldedBatch

    @property
    def counts(self) -> Counts:
        """Rows by kind."""
        return self.folded.counts

    @property
    def checksums(self) -> Mapping[Sequence, Checksum]:
        """Those of all its files."""
        return self.folded.checksums

    @property
    def phases(self) -> Phases:
        """What of the time went to folding."""
        return {Phase.FOLD: self.folded.fold_seconds}

    @property
    def truncates(self) -> bool:
        """Whether the table is emptied before these rows."""
        return self.folded.truncates

    @property
    def asks_table(self) -> bool:
        """Never: partial updates are left to Spark."""
        return False

    def release(self) -> None:
        """Nothing is held outside this value."""
