"""What each operation of an envelope becomes, and the columns that say where it stands."""

from __future__ import annotations

from typing import Any

from openmirror.cdc.decoded import SourceColumn, SourceTable
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.schema import ColumnType
from tests.cdc.decoding.minted import MintedTable, Record, batch, column, struct, with_schema

ITEMS = MintedTable(
    [
        column("id", "int32", optional=False),
        column("name", "string"),
        column("price", "double", default=1.5),
        column("sold", "boolean"),
    ],
    name="items",
)


def rows(decoder: Decoder, *records: Record) -> list[dict[str, Any]]:
    """The only table's rows, where nothing else was found."""
    decoded = decoder.decode(batch(records))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    return list(table.rows.to_pylist())


def test_creates_reads_and_updates_have_their_row_after_the_change(decoder: Decoder) -> None:
    first = {"id": 1, "name": 'a ☃ 😀 "q"', "price": 0.1, "sold": True}
    found = rows(decoder, *(ITEMS.change(op, first) for op in "cru"), ITEMS.change("c", {"id": 2}))
    assert [row["__op"] for row in found] == ["c", "r", "u", "c"]
    assert [{k: v for k, v in row.items() if not k.startswith("__")} for row in found] == [
        first,
        first,
        first,
        {"id": 2, "name": None, "price": None, "sold": None},
    ]


def test_a_delete_has_its_key_columns_alone(decoder: Decoder) -> None:
    (found,) = rows(decoder, ITEMS.change("d", {"id": 7}))
    assert found["__op"] == "d"
    assert found["__key"] == '{"id":7}'
    assert (found["id"], found["name"], found["price"], found["sold"]) == (7, None, None, None)


def test_a_truncate_goes_with_the_other_records_of_its_table(decoder: Decoder) -> None:
    found = rows(
        decoder, ITEMS.change("c", {"id": 1}), ITEMS.change("t"), ITEMS.change("c", {"id": 2})
    )
    assert [(row["__offset"], row["__op"], row["id"]) for row in found] == [
        (0, "c", 1),
        (1, "t", None),
        (2, "c", 2),
    ]


def test_a_truncate_alone_in_its_batch_has_the_key_that_its_table_had_before(
    decoder: Decoder,
) -> None:
    table = MintedTable(ITEMS.columns, name="emptied")
    (before,) = decoder.decode(batch([table.change("t")])).tables
    decoder.decode(batch([table.change("c", {"id": 1})]))
    (after,) = decoder.decode(batch([table.change("t")])).tables
    assert (before.keys, after.keys) == ((), ("id",))


def test_a_row_says_where_it_stands_in_its_source(decoder: Decoder) -> None:
    (found,) = rows(decoder, ITEMS.change("u", {"id": 1}, sequence='["5","17"]', lsn=17, txId=9))
    assert found["__position"] == [5, 17]
    assert found["__transaction"] == "9"
    assert found["__snapshot"] == "false"
    assert found["__ts_us"] == 1795414440934028
    assert found["__pair"] is None


def test_before_the_first_commit_the_position_begins_with_minus_one(decoder: Decoder) -> None:
    (found,) = rows(decoder, ITEMS.change("r", {"id": 1}, sequence='[null,"17"]', lsn=17))
    assert found["__position"] == [-1, 17]
    assert found["__snapshot"] == "true"


def test_a_row_of_an_incremental_snapshot_has_no_position(decoder: Decoder) -> None:
    (found,) = rows(
        decoder, ITEMS.change("r", {"id": 1}, snapshot="incremental", lsn=None, txId=None)
    )
    assert found["__position"] is None
    assert found["__transaction"] is None
    assert found["__snapshot"] == "incremental"


def test_both_halves_of_a_changed_key_are_marked(decoder: Decoder) -> None:
    topic, old, delete, _ = ITEMS.change("d", {"id": 1})
    _, new, create, _ = ITEMS.change("c", {"id": 2})
    other = {"__debezium.context.taskId": b"0"}
    records = batch(
        [
            (topic, old, delete, {**other, "__debezium.newkey": new or b""}),
            (topic, new, create, {"__debezium.oldkey": old or b"", **other}),
            (topic, new, create, other),
            (topic, old, delete, {"__debezium.newkey": new or b""}),
        ]
    )
    for first in range(len(records)):  # a batch may be a part of another
        (table,) = decoder.decode(records.slice(first)).tables
        assert table.rows["__pair"].to_pylist() == ["newkey", "oldkey", None, "newkey"][first:]


