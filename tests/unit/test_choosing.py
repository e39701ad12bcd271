"""Which commit a batch takes: its shape in, its path out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openmirror.ports.merge_rows import MergeNeeds
from openmirror.spark.choosing import BatchShape, Commit, CurrentTable, choose
from openmirror.table.control import BatchKind

SMALL = 1000
TABLE = CurrentTable(
    version=7,
    files=1,
    bytes=SMALL,
    has_change_data_feed=False,
    has_deletion_vectors=False,
    tracks_rows=False,
    only_appends=False,
)
INSERTS = MergeNeeds(deletes=False, updates=False, inserts=True)
NOTHING = replace(INSERTS, inserts=False)
DELETES = replace(NOTHING, deletes=True)
MARKS = replace(NOTHING, marks=True)
MIXED = BatchShape(
    kind=BatchKind.EXTEND,
    truncates=False,
    rewrites=False,
    needs=MergeNeeds(deletes=True, updates=True, inserts=True),
    folded_here=True,
    direct=False,
    widens=False,
    adds_columns=False,
    whole_rows=True,
    knows_delta=True,
    table=TABLE,
)
LARGE = replace(TABLE, files=9, bytes=9 * SMALL, has_deletion_vectors=True)
IN_LARGE = replace(MIXED, folded_here=False, table=LARGE)


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, Commit.OVERWRITE),
        ({"needs": DELETES}, Commit.OVERWRITE),
        ({"table": replace(TABLE, files=2)}, Commit.OVERWRITE),
        # Soft deletes take no other way.
        ({"needs": MARKS}, Commit.OVERWRITE),
        ({"needs": MARKS, "table": None}, Commit.MERGE),
        # Nothing that is looked for among the rows.
        ({"needs": INSERTS}, Commit.APPEND),
        ({"needs": NOTHING}, Commit.APPEND),
        ({"needs": INSERTS, "folded_here": False, "table": None}, Commit.APPEND),
        # Only a small table is written again whole.
        ({"table": replace(TABLE, bytes=SMALL + 1)}, Commit.MERGE),
        ({"table": replace(TABLE, files=3)}, Commit.MERGE),
        ({"table": replace(TABLE, files=0, bytes=0)}, Commit.MERGE),
        # Where this process reads and writes it, many files are as good as two.
        ({"direct": True, "table": replace(TABLE, files=50)}, Commit.OVERWRITE),
        ({"direct": True, "table": replace(TABLE, files=51)}, Commit.MERGE),
        ({"direct": True, "table": replace(TABLE, files=3, bytes=SMALL + 1)}, Commit.MERGE),
        ({"table": None}, Commit.MERGE),
        # Its feed would have every row twice.
        ({"table": replace(TABLE, has_change_data_feed=True)}, Commit.MERGE),
        # Each row would get another id.
        ({"table": replace(TABLE, tracks_rows=True)}, Commit.MERGE),
        # Delta refuses to write it anew, though only new keys may come.
        ({"table": replace(TABLE, only_appends=True)}, Commit.MERGE),
        # Partial updates, version columns and large batches, which Spark folds.
        ({"folded_here": False}, Commit.MERGE),
        ({"folded_here": False, "needs": DELETES}, Commit.MERGE),
        ({"widens": True}, Commit.MERGE),
        # What the schema, a truncate or a new epoch asks comes first.
        ({"rewrites": True}, Commit.REWRITE),
        ({"rewrites": True, "widens": True, "needs": INSERTS}, Commit.REWRITE),
        ({"truncates": True}, Commit.BEGIN_ANEW),
        ({"truncates": True, "rewrites": True}, Commit.BEGIN_ANEW),
        ({"kind": BatchKind.REPLACE}, Commit.REPLACE),
        ({"kind": BatchKind.REPLACE, "truncates": True, "rewrites": True}, Commit.REPLACE),
    ],
)
def test_a_batch_takes_the_cheapest_commit_that_is_equal(
    given: dict[str, Any], chosen: Commit
) -> None:
    assert choose(replace(MIXED, **given), SMALL) is chosen


def test_no_table_is_small_where_the_setting_says_so() -> None:
    assert choose(MIXED, 0) is Commit.MERGE


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, Commit.REPLACE_ROWS),
        ({"folded_here": True}, Commit.REPLACE_ROWS),
        ({"needs": DELETES}, Commit.REPLACE_ROWS),
        ({"table": None}, Commit.MERGE),
        # Delta's own classes are others than those that are known.
        ({"knows_delta": False}, Commit.MERGE),
        # Of rows that change, some values stay: partial updates, soft deletes, version columns.
        ({"whole_rows": False}, Commit.MERGE),
        # Its feed would have deletes and inserts in place of updates.
        ({"table": replace(LARGE, has_change_data_feed=True)}, Commit.MERGE),
        ({"table": replace(LARGE, has_deletion_vectors=False)}, Commit.MERGE),
        ({"widens": True}, Commit.MERGE),
        ({"adds_columns": True}, Commit.MERGE),
        # What is cheaper still, or comes first.
        ({"needs": INSERTS}, Commit.APPEND),
        ({"folded_here": True, "table": replace(LARGE, files=2, bytes=SMALL)}, Commit.OVERWRITE),
        ({"truncates": True}, Commit.BEGIN_ANEW),
    ],
)
def test_whole_rows_of_a_large_table_with_deletion_vectors_need_no_merge(
    given: dict[str, Any], chosen: Commit
) -> None:
    assert choose(replace(IN_LARGE, **given), SMALL) is chosen
