"""Folding with a version column: one MERGE for all keys but those that need the interpreter.

A *version* is a value of the version column; it is ordered as PROTOCOL §5.6 says. For one key,
with d its last delete without a version (it removes every row, PROTOCOL §5.6),
let the changes after d, or all of them, be *alive*. As long as no update comes after a delete
among them, each row of the key fares by itself, whatever other rows there are:

- An update replaces a row when its version is not lower than the row's. So after several updates
  a row has the values of u, the last of those with the greatest version, or its own if that is
  greater still. In the same way a row is gone when the greatest version of the deletes, x, is not
  lower than the version it then has.
- Rows of the table meet u and x of all alive changes. If x is not lower than u, whatever u
  replaces goes again: the merge row is `delete` with x's version. Else x removes nothing that is
  not u's already: the merge row is `update` with u. Both compare versions with the row they match.
- An inserted row meets only u and x of the changes after it.
- Where the first alive change is an update and no row is there, it adds one, which then meets u
  and x like any other row.

An update after a delete adds a row only if that delete left none, and that depends on each row of
the table: such a key is *non-foldable*, and goes through the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from openmirror.ports.merge_rows import KIND, MAY_INSERT, MergeKind
from openmirror.protocol.rows import Marker
from openmirror.spark.folding import WHOLE
from openmirror.spark.frames import MARKER, ROW, SEQUENCE
from openmirror.spark.version_column import delete_counts

GROUP = "group"


@dataclass(frozen=True)
class VersionedFold:
    """A batch folded with a version column."""

    folded: DataFrame
    """Data columns, `kind` and `may_insert`, of all foldable keys."""
    non_foldable: DataFrame
    """Data columns, `sequence`, `row`, `marker`, and `group`, one value for each key."""


def fold_versioned(
    changes: DataFrame, data: Sequence[str], keys: Sequence[str], version_column: str
) -> VersionedFold:
    """Fold by keys; `version_column` is the version column's name by position, such as c3."""
    with_facts = _with_key_facts(changes, data, keys, version_column)
    non_foldable = F.col("last_update") > F.col("first_delete")
    is_non_foldable = F.coalesce(non_foldable, F.lit(False))
    return VersionedFold(
        _merge_rows(with_facts.where(~is_non_foldable), data, version_column),
        with_facts.where(is_non_foldable).select(
            *data, F.col("at")[SEQUENCE].alias(SEQUENCE), F.col("at")[ROW].alias(ROW), MARKER, GROUP
        ),
    )


def _with_key_facts(
    changes: DataFrame, data: Sequence[str], keys: Sequence[str], version_column: str
) -> DataFrame:
    by_key = Window.partitionBy(*keys)
    # Backwards, so that "the changes after this one" grow row by row instead of anew for each.
    from_here = by_key.orderBy(F.col("at").desc()).rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    marker, at = F.col(MARKER), F.col("at")
    unversioned = (marker == Marker.DELETE.value) & F.col(version_column).isNull()
    started = changes.select(*data, marker, F.struct(SEQUENCE, ROW).alias("at")).select(
        *data, marker, at, F.max(F.when(unversioned, at)).over(by_key).alias("d")
    )
    is_alive = F.col("d").isNull() | (at > F.col("d"))
    alive = F.col("alive")
    update, delete = alive & marker.isin(*WHOLE), alive & (marker == Marker.DELETE.value)
    rank = F.struct(F.col(version_column).alias("version"), at)
    return (
        started.where(is_alive | (at == F.col("d")))
        .select(*data, marker, at, "d", is_alive.alias("alive"))
        .select(
            *data,
            marker,
            at,
            "d",
            alive,
            F.min(at).over(by_key).alias(GROUP),
            F.min_by(marker, F.when(alive, at)).over(by_key).alias("first"),
            F.max(F.when(update, at)).over(by_key).alias("last_update"),
            F.min(F.when(delete, at)).over(by_key).alias("first_delete"),
            F.max(F.when(update, rank)).over(by_key).alias("u"),
            F.max(F.when(delete, rank)).over(by_key).alias("x"),
            F.max(F.when(update, rank)).over(from_here).alias("u_from_here"),
            F.max_by(F.struct(*data), F.when(update, rank)).over(from_here).alias("u_values"),
            F.max(F.when(delete, rank)).over(from_here).alias("x_from_here"),
        )
    )


def _merge_rows(with_facts: DataFrame, data: Sequence[str], version_column: str) -> DataFrame:
    marker, at, alive, d = F.col(MARKER), F.col("at"), F.col("alive"), F.col("d")
    u, x = F.col("u"), F.col("x")
    inserts = alive & (marker == Marker.INSERT.value)
    own, later = F.col(version_column), F.col("u_from_here")
    taken_over = inserts & later.isNotNull() & _not_lower(later["version"], own)
    at_last = F.when(taken_over, later["version"]).otherwise(own)
    is_gone = _removes(F.col("x_from_here"), at_last)
    starts_with_update = F.col("first").isin(*WHOLE)
    u_goes = _removes(x, u["version"])
    is_u = F.coalesce(alive & (at == u["at"]), F.lit(False))
    is_x = F.coalesce(alive & (at == x["at"]), F.lit(False))
    kind = (
        F.when(~alive, F.lit(MergeKind.DELETE))
        .when(inserts & ~is_gone, F.lit(MergeKind.PLAIN_INSERT))
        .when(is_u & ~u_goes & d.isNull(), F.lit(MergeKind.UPDATE))
        .when(is_u & ~u_goes & starts_with_update, F.lit(MergeKind.PLAIN_INSERT))
        .when(is_x & u_goes & d.isNull(), F.lit(MergeKind.DELETE))
    )
    values = [
        F.when(taken_over, F.col("u_values")[name]).otherwise(F.col(name)).alias(name)
        for name in data
    ]
    rows = with_facts.select(*values, kind.alias(KIND), starts_with_update.alias(MAY_INSERT))
    return rows.where(F.col(KIND).isNotNull())


def _removes(x: Column, version: Column) -> Column:
    """Whether deletes of which x is the greatest remove a row of this version; false without x."""
    return x.isNotNull() & F.coalesce(delete_counts(x["version"], version), F.lit(False))


def _not_lower(one: Column, other: Column) -> Column:
    """NULL is lowest, and not lower than NULL."""
    return F.coalesce(other.isNull() | (one >= other), F.lit(False))