def test_a_table_says_its_name_its_key_and_its_columns(decoder: Decoder) -> None:
    (table,) = decoder.decode(batch([ITEMS.change("c", {"id": 1})])).tables
    assert table.table == SourceTable("shop", "public", "items")
    assert table.keys == ("id",)
    assert table.columns == (
        SourceColumn("id", ColumnType("integer"), nullable=False, has_default=False),
        SourceColumn("name", ColumnType("string"), nullable=True, has_default=False),
        SourceColumn("price", ColumnType("double"), nullable=True, has_default=True),
        SourceColumn("sold", ColumnType("boolean"), nullable=True, has_default=False),
    )


def test_a_table_without_a_key_has_no_key_columns(decoder: Decoder) -> None:
    table = MintedTable(ITEMS.columns, keys=(), name="keyless")
    (decoded,) = decoder.decode(batch([table.change("c", {"id": 1})])).tables
    assert decoded.keys == ()
    assert decoded.rows["__key"].to_pylist() == [None]


def test_tables_and_schema_versions_are_apart_each_in_its_order(decoder: Decoder) -> None:
    wider = MintedTable([*ITEMS.columns, column("more", "int64")], name="items")
    other = MintedTable(ITEMS.columns, name="others")
    decoded = decoder.decode(
        batch(
            [
                ITEMS.change("c", {"id": 1}),
                other.change("c", {"id": 2}),
                ITEMS.change("c", {"id": 3}),
                wider.change("c", {"id": 4, "more": 5}),
            ],
            first=70,
        )
    )
    assert [
        (rows.table.table, len(rows.columns), rows.rows["__offset"].to_pylist())
        for rows in decoded.tables
    ] == [("items", 4, [70, 72]), ("others", 4, [71]), ("items", 5, [73])]


def test_tables_that_share_one_schema_are_apart_as_well(decoder: Decoder) -> None:
    decoded = decoder.decode(
        batch(ITEMS.change("c", {"id": n}, table=f"part{n % 2}") for n in range(4))
    )
    assert [(rows.table.table, rows.rows["id"].to_pylist()) for rows in decoded.tables] == [
        ("part0", [0, 2]),
        ("part1", [1, 3]),
    ]


def test_records_about_no_row_are_counted(decoder: Decoder) -> None:
    beat = struct(
        [column("ts_ms", "int64", optional=False)], "io.debezium.connector.common.Heartbeat"
    )
    end = struct(
        [column("status", "string", optional=False)],
        "io.debezium.connector.common.TransactionMetadataValue",
    )
    message = struct([column("op", "string")], "io.debezium.connector.postgresql.MessageValue")
    topic, key, _, _ = ITEMS.change("d", {"id": 1})
    decoded = decoder.decode(
        batch(
            [
                ("__debezium-heartbeat.pg", key, with_schema(beat, {"ts_ms": 1}), {}),
                ("pg.transaction", key, with_schema(end, {"status": "END"}), {}),
                ("pg.message", None, with_schema(message, {"op": "m"}), {}),
                (topic, key, None, {}),
            ]
        )
    )
    assert (decoded.tables, decoded.undecodable, decoded.others) == ((), (), 4)


def test_a_batch_of_many_parts_keeps_its_order(decoder: Decoder) -> None:
    tables = [MintedTable(ITEMS.columns, name=f"many{number}") for number in range(2)]
    records = [tables[n % 2].change("d" if n % 3 else "c", {"id": n}) for n in range(4_500)]
    for table in decoder.decode(batch(records)).tables:
        offsets = table.rows["__offset"].to_pylist()
        assert offsets == list(range(offsets[0], 4_500, 2))
        assert table.rows["id"].to_pylist() == offsets


def test_a_text_may_be_larger_than_parsers_of_json_take_by_themselves(decoder: Decoder) -> None:
    text = "0123456789" * 2_100_000
    (found,) = rows(decoder, ITEMS.change("c", {"id": 1, "name": text}))
    assert found["name"] == text


def test_no_records_say_nothing(decoder: Decoder) -> None:
    decoded = decoder.decode(batch([]))
    assert (decoded.tables, decoded.undecodable, decoded.others) == ((), (), 0)
