"""The commit that takes rows out where they lie and adds what they become.

A MERGE joins the table three times: to find its files, to write its rows anew, and to mark the old
ones. Where each row that changes becomes a row of the batch, whole, its place is all that is needed
of it. So the table is joined once, by its keys alone (`choosing` says when it is the same).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind, positional, positions_of
from openmirror.spark.deletion_vectors import FILE, FilesRead
from openmirror.spark.delta_transaction import DeltaTransaction
from openmirror.spark.frames import MergeRows, named, quoted, same_key
from openmirror.spark.holding import held
from openmirror.spark.key_conditions import has_key, within
from openmirror.spark.plain_tables import may_replace_rows
from openmirror.spark.transacting import activate


def replace_rows(
    session: SparkSession,
    rows: MergeRows,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> bool:
    """Commit merge rows, of which updates are whole rows and none reads the table.

    False, with nothing done, where it takes a MERGE. Raises Delta's conflicts, and ChangedMeanwhile
    where the table is another one.
    """
    schema, names = batch.union.schema, batch.frozen.key_columns
    data, keys = positional(len(schema.columns)), positions_of(schema, names)
    bounds = f"true{within(rows.needs.bounds, batch.union)}"
    if _begun(session, batch, table) is None:
        return False
    # Held, since they are read twice; and before the transaction begins, so that little time passes
    # from there to the commit.
    with held(rows.frame.select(*data, KIND, MAY_INSERT)) as merged:
        begun = _begun(session, batch, table, goes_on=True)
        if begun is None:
            return False
        if begun.has_applied(transaction, by_checksum=False):
            return True
        files = begun.files(bounds, alias="t")
        same = same_key(keys, rows.needs.not_null)
        present = _by_position(files, bounds, dict(zip(names, keys, strict=True)))
        with (
            held(_found(present, merged, keys, same)) as found,
            ThreadPoolExecutor(1, initializer=activate, initargs=(session,)) as beside,
        ):
            # Both are small jobs, one after another, and each leaves a core to the other.
            coming = _coming(merged, found, data, same)
            written = beside.submit(begun.written, named(coming, schema))
            gone = files.without(found)
            if gone.rows != found.count():
                return False  # two changes are of one row: a MERGE refuses that, and says so
            come = written.result()
            keys_of_both = has_key(batch, not_null=frozenset())
            begun.replace(gone, come, keys_of_both, transaction, batch_record)
    return True


def _begun(
    session: SparkSession, batch: Batch, table: str, *, goes_on: bool = False
) -> DeltaTransaction | None:
    begun = DeltaTransaction.begin(session, table, goes_on=goes_on)
    is_fit = begun is not None and may_replace_rows(begun.metadata, batch.union.schema)
    return begun if is_fit else None


def _by_position(files: FilesRead, bounds: str, keys: Mapping[str, str]) -> DataFrame:
    """The keys of rows of the table, under their positions, and where each row lies."""
    rows = files.rows().alias("t").where(bounds)
    own = (F.col(f"t.{quoted(name)}").alias(position) for name, position in keys.items())
    return rows.select(*own, *files.place(rows))


def _found(present: DataFrame, merged: DataFrame, keys: Sequence[str], same: Column) -> DataFrame:
    """Where each row of the table lies whose key a merge row has, and that key."""
    merging = merged.where(F.col(KIND) != MergeKind.PLAIN_INSERT).select(*keys)
    return present.alias("t").join(merging.alias("s"), same).select("t.*")


def _coming(merged: DataFrame, found: DataFrame, data: Sequence[str], same: Column) -> DataFrame:
    """The rows that are added: one in place of each that an update found, and new ones.

    Found by its key, not by a number of its own: of two copies of what is held, the rows of one key
    may lie in another order.
    """
    is_plain = F.col(f"s.{KIND}") == MergeKind.PLAIN_INSERT
    comes = merged.where(F.col(KIND) != MergeKind.DELETE).alias("s")
    joined = comes.join(found.alias("t"), same & ~is_plain, "left")
    is_added = is_plain | F.col(f"t.{FILE}").isNotNull() | F.col(f"s.{MAY_INSERT}")
    return joined.where(is_added).select(*(f"s.{position}" for position in data))
