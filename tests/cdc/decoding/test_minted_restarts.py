"""What streaming sources send, and send again from an offset in a transaction.

By 3.5.0.Final: SQL Server's own over change tables whose numbers do not rise with the commands of a
transaction, Oracle's over rows of LogMiner (`minting.sqlserver_streaming`, `oracle_streaming`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.relay.source_order import SeenChanges, SourceChange, SourcePlace, new_changes
from tests.cdc.decoding.recorded import FOLDER, recorded

Rows = dict[int, list[tuple[int, dict[str, Any]]]]
"""The rows of each run, and which record of it each was."""


def _runs(decoder: Decoder, name: str, table: str) -> Rows:
    records = json.loads((FOLDER / f"{name}.json").read_text())["records"]
    places, counts = [], defaultdict[int, int](int)
    for topic, *_ in records:
        counts[int(topic)] += 1
        places.append((int(topic), counts[int(topic)]))
    decoded = decoder.decode(recorded(name))
    assert decoded.undecodable == ()
    (found,) = [rows for rows in decoded.tables if rows.table.table == table]
    runs: Rows = defaultdict(list)
    for row in found.rows.to_pylist():
        run, at = places[row["__offset"]]
        runs[run].append((at, row))
    return runs


def _change(row: dict[str, Any]) -> SourceChange:
    numbers = tuple(row["__position"]), tuple(row["__within"])
    place = SourcePlace(row["__transaction"], *numbers)
    return SourceChange(row["__op"], row["__key"], place, row["__ts_us"])


def test_numbers_in_a_transaction_need_not_rise_and_pairs_have_no_headers(decoder: Decoder) -> None:
    found = [
        (row["__op"], row["__pair"], row["__position"][1], *row["__within"][1:], row["id"])
        for _, row in _runs(decoder, "sqlserver_restarts", "orders")[0]
    ]
    assert found == [
        ("c", None, 0x709, 0x700, 2, 1, 1),
        ("c", None, 0x709, 0x700, 3, 1, 2),
        # An update is the second row of its place.
        ("u", None, 0x729, 0x720, 5, 2, 1),
        ("u", None, 0x729, 0x720, 3, 2, 1),
        # A changed key: both rows of one place.
        ("d", None, 0x729, 0x720, 9, 1, 2),
        ("c", None, 0x729, 0x720, 9, 2, 3),
        ("d", None, 0x729, 0x720, 6, 1, 1),
        ("c", None, 0x749, 0x740, 1, 1, 4),
    ]


def test_what_is_sent_again_from_within_a_transaction_is_known_again(decoder: Decoder) -> None:
    repeated = 0
    for table in ("orders", "items"):
        runs = _runs(decoder, "sqlserver_restarts", table)
        whole = [row for _, row in runs[0]]
        values = [_value(row) for row in whole]
        for stop in [run for run in runs if run]:
            sent = [row for at, row in runs[0] if at <= stop] + [row for _, row in runs[stop]]
            new = new_changes(SeenChanges(), [_change(row) for row in sent])
            assert new.doubt is None
            kept = [row for row, is_new in zip(sent, new.is_new, strict=True) if is_new]
            assert [_value(row) for row in kept] == values
            repeated += len(sent) - len(kept)
    assert repeated == 27


@pytest.mark.parametrize(
    ("name", "table", "stop"), [("sqlserver", "items", "5"), ("oracle", "ORDERS", "1")]
)
def test_a_connector_that_loses_changes_by_counting_them_is_refused(
    decoder: Decoder, name: str, table: str, stop: str
) -> None:
    """Stopped behind a transaction's beginning, it never sends the first change of that."""
    content = json.loads((FOLDER / f"{name}_transactions.json").read_text())
    sent: dict[str, list[str]] = defaultdict(list)
    for topic, _, value, _ in content["records"]:
        payload = json.loads(value[1]) if value else {}
        if (payload.get("source") or {}).get("table") == table:
            sent[topic].append(payload["op"])
    assert len(sent["0"]) > 1
    assert sent[stop] == sent["0"][1:]
    decoded = decoder.decode(recorded(f"{name}_transactions"))
    assert decoded.tables == ()
    assert all("provide.transaction" in one.stop.remedy for one in decoded.undecodable)


def _value(row: dict[str, Any]) -> tuple[Any, ...]:
    own = {name.lower(): value for name, value in row.items()}
    return (own["__op"], own["id"], own["words"])


def test_oracles_transactions_come_whole_in_the_order_of_their_commits(decoder: Decoder) -> None:
    names = ("__op", "__pair", "__transaction", "__position", "__within")
    orders, items = (
        [tuple(row[name] for name in names) for _, row in _runs(decoder, "oracle_restarts", of)[0]]
        for of in ("ORDERS", "ITEMS")
    )
    first, second, third = (f"05000{n}0001000000" for n in ("1", "2", "3"))
    assert orders == [
        ("c", None, second, [209], [1]),
        ("u", None, second, [209], [2]),
        ("d", "newkey", second, [209], [3]),
        ("c", "oldkey", second, [209], [3]),
        ("c", None, first, [212], [1]),
        ("d", None, first, [212], [2]),
    ]
    # Another transaction has the same commit, and its own numbers.
    assert items == [("c", None, third, [209], [1]), ("c", None, first, [212], [3])]


def test_oracle_goes_on_behind_its_offset_and_loses_the_second_half_of_a_pair(
    decoder: Decoder,
) -> None:
    runs = _runs(decoder, "oracle_restarts", "ORDERS")
    whole = [_value(row) for _, row in runs[0]]
    for stop in [run for run in runs if run]:
        sent = [row for at, row in runs[0] if at <= stop] + [row for _, row in runs[stop]]
        # Behind a delete of a pair, and behind its tombstone.
        lost = [("c", 3, "c")] if stop in (3, 4) else []
        assert [_value(row) for row in sent] == [row for row in whole if row not in lost]
