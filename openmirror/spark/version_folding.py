"""Folding a batch of a history: the versions that it opens, and the open ones that it closes.

Each key's changes go, behind the versions of it that are open in the table, through the interpreter
that defines histories (PROTOCOL §5.9), in Spark's Python workers. It gets markers, versions and
absent columns alone, and answers which change opened a version, which one closed it, and whose
values it has; all other values stay with Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from openmirror.plan import Batch
from openmirror.ports.merge_rows import KIND, key_positions, positional, positions_of
from openmirror.ports.version_rows import AT_LEAST_ONCE, FoldedVersions, VersionKind
from openmirror.protocol.rows import Marker
from openmirror.protocol.versions import (
    BEGIN,
    CLOSED,
    IS_CURRENT,
    OPENED,
    RE_CREATE,
    VALID_FROM,
    VALID_TO,
    ChangePlace,
)
from openmirror.spark.frames import (
    ABSENT,
    MARKER,
    ROW,
    SEQUENCE,
    moment,
    operation_of,
    same_key,
    sql_type,
)
from openmirror.spark.interpreter import versions_passed
from openmirror.spark.interpreting import as_python_orders
from openmirror.spark.markers import MarkedRows
from openmirror.spark.soft_deletes import truncates_as_deletes
from openmirror.spark.version_column import version_column_of
from openmirror.spark.versioned_folding import GROUP

_BEFORE_ALL = -1
_PASSED = ArrayType(
    StructType(
        [
            StructField("at", IntegerType()),
            StructField("closed", IntegerType()),
            StructField("sources", ArrayType(IntegerType())),
        ]
    )
)


@dataclass(frozen=True, kw_only=True)
class VersionColumns:
    """Where a batch of a history has its columns, and what they are written with."""

    data: tuple[str, ...]
    """All columns of the table, by position."""
    ours: Mapping[str, str]
    """The position of each of our own, by its name."""
    keys: tuple[str, ...]
    version: str | None
    decided_at: datetime
    incarnation: str
    types: Mapping[str, str]

    @classmethod
    def of(cls, batch: Batch) -> VersionColumns:
        """Those of a batch that was decided."""
        assert batch.decided_at is not None  # nothing is committed before it is decided
        schema = batch.union.schema
        names = (VALID_FROM, VALID_TO, IS_CURRENT, *OPENED, *CLOSED)
        data = positional(len(schema.columns))
        column = version_column_of(batch)
        kinds = (sql_type(one.type) for one in schema.columns)
        return cls(
            data=tuple(data),
            ours=dict(zip(names, positions_of(schema, names), strict=True)),
            keys=tuple(key_positions(batch)),
            version=positions_of(schema, [column.name])[0] if column else None,
            decided_at=batch.decided_at,
            incarnation=batch.epoch.incarnation,
            types=dict(zip(data, kinds, strict=True)),
        )

    @property
    def matched(self) -> tuple[str, ...]:
        """What a row that closes has in common with those that it closes."""
        return (*self.keys, *((self.version,) if self.version else ()))

    @property
    def closing(self) -> tuple[str, ...]:
        """The columns that a version gets when it is closed."""
        return tuple(self.ours[name] for name in (VALID_TO, IS_CURRENT, *CLOSED))

    @property
    def decided(self) -> Column:
        """When the batch was decided."""
        return moment(self.decided_at)

    def opened(self, place: Sequence[Column]) -> dict[str, Column]:
        """An open version's values in our columns, by position; `place` is what opened it."""
        values = {VALID_FROM: self.decided, IS_CURRENT: F.lit(True)}
        values |= dict(zip(OPENED, place, strict=True))
        return self._placed(values)

    def closed(self, place: Sequence[Column]) -> dict[str, Column]:
        """What a version's values become that this closes, by position."""
        values = {VALID_TO: self.decided, IS_CURRENT: F.lit(False)}
        values |= dict(zip(CLOSED, place, strict=True))
        return self._placed(values)

    def as_place(self, place: ChangePlace) -> tuple[Column, ...]:
        """A place as literals."""
        return tuple(map(F.lit, place))

    def beginning(self, sequence: int) -> tuple[Column, ...]:
        """The place at which a history begins with the rows that are there."""
        return self.as_place(ChangePlace(BEGIN, self.incarnation, sequence, None))

    def re_creation(self) -> tuple[Column, ...]:
        """The place before the first file of a folder that was made again."""
        return self.as_place(ChangePlace(RE_CREATE, self.incarnation, 0, None))

    def typed(self, values: Mapping[str, Column]) -> list[Column]:
        """Every column, with NULL where no value is given."""
        return [
            values.get(name, F.lit(None)).cast(self.types[name]).alias(name) for name in self.data
        ]

    def _placed(self, values: Mapping[str, Column]) -> dict[str, Column]:
        return {self.ours[name]: value for name, value in values.items()}


