"""The commit that replaces rows by their keys: for upserts into a large table of unique keys.

A MERGE joins the table three times, to find its rows, to write them anew, and to mark the old
ones. This reads no more of it than the keys, once, and marks (`choosing` says when it is the same).
"""

from __future__ import annotations

from py4j.java_gateway import JavaClass
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from openmirror.plan import Batch
from openmirror.ports import Transaction
from openmirror.ports.merge_rows import positional
from openmirror.spark.frames import named, quoted
from openmirror.spark.holding import held
from openmirror.spark.transacting import in_options

_COMMAND = "org.apache.spark.sql.delta.commands.DeltaInsertReplaceOnOrUsingCommand"
_MATERIALIZE = "spark.databricks.delta.insertReplaceOnOrUsing.materializeSource"


def are_unique(session: SparkSession, table: str, keys: tuple[str, ...], version: int) -> bool:
    """Whether each key is in one row at most at a version of a table."""
    reader = session.read.format("delta").option("versionAsOf", version)
    values = [F.col(quoted(key)).alias(f"k{at}") for at, key in enumerate(keys)]
    rows = reader.load(table).groupBy(*values).agg(F.count(F.lit(1)).alias("rows"))
    return rows.where("rows > 1").isEmpty()


def replace_keys(
    session: SparkSession,
    merge_rows: DataFrame,
    batch: Batch,
    table: str,
    transaction: Transaction,
    batch_record: str,
) -> None:
    """Take away every row that has a key of these rows, and add them; never creates a table.

    All of them must be updates that may insert, and this Delta must know how (`knows_how`).
    """
    # They are read twice, to find rows and to write. Held here, so that no time passes between
    # finding the table and the transaction, as it would if Delta held them.
    session.conf.set(_MATERIALIZE, "none")
    same = " AND ".join(f"t.{key} = s.{key}" for key in map(quoted, batch.frozen.key_columns))
    with held(merge_rows.select(*positional(len(batch.union.schema.columns)))) as rows:
        to = named(rows, batch.union.schema).alias("s").write.format("delta").mode("overwrite")
        for name, value in in_options(transaction, batch_record).items():
            to = to.option(name, value)
        # By `insertInto`, Spark would leave out the options where somebody has set Delta to be read
        # by its first interface, and the rows would take the place of all. This one would create a
        # table, so its absence is found first.
        session.table(f"delta.{quoted(table)}")
        to.option("replaceOn", same).option("targetAlias", "t").save(table)


def knows_how(session: SparkSession) -> bool:
    """Whether this Delta replaces on a condition: one that does not would replace the table."""
    return isinstance(getattr(session._jvm, _COMMAND), JavaClass)
