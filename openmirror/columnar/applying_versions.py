"""A folded batch applied to a history, in columns: versions are closed, and new ones added.

What `spark.version_folding` and `spark.version_commits` do by joins (PROTOCOL §5.9).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.columns import behind, taken
from openmirror.columnar.folding import NEVER, ChangePlaces
from openmirror.columnar.keys import numbered
from openmirror.columnar.version_folding import TooManyVersions
from openmirror.ports.version_rows import AT_LEAST_ONCE

_MOST = 4
"""So many versions are opened at most for each that there is, or that a batch brings."""


def applied_versions(
    table: pa.Table,
    opens: pa.Table,
    closes: pa.Table,
    *,
    keys: Sequence[str],
    is_current: str,
    closing: Sequence[str],
) -> pa.Table:
    """All versions of a history after a batch, by position.

    Raises TooManyVersions where far more would be opened than there are: a key with many open
    versions has as many again by each update; and RepeatsTooMuch.

    `opens` and `closes` are as `FoldedVersions` gives them; `is_current` is the position of that
    column, and `closing` are those of the columns that a version gets when it is closed.
    """
    parts = (table, closes, opens)
    ends = np.cumsum([len(part) for part in parts])
    numbers = numbered([behind(*(part.column(key) for part in parts)) for key in keys], ends[-1])
    of_table, of_closes, of_opens = np.split(numbers, ends[:-1])
    is_open = table.column(is_current).fill_null(False).to_numpy()
    count = int(numbers.max()) + 1 if len(numbers) else 1
    close_of = np.full(count, NEVER, dtype=np.int64)
    close_of[of_closes] = np.arange(len(closes))
    closed_by = np.where(is_open, close_of[of_table], NEVER)
    places = pa.array(np.where(closed_by != NEVER, len(table) + closed_by, np.arange(len(table))))
    if AT_LEAST_ONCE in opens.column_names:
        open_of = np.bincount(of_table[is_open], minlength=count)[of_opens]
        opens = _for_each_open(opens, open_of, _MOST * (len(table) + len(opens)))
    columns = [
        behind(
            taken(behind(table.column(name), closes.column(name)), places)
            if name in closing
            else table.column(name),
            opens.column(name),
        )
        for name in table.column_names
    ]
    return pa.table(columns, names=table.column_names)


def only_new_versions(opens: pa.Table) -> pa.Table:
    """The versions of a batch that changes none which is there: those that wait for one to be
    open find none."""
    if AT_LEAST_ONCE not in opens.column_names:
        return opens
    return _for_each_open(opens, np.zeros(len(opens), dtype=np.int64), len(opens))


def _for_each_open(opens: pa.Table, open_of: ChangePlaces, most: int) -> pa.Table:
    """New versions, of which some are opened for each version of their key that is open."""
    at_least_once = opens.column(AT_LEAST_ONCE)
    asks = at_least_once.is_valid().to_numpy()
    least = at_least_once.fill_null(True).to_numpy().astype(np.int64)
    times = np.where(asks, np.maximum(open_of, least), 1)
    if int(times.sum()) > most:
        raise TooManyVersions(int(times.sum()))
    places = pa.array(np.repeat(np.arange(len(opens)), times))
    own = opens.drop_columns([AT_LEAST_ONCE])
    columns = [taken(column, places) for column in own.columns]
    return pa.table(columns, names=own.column_names)