def begun(current: DataFrame, columns: VersionColumns, position: int) -> DataFrame:
    """The rows of a current table, by position, as the versions that a history begins with."""
    own = {name: F.col(name) for name in columns.data if name in current.columns}
    return current.select(*columns.typed({**own, **columns.opened(columns.beginning(position))}))


def only_opened(changes: DataFrame, columns: VersionColumns) -> DataFrame:
    """The versions of a batch of inserts, which closes nothing."""
    place = _place(columns, F.col(MARKER), F.col(SEQUENCE), F.col(ROW))
    own = {name: F.col(name) for name in columns.data}
    return changes.select(*columns.typed({**own, **columns.opened(place)}))


@dataclass(frozen=True)
class VersionRows:
    """What a batch does to a history."""

    opens: DataFrame
    """The new versions, by position."""
    closes: DataFrame
    """One row for each key, by position: it closes the open versions of it."""
    _both: DataFrame | None = None
    """All of them with `kind`, where they come of one frame."""

    @classmethod
    def of(cls, both: DataFrame, columns: VersionColumns) -> VersionRows:
        """The two parts of a frame with `kind`."""
        opens, closes = (both.where(F.col(KIND) == str(kind)) for kind in VersionKind)
        return cls(opens.select(*columns.data), closes.select(*columns.data), both)

    @property
    def both(self) -> DataFrame:
        """All of them, with `kind`."""
        if self._both is not None:
            return self._both
        opens = self.opens.withColumn(KIND, F.lit(str(VersionKind.OPENS)))
        return opens.unionByName(self.closes.withColumn(KIND, F.lit(str(VersionKind.CLOSES))))


def folded_before(
    session: SparkSession,
    folded: FoldedVersions,
    present: DataFrame | None,
    columns: VersionColumns,
    *,
    small: bool,
) -> VersionRows:
    """The rows of a batch that was folded in this process.

    `present` as for `fold_versions`; it is read only where it matters how many versions a key has,
    and is one task where it is `small`.
    """
    # With the time of the decision as a value of each row: as a literal of the plan it would make
    # Spark compile that anew for each commit.
    typed, at = ", ".join(f"{n} {columns.types[n]}" for n in columns.data), columns.decided_at
    if folded.asks:
        asking = session.createDataFrame(folded.opens(at), f"{typed}, {AT_LEAST_ONCE} boolean")
        opens = _for_each_open(asking.coalesce(1), present, columns, small=small)
    else:
        opens = session.createDataFrame(folded.opens(at), typed)
    return VersionRows(
        opens.coalesce(1), session.createDataFrame(folded.closes(at), typed).coalesce(1)
    )


def _for_each_open(
    rows: DataFrame, present: DataFrame | None, columns: VersionColumns, *, small: bool
) -> DataFrame:
    """New versions, of which some are opened for each version of their key that is open."""
    once = F.coalesce(AT_LEAST_ONCE, F.lit(True))
    if present is None:
        return rows.where(once).drop(AT_LEAST_ONCE)
    same, asks = same_key(columns.keys), F.col(AT_LEAST_ONCE).isNotNull()
    found = present.select(*columns.keys, F.lit(True).alias("open")).alias("t")
    if not small:
        # Where the table is read; the other join would send all of its open keys to this batch.
        wanted = F.broadcast(rows.where(asks)).alias("s")
        found = found.join(wanted, same, "leftsemi").alias("t")
    for_each = found.join(rows.hint("shuffle_hash").alias("s"), same & asks, "right")
    return for_each.where(F.col("open") | once).select(*(f"s.{name}" for name in columns.data))


