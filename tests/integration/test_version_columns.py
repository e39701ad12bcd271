"""Rows that are read in order to be written again: no commit of somebody else is lost over it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from openmirror.plan.decisions import Idle
from openmirror.spark import committing
from openmirror.spark.interpreting import as_python_orders, left_of
from openmirror.spark.transacting import activate, fresh_session
from openmirror.spark.version_column import update_counts
from tests.zone import Mirror


def _changes(*rows: tuple[int, int, str]) -> pa.Table:
    """Changes of key 1."""
    markers, version_columns, values = zip(*rows, strict=True)
    ids = [1] * len(rows)
    return pa.table(
        {"__rowMarker__": markers, "id": ids, "seq": version_columns, "v": list(values)}
    )


def _somebody_deletes_just_before_the_merge(mirror: Mirror, patch: pytest.MonkeyPatch) -> None:
    merge, path = committing.merge, str(mirror.delta_path("t"))

    def late(session: Any, *rest: Any, **more: Any) -> None:
        DeltaTable.forPath(fresh_session(mirror.spark), path).delete("seq = 9")
        activate(session)
        merge(session, *rest, **more)

    patch.setattr(committing, "merge", late)


def _read_early(patch: pytest.MonkeyPatch) -> None:
    present = committing.present_rows
    patch.setattr(
        committing, "present_rows", lambda *what: present(*what).localCheckpoint(eager=True)
    )


@pytest.mark.parametrize("early", [False, True], ids=["as-it-is", "read-before-the-transaction"])
def test_the_interpreter_sees_what_was_committed_until_the_merge_began(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    mirror.zone.metadata("t", {"keyColumns": ["id"], "ConditionalUpdateColumn": "seq"})
    mirror.zone.put("t", 1, _changes((0, 3, "a"), (0, 9, "b")))
    mirror.reconcile_until_idle("t")
    mirror.zone.put("t", 2, _changes((2, 5, ""), (1, 1, "x")))
    _somebody_deletes_just_before_the_merge(mirror, monkeypatch)
    if early:
        _read_early(monkeypatch)
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    rows = [(row["seq"], row["v"]) for row in mirror.rows("t")]
    assert rows == ([(9, "b")] if early else [(1, "x")]), "a row that was deleted came back"


_ASCENDING = {
    "string": ["''", "'10'", "'9'", "'Z'", "'a'", "'a '", "'é'", "'\uff5e'", "'\U0001f600'"],
    "binary": ["X''", "X'00'", "X'7FFF'", "X'80'"],
    "timestamp": ["timestamp_micros(-9223372036854775807)", "now()", "timestamp_micros(1L << 62)"],
    "timestamp_ntz": ["TIMESTAMP_NTZ '0001-01-01'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"],
    "date": ["date_from_unix_date(-900000)", "DATE '0001-01-01'", "date_from_unix_date(90000000)"],
    "decimal(38,2)": ["-0.01", "0", "0.01", "9e35"],
    "boolean": ["false", "true"],
    "tinyint": ["-128", "0", "127"],
    "bigint": ["-9223372036854775808", "0", "9223372036854775807"],
    "float": ["'-Infinity'", "-1", "0", "1e30", "'Infinity'", "'NaN'"],
    "double": ["'-Infinity'", "-1", "0", "1e300", "'Infinity'", "'NaN'"],
}


def test_version_columns_of_every_type_are_compared_in_python_as_in_spark(
    spark: SparkSession,
) -> None:
    frame = spark.range(1)
    cases = [
        (kind, low, high)
        for kind, values in _ASCENDING.items()
        for low, high in [(None, values[0]), *pairwise(values)]
    ]
    columns = []
    for kind, low, high in cases:
        one, two = (F.expr(f"cast({value or 'NULL'} AS {kind})") for value in (low, high))
        of = frame.select(one.alias("v")).schema["v"].dataType
        small, great = as_python_orders(one, of), as_python_orders(two, of)
        for first, second in ((small, great), (great, small), (great, great)):
            columns.append(left_of(F.array(F.lit(0), F.lit(1)), F.array(first, second)))
            # Spark's own comparison, which decides for keys that are foldable.
            columns.append(F.coalesce(update_counts(second, first), F.lit(False)))
    found = list(frame.select(*columns).first() or ())
    for at, (kind, low, high) in enumerate(cases):
        answers = found[at * 6 : at * 6 + 6]
        assert answers == [[1], True, [0], False, [1], True], f"{kind}: {low} and {high}"
