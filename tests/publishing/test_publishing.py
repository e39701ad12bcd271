"""The library's calls, one by one: what lands, under which number, and what is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from openmirror.errors import PublishRefused, WrongRequest
from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.protocol.rules import Code
from openmirror.publishing import Publisher
from openmirror.table.layout import join
from tests.publishing.zones import ORDERS, landed, memory, mirrored, numbers, publisher


def test_every_kind_of_change_lands_and_means_what_it_is_called() -> None:
    store = memory()
    with publisher(store) as zone, zone.table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1, "city": "Oslo"}, {"id": 2, "city": "Rome"}])
        orders.upsert([{"id": 2, "city": "Riga"}, {"id": 3, "city": "Bern"}])
        orders.update([{"id": 3, "city": "Kyiv"}])
        orders.delete([{"id": 1, "city": "no matter"}])
        orders.publish([{"id": 4, "city": "Nice", "__rowMarker__": 0}])
        orders.change_key([{"id": 4}], [{"id": 5, "city": "Nice"}])
    assert sorted(mirrored(store).rows, key=lambda row: str(row["id"])) == [
        {"id": 2, "city": "Riga"},
        {"id": 3, "city": "Kyiv"},
        {"id": 5, "city": "Nice"},
    ]
    assert numbers(store) == [1]


def test_a_file_of_inserts_alone_has_no_marker_column() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1}])
    (file,) = landed(store)
    assert file.columns == ("id",)


def test_rows_become_files_of_the_size_that_was_asked_for() -> None:
    store = memory()
    with publisher(store, rows=4).table("dbo.orders", key=["id"]) as orders:
        orders.upsert(pa.table({"id": range(10)}))
        assert numbers(store) == [1, 2]
        (last,) = orders.flush()
        assert (last.name, last.rows) == (f"{3:020d}.parquet", 2)
    assert [len(file.changes) for file in landed(store)] == [4, 4, 2]


def test_a_position_that_landed_is_not_landed_again() -> None:
    store = memory()
    with publisher(store) as zone:
        with zone.table("dbo.orders", key=["id"], source="erp") as orders:
            orders.insert([{"id": 1}], position=10)
        with zone.table("dbo.orders", key=["id"], source="erp") as orders:
            assert orders.position == 10
            orders.insert([{"id": 1}], position=10)
            orders.insert([{"id": 2}], position=11)
        with zone.table("dbo.orders", key=["id"], source="other") as orders:
            assert orders.position is None
            orders.insert([{"id": 3}], position=1)
        with zone.table("dbo.orders", source="erp") as orders:
            assert orders.position == 11
    assert [row["id"] for row in mirrored(store).rows] == [1, 2, 3]


def test_a_batch_without_rows_lands_with_the_next_file_or_in_one_of_its_own_at_a_flush() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"], source="erp") as orders:
        orders.insert([{"id": 1}], position=1)
        orders.insert([], position=2)
        assert [file.rows for file in orders.flush()] == [1]
        assert orders.position == 2
        orders.insert([], position=3)
        with orders.batch(4):
            pass
        assert numbers(store) == [1]
        assert [file.rows for file in orders.flush()] == [0]
        assert orders.position == 4
        assert orders.flush() == []
    with publisher(store).table("dbo.orders", source="erp") as orders:
        orders.insert([{"id": 2}], position=4)
        orders.insert([{"id": 2}], position=5)
    assert [row["id"] for row in mirrored(store).rows] == [1, 2]


def test_a_table_may_begin_with_a_batch_without_rows() -> None:
    store = memory()
    publisher(store).table("dbo.orders", key=["id"]).insert([], position=1)
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert([], position=1)
    path = join(ORDERS, f"{1:020d}.parquet")
    (entry,) = (e for e in store.list_folder(ORDERS).entries if path.endswith(e.name))
    facts = ParquetInspector(store).inspect(path, entry)
    assert (facts.broken, facts.rows, facts.schema.columns) == (None, 0, ())
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1}], position=2)
    assert [row["id"] for row in mirrored(store).rows] == [1]


def test_a_folder_of_this_machine_is_a_zone(tmp_path: Path) -> None:
    zone = tmp_path / "landing" / "sales" / "Files" / "LandingZone"
    with Publisher(zone).table("orders", key=["id"]) as orders:
        orders.upsert([{"id": 1}])
    assert sorted(p.name for p in (zone / "orders").iterdir() if p.name[0] != "_") == [
        f"{1:020d}.parquet"
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lake", "landing"]


def test_a_folder_outside_of_any_root_is_a_zone_and_nothing_is_put_beside_it(
    tmp_path: Path,
) -> None:
    with Publisher(tmp_path / "zone").table("orders", key=["id"]) as orders:
        orders.upsert([{"id": 1}])
    assert [p.name for p in tmp_path.iterdir()] == ["zone"]


def test_a_writer_that_fails_lands_nothing_of_what_waits() -> None:
    store = memory()

    def fail() -> None:
        with publisher(store).table("dbo.orders", key=["id"]) as orders:
            orders.upsert([{"id": 1}])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert numbers(store) == []


def test_one_table_has_one_writer() -> None:
    zone = publisher(memory())
    zone.table("dbo.orders", key=["id"])
    with pytest.raises(WrongRequest, match="open already"):
        zone.table("dbo.orders")


def test_a_closed_writer_takes_nothing() -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    orders.close()
    with pytest.raises(WrongRequest, match="is closed"):
        orders.insert([{"id": 1}])


def test_what_breaks_a_rule_is_refused_before_a_byte_is_written() -> None:
    store = memory()
    orders = publisher(store).table("dbo.orders", key=["id"])
    before = store.list_folder(ORDERS).entries
    with pytest.raises(PublishRefused) as refused:
        orders.upsert([{"city": "Oslo"}])
    assert refused.value.code is Code.KEY_COLUMN_MISSING
    assert "PROTOCOL §5.1" in str(refused.value)
    orders.close()
    assert store.list_folder(ORDERS).entries == before


def test_the_metadata_makes_the_folder() -> None:
    store = memory()
    publisher(store).table("dbo.orders", key=["id"]).close()
    assert store.read(join(ORDERS, "_metadata.json")).data.startswith(
        b'{\n  "keyColumns": [\n    "id"'
    )


def test_changed_keys_are_never_cut_apart_and_may_be_exchanged() -> None:
    store = memory()
    with publisher(store, rows=2).table("dbo.orders", key=["id"], source="erp") as orders:
        orders.insert([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], position=1)
        orders.change_key(
            [{"id": 1}, {"id": 2}], [{"id": 2, "v": "a"}, {"id": 1, "v": "b"}], position=2
        )
        with orders.batch(3):
            orders.change_key([{"id": 1}], [{"id": 3, "v": "b"}])
            orders.insert([{"id": 4, "v": "c"}])
    assert [len(file.changes) for file in landed(store)] == [2, 4, 2, 1]
    rows = sorted(mirrored(store).rows, key=lambda row: str(row["id"]))
    assert rows == [{"id": 2, "v": "a"}, {"id": 3, "v": "b"}, {"id": 4, "v": "c"}]


def test_old_keys_of_another_type_are_refused() -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    with pytest.raises(WrongRequest, match="other types"):
        orders.change_key([{"id": noon}], [{"id": noon.replace(tzinfo=None)}])