def fold_versions(
    changes: DataFrame,
    marked: MarkedRows,
    present: DataFrame | None,
    columns: VersionColumns,
    *,
    few: bool = False,
) -> DataFrame:
    """All columns by position and `kind`: new versions, and rows that close what was open.

    `present` has the open versions of the table by position; None where the batch starts from none.
    It must be read lazily: inside the transaction that commits what comes out. A truncate closes
    what has no key of the batch as well: that is left to the commit. `few` keys are sent to where
    the table is read.
    """
    left = sorted({name for names in marked.absent.values() for name in names})
    entries = _entries(changes, marked, present, columns, left, few=few)
    all_of_key = F.col("entries")
    found = F.udf(versions_passed, _PASSED, useArrow=False)(
        all_of_key[MARKER],
        F.transform(all_of_key, lambda one: _version(one, changes, columns)),
        all_of_key["leaves"],
        F.size(F.filter(all_of_key, lambda one: one[SEQUENCE] == _BEFORE_ALL)),
        F.lit(len(left)),
    )
    rows = entries.select("entries", F.explode(found).alias("one")).select(
        all_of_key[F.col("one.at")].alias("own"),
        F.when(F.col("one.closed").isNotNull(), all_of_key[F.col("one.closed")]).alias("end"),
        *(
            all_of_key[F.col("one.sources")[at]]["values"][name].alias(f"of_{name}")
            for at, name in enumerate(left)
        ),
    )
    own, end, is_closed = F.col("own"), F.col("end"), F.col("end").isNotNull()
    values = {name: own["values"][name] for name in columns.data}
    values |= {name: F.col(f"of_{name}") for name in left}
    values |= columns.opened(_place(columns, own[MARKER], own[SEQUENCE], own[ROW]))
    closing = columns.closed(_place(columns, end[MARKER], end[SEQUENCE], end[ROW]))
    for name, value in closing.items():
        values[name] = F.when(is_closed, value).otherwise(values[name])
    kind = (
        F.when(own[SEQUENCE] == _BEFORE_ALL, VersionKind.CLOSES)
        .otherwise(VersionKind.OPENS)
        .alias(KIND)
    )
    return rows.select(*columns.typed(values), kind)


def _entries(
    changes: DataFrame,
    marked: MarkedRows,
    present: DataFrame | None,
    columns: VersionColumns,
    left: Sequence[str],
    *,
    few: bool,
) -> DataFrame:
    """One row a key, with its `entries` in order: open versions, and then changes."""
    keys, data = columns.keys, columns.data
    every = truncates_as_deletes(changes, marked.truncates, keys, marker=Marker.TRUNCATE)
    leaves = F.array().cast("array<int>")
    for text, names in marked.absent.items():
        numbers = F.array(*(F.lit(left.index(name)) for name in names))
        leaves = F.when(F.col(ABSENT) == text, numbers).otherwise(leaves)
    by_key, place = Window.partitionBy(*keys), F.struct(SEQUENCE, ROW)
    is_real = F.col(MARKER) != Marker.TRUNCATE.value
    grouped = every.select(
        *data,
        SEQUENCE,
        ROW,
        MARKER,
        leaves.alias("leaves"),
        # A truncate has one place in every key.
        F.min(F.when(is_real, place)).over(by_key).alias(GROUP),
    )
    rows = grouped
    if present is not None:
        first = grouped.where(F.col(GROUP) == place)
        wanted = first.select(*(F.col(key).alias(f"of_{key}") for key in keys), GROUP)
        same_key = F.lit(True)
        for key in keys:
            same_key = same_key & F.col(key).eqNullSafe(F.col(f"of_{key}"))
        rows = grouped.unionByName(
            present.join(F.broadcast(wanted) if few else wanted, same_key).select(
                *data,
                F.lit(_BEFORE_ALL).cast("long").alias(SEQUENCE),
                F.lit(0).cast("long").alias(ROW),
                F.lit(Marker.INSERT.value).alias(MARKER),
                F.array().cast("array<int>").alias("leaves"),
                GROUP,
            )
        )
    entry = F.struct(SEQUENCE, ROW, MARKER, "leaves", F.struct(*data).alias("values"))
    return rows.groupBy(GROUP).agg(F.sort_array(F.collect_list(entry)).alias("entries"))


def _version(one: Column, changes: DataFrame, columns: VersionColumns) -> Column:
    if columns.version is None:
        return F.lit(None).cast("int")
    kind = changes.schema[columns.version].dataType
    return as_python_orders(one["values"][columns.version], kind)


def _place(
    columns: VersionColumns, marker: Column, sequence: Column, row: Column
) -> tuple[Column, ...]:
    return operation_of(marker), F.lit(columns.incarnation), sequence, row + 1
