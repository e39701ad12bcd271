"""The commit that takes rows out where they lie and adds what they become.

A MERGE joins the table three times: to find its files, to write its rows anew, and to mark the old
ones. Where each row that changes becomes a row of the batch, whole, its place is all that is needed
of it. So the table is joined once, by its keys alone (`choosing` says when it is the same).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind, positional, positions_of
from openmirror.spark.committing import within
from openmirror.spark.deletion_vectors import FILE, INDEX, FilesRead
from openmirror.spark.delta_transaction import DeltaTransaction
from openmirror.spark.frames import MergeRows, named, quoted, same_key
from openmirror.spark.holding import held
from openmirror.spark.plain_tables import may_replace_rows
from openmirror.spark.transacting import activate

_NUMBER = "number"
"""Of a merge row, among those of its batch."""


def replace_rows(
    session: SparkSession,
    rows: MergeRows,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> bool:
    """Commit merge rows, of which updates are whole rows and none reads the table.

    False, with nothing done, where it takes a MERGE. Raises Delta's conflicts.
    """
    schema, keys = batch.union.schema, batch.frozen.key_columns
    data, bounds = positional(len(schema.columns)), f"true{within(rows.needs.bounds, schema)}"
    if _begun(session, batch, table) is None:
        return False
    number = F.monotonically_increasing_id().alias(_NUMBER)
    # Held, since they are read twice; and before the transaction begins, so that little time passes
    # from there to the commit.
    with held(rows.frame.select(*data, KIND, MAY_INSERT, number)) as merged:
        begun = _begun(session, batch, table)
        if begun is None:
            return False
        if begun.has_applied(transaction, by_checksum=False):
            return True
        files = begun.files(bounds, alias="t")
        with (
            held(_found(files, bounds, merged, rows, batch)) as found,
            ThreadPoolExecutor(1, initializer=activate, initargs=(session,)) as beside,
        ):
            # Both are small jobs, one after another, and each leaves a core to the other.
            coming = beside.submit(begun.written, named(_coming(merged, found, data), schema))
            gone = files.without(found)
            if gone.rows != found.count():
                return False  # two changes are of one row: a MERGE refuses that, and says so
            come = coming.result()
            same = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in keys)
            begun.replace(gone, come, same, transaction, batch_record)
    return True


def _begun(session: SparkSession, batch: Batch, table: str) -> DeltaTransaction | None:
    begun = DeltaTransaction.begin(session, table)
    is_fit = begun is not None and may_replace_rows(begun.metadata, batch.union.schema)
    return begun if is_fit else None


def _found(
    files: FilesRead, bounds: str, merged: DataFrame, rows: MergeRows, batch: Batch
) -> DataFrame:
    """The place of each row of the table that a merge row matches, and the number of that."""
    names, schema = batch.frozen.key_columns, batch.union.schema
    keys = positions_of(schema, names)
    table = files.rows().alias("t").where(bounds)
    own = [F.col(f"t.{quoted(name)}").alias(key) for name, key in zip(names, keys, strict=True)]
    present = table.select(*own, *files.place(table)).alias("t")
    merging = merged.where(F.col(KIND) != MergeKind.PLAIN_INSERT).select(*keys, _NUMBER).alias("s")
    same = same_key(keys, rows.needs.not_null)
    return present.join(merging, same).select(FILE, INDEX, _NUMBER)


def _coming(merged: DataFrame, found: DataFrame, data: list[str]) -> DataFrame:
    """The rows that are added: one in place of each that an update found, and new ones."""
    places = found.select(_NUMBER, F.lit(True).alias("is_found"))
    comes = merged.where(F.col(KIND) != MergeKind.DELETE).join(places, _NUMBER, "left")
    is_plain = F.col(KIND) == MergeKind.PLAIN_INSERT
    return comes.where(is_plain | F.col("is_found").isNotNull() | F.col(MAY_INSERT)).select(*data)
