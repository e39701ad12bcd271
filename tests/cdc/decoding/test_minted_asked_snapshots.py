"""Rows of snapshots that were asked for stand where the last change before them did.

Both connectors write them by the context of their stream (`minting.asked_snapshots`), and an
incremental snapshot's likewise: they have numbers of a change that they are not.
"""

from __future__ import annotations

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.streams import StopCode
from tests.cdc.decoding.recorded import recorded

SNAPSHOTS = ["false", "first", "true", "last", "incremental", "false"]


def test_rows_of_asked_snapshots_have_the_numbers_of_the_change_before_them(
    decoder: Decoder,
) -> None:
    decoded = decoder.decode(recorded("sqlserver_asked_snapshots"))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    rows = table.rows.to_pylist()
    assert [row["__snapshot"] for row in rows] == SNAPSHOTS
    assert {(row["__transaction"], *row["__within"]) for row in rows[:5]} == {
        (None, 0x27, 0x758, 3, 1)
    }


def test_a_snapshot_that_oracle_was_asked_for_is_refused_since_it_may_be_older(
    decoder: Decoder,
) -> None:
    decoded = decoder.decode(recorded("oracle_asked_snapshots"))
    (table,) = decoded.tables
    assert {row["__snapshot"] for row in table.rows.to_pylist()} == {"false"}
    assert len(decoded.undecodable) == 4
    assert {one.stop.code for one in decoded.undecodable} == {StopCode.RESNAPSHOT_NEEDED}
