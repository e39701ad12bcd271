"""Rows of snapshots that were asked for stand where the last change before them did.

Both connectors write them by the context of their stream (`minting.asked_snapshots`), and an
incremental snapshot's likewise: they have numbers of a change that they are not.
"""

from __future__ import annotations

import pytest

from openmirror.cdc.decoding.decoder import Decoder
from tests.cdc.decoding.recorded import recorded

SNAPSHOTS = ["false", "first", "true", "last", "incremental", "false"]


@pytest.mark.parametrize(
    ("connector", "transaction", "within"),
    [("sqlserver", None, [0x27, 0x758, 3, 1]), ("oracle", "0500060004040000", [7])],
)
def test_rows_of_asked_snapshots_have_the_numbers_of_the_change_before_them(
    decoder: Decoder, connector: str, transaction: str | None, within: list[int]
) -> None:
    decoded = decoder.decode(recorded(f"{connector}_asked_snapshots"))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    rows = table.rows.to_pylist()
    assert [row["__snapshot"] for row in rows] == SNAPSHOTS
    assert {(row["__transaction"], *row["__within"]) for row in rows[:5]} == {
        (transaction, *within)
    }
