"""Rows that go from where they lie: data files with deletion vectors, by Delta's own classes.

Delta's DELETE and MERGE look for the rows that go, and then do this. Here whoever calls has found
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.spark.scala import each, no_value, singleton, some

_VECTORS = "org.apache.spark.sql.delta.commands.DeletionVectorBitmapGenerator$"
_FILES = "org.apache.spark.sql.delta.commands.DMLWithDeletionVectorsHelper$"
_STATISTICS = "org.apache.spark.sql.delta.stats.StatsCollectionUtils$"
_LITERAL = "org.apache.spark.sql.catalyst.expressions.Literal$"
_METADATA = "_metadata"
"""What Spark says of each row of a file, whatever columns a table has."""

FILE, INDEX = "file", "index"
"""Where a row lies: its data file, and which of that file's rows it is."""


@dataclass(frozen=True)
class TakenOut:
    """Rows that go, once Delta's actions are committed."""

    actions: Sequence[Any]
    rows: int
    files: int
    """Data files of which no row is left."""


class FilesRead:
    """The data files of a table that a transaction reads, and takes rows out of."""

    def __init__(self, session: SparkSession, log: Any, transaction: Any, files: Any) -> None:
        """`files` are Delta's own values, of the transaction's version."""
        self._session, self._log, self._transaction = session, log, transaction
        self._snapshot, self._files = transaction.snapshot(), files

    def rows(self) -> DataFrame:
        """Their rows, with the table's columns. Lazy."""
        none = no_value(self._session)
        frame = self._log.createDataFrame(self._snapshot, self._files, False, none)
        return DataFrame(frame, self._session)

    @staticmethod
    def place(rows: DataFrame) -> tuple[Column, Column]:
        """Where each row lies, as FILE and INDEX."""
        of_file = rows.metadataColumn(_METADATA)
        return of_file["file_path"].alias(FILE), of_file["row_index"].alias(INDEX)

    def without(self, found: DataFrame) -> TakenOut:
        """Take rows out; `found` has FILE and INDEX of each.

        Writes deletion vectors, which no version of the table names before the commit.
        """
        session, transaction, helper = self._session, self._transaction, self._class(_FILES)
        spark = session._jsparkSession
        vectors = self._class(_VECTORS).buildRowIndexSetsForFilesMatchingCondition(
            spark,
            transaction,
            True,
            found._jdf,
            self._files,
            self._class(_LITERAL).TrueLiteral(),
            some(session, F.col(FILE)._jc),
            some(session, F.col(INDEX)._jc),
        )
        by_name = helper.generateCandidateFileMap(self._log.dataPath(), self._files)
        touched = helper.findFilesWithMatchingRows(transaction, by_name, vectors)
        prefix = self._class(_STATISTICS).getDataSkippingStringPrefixLength(
            spark, self._snapshot.metadata()
        )
        done = helper.processUnmodifiedData(spark, touched, self._snapshot, prefix)
        counted = done._2()
        return TakenOut(
            each(done._1()),
            rows=int(counted.apply("numModifiedRows")),
            files=int(counted.apply("numRemovedFiles")),
        )

    def _class(self, name: str) -> Any:
        return singleton(self._session, name)
