"""Every rule that a publisher can break is refused in the protocol's own words, before a byte."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from openmirror.errors import OtherPublisher, PublishRefused, Unavailable, UnknownName, WrongRequest
from openmirror.protocol.rules import Code
from openmirror.publishing import BatchLimits, Publisher, TableWriter
from openmirror.table.layout import join
from tests.harness.stores import WatchedStore
from tests.publishing.zones import ORDERS, ZONE, landed, memory, numbers, publisher

NANOSECONDS = pa.table({"id": [1], "at": pa.array([1_001], pa.timestamp("ns"))})

BROKEN: dict[str, tuple[Callable[[TableWriter], object], Code, str]] = {
    "two columns of one name": (
        lambda orders: orders.upsert(pa.table([[1], [2]], names=["id", "ID"])),
        Code.COLUMNS_DUPLICATE,
        "6.1",
    ),
    "a column without a name": (
        lambda orders: orders.upsert(pa.table([[1], [2]], names=["id", ""])),
        Code.FILE_UNREADABLE,
        "6.1",
    ),
    "a reserved column": (
        lambda orders: orders.upsert([{"id": 1, "__ROWMARKER__": 0}]),
        Code.ROW_MARKER_INVALID,
        "6.1",
    ),
    "no marker": (lambda orders: orders.publish([{"id": 1}]), Code.ROW_MARKER_INVALID, "5.1"),
    "a marker that means nothing": (
        lambda orders: orders.publish(
            [{"id": 1, "__rowMarker__": 4}, {"id": 1, "__rowMarker__": 3}]
        ),
        Code.ROW_MARKER_INVALID,
        "5.1",
    ),
    "a marker that is NULL": (
        lambda orders: orders.publish([{"id": 1, "__rowMarker__": 4}, {"id": 1}]),
        Code.ROW_MARKER_INVALID,
        "5.1",
    ),
    "no key": (lambda orders: orders.delete([{"city": "Oslo"}]), Code.KEY_COLUMN_MISSING, "5.1"),
    "a key without a type": (
        lambda orders: orders.insert([{"id": None, "city": "Oslo"}]),
        Code.KEY_COLUMN_MISSING,
        "5.1",
    ),
    "a type that tables do not have": (
        lambda orders: orders.upsert(
            pa.table({"id": [1], "x": pa.array([None], pa.month_day_nano_interval())})
        ),
        Code.COLUMN_TYPE_UNSUPPORTED,
        "6.5",
    ),
    "a decimal of too many digits": (
        lambda orders: orders.upsert(
            pa.table({"id": [1], "x": pa.array([Decimal(1)], pa.decimal256(50, 0))})
        ),
        Code.COLUMN_TYPE_UNSUPPORTED,
        "6.5",
    ),
    "digits that would be lost": (
        lambda orders: orders.upsert(NANOSECONDS),
        Code.VALUE_INVALID,
        "6.5",
    ),
    "types that do not merge": (
        lambda orders: orders.upsert([{"id": "one"}]),
        Code.SCHEMA_MERGE_FAILURE,
        "6.3",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_rows_that_break_a_rule_are_refused_and_the_writer_goes_on(what: str) -> None:
    call, code, section = BROKEN[what]
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.upsert([{"id": 1}])
        with pytest.raises(PublishRefused) as refused:
            call(orders)
        assert (refused.value.code, refused.value.section) == (code, section)
        assert refused.value.remedy in str(refused.value)
        assert numbers(store) == []
        orders.upsert([{"id": 2}])
    (file,) = landed(store)
    assert [change.row["id"] for change in file.changes] == [1, 2]


def test_a_marker_names_the_first_row_that_has_it() -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    with pytest.raises(PublishRefused, match="row 2: __rowMarker__ is '3'"):
        orders.publish([{"id": 1, "__rowMarker__": "4.0"}, {"id": 1, "__rowMarker__": "3"}])


def test_a_table_without_keys_takes_inserts_alone() -> None:
    store = memory()
    with publisher(store).table("log") as log:
        log.insert([{"line": "a"}])
        for call in (log.upsert, log.update, log.delete):
            with pytest.raises(PublishRefused) as refused:
                call([{"line": "a"}])
            assert refused.value.code is Code.KEY_COLUMNS_UNDECLARED
    assert numbers(store, join(ZONE, "log")) == [1]


def test_types_grow_over_files_and_over_processes() -> None:
    store = memory()
    for kind in (pa.int8(), pa.int32(), pa.int64(), pa.int16()):
        with publisher(store).table("dbo.orders", key=["id"]) as orders:
            orders.upsert(pa.table({"id": pa.array([1], kind)}))
            orders.upsert(pa.table({"id": [1], "day": [dt.date(2026, 1, 1)]}))
    assert [(c.name, c.type) for c in orders.columns.columns] == [("id", "long"), ("day", "date")]
    with (
        publisher(store).table("dbo.orders") as orders,
        pytest.raises(PublishRefused, match="Type mismatch for column 'day'"),
    ):
        orders.upsert([{"id": 1, "day": "Monday"}])


@pytest.mark.parametrize(
    "name", ["", "_orders", "a/b", "dbo.", ".x", "a.b.c", "sales.schema/x", "`x.schema`", "x" * 251]
)
def test_a_name_that_no_table_can_have_is_refused(name: str) -> None:
    with pytest.raises(PublishRefused) as refused:
        publisher(memory()).table(name, key=["id"])
    assert refused.value.code is Code.TABLE_NAME_INVALID


@pytest.mark.parametrize(
    ("first", "second"),
    [("orders", "dbo.orders"), ("dbo.orders", "orders"), ("Orders", "orders"), ("a.T", "A.t")],
)
def test_a_name_that_another_folder_feeds_is_refused(first: str, second: str) -> None:
    zone = publisher(memory())
    zone.table(first, key=["id"]).close()
    with pytest.raises(PublishRefused) as refused:
        zone.table(second, key=["id"])
    assert refused.value.code is Code.TABLE_NAME_COLLISION


def test_a_part_with_a_dot_goes_in_backquotes() -> None:
    store = memory()
    publisher(store).table("dbo.`orders.2024`", key=["id"]).close()
    publisher(store).table("`a.b`", key=["id"]).close()
    assert store.incarnation(join(ZONE, "dbo.schema", "orders.2024")) is not None
    assert store.incarnation(join(ZONE, "a.b")) is not None


METADATA: dict[str, tuple[bytes, Code, str]] = {
    "other keys": (b'{"KeyColumns": ["ID", "line"]}', Code.KEY_COLUMNS_CHANGED, "4.4"),
    "text": (b'{"FileFormat": "CSV"}', Code.PINNED_OPTION_CHANGED, "4.6"),
    "partitions": (b'{"isPartitionEnabled": true}', Code.PINNED_OPTION_CHANGED, "3.2"),
    "files by their time": (
        b'{"fileDetectionStrategy": "LastUpdateTimeFileDetection"}',
        Code.PINNED_OPTION_CHANGED,
        "3.1",
    ),
    "no JSON": (b"{", Code.METADATA_INVALID, "4.1"),
}


@pytest.mark.parametrize("what", METADATA)
def test_metadata_that_says_something_else_is_refused_and_stays(what: str) -> None:
    content, code, section = METADATA[what]
    store = memory()
    store.write(join(ORDERS, "_metadata.json"), content)
    with pytest.raises(PublishRefused) as refused:
        publisher(store).table("dbo.orders", key=["id"])
    assert (refused.value.code, refused.value.section) == (code, section)
    assert store.read(join(ORDERS, "_metadata.json")).data == content


def test_keys_are_added_to_metadata_that_has_none_and_the_rest_of_it_stays() -> None:
    store = memory()
    path = join(ORDERS, "_metadata.json")
    kept = '"mine":{"a":1.10,"b":-0,"c":1E+2,"d":"#1.10","e":"ü\\ud800",}'
    store.write(path, f'{{{kept}, "keyColumns": [""]}}'.encode())
    publisher(store).table("dbo.orders", key=["id"]).close()
    content = store.read(path)
    assert content.data.decode().replace("\n", "").replace(" ", "") == (
        f'{{"keyColumns":["id"],{kept}}}'.replace(",}", "}")
    )
    publisher(store).table("dbo.orders", key=["ID"]).close()
    assert store.read(path).etag == content.etag


def test_metadata_is_not_written_over_after_a_read_that_failed() -> None:
    store = memory()
    path = join(ORDERS, "_metadata.json")
    store.write(path, b'{"keyColumns": ["id"], "mine": 1}')

    def fail(call: object) -> None:
        if getattr(call, "method", "") == "read":
            raise Unavailable("503")

    watched = WatchedStore(store, before=fail)
    with pytest.raises(Unavailable):
        publisher(watched).table("dbo.orders", key=["id"])
    assert not watched.asked("write")


def test_batches_are_given_one_after_the_other() -> None:
    orders = publisher(memory(), rows=1).table("dbo.orders", key=["id"], source="erp")
    with orders.batch(1), pytest.raises(WrongRequest, match="has not ended"):
        orders.insert([{"id": 1}], position=2)
    orders.insert([{"id": 1}], position=5)
    orders.flush()
    with pytest.raises(WrongRequest, match="another kind"):
        orders.insert([{"id": 1}], position="text")
    with pytest.raises(WrongRequest, match="neither"):
        orders.insert([{"id": 1}], position=True)
    orders.close()


def test_half_a_character_is_refused_before_it_would_have_to_be_written() -> None:
    half = "\ud800"
    store = memory()
    zone = publisher(store)
    with zone.table("dbo.orders", key=["id"]) as orders:
        with pytest.raises(WrongRequest, match="no Unicode text"):
            orders.insert([{"id": 1}], position=half)
        orders.insert([{"id": 1}], position="whole")
    for call in (
        lambda: zone.table("dbo.orders", source=half),
        lambda: zone.introduce(half),
    ):
        with pytest.raises(WrongRequest, match="no Unicode text"):
            call()
    for refused in (
        lambda: zone.table(f"{half}.t"),
        lambda: zone.table(half),
        lambda: zone.table("t", key=[half]),
    ):
        with pytest.raises(PublishRefused):
            refused()
    assert numbers(store) == [1]


def test_a_batch_that_was_begun_is_finished_before_another() -> None:
    store = memory()

    def dies() -> None:
        zone = publisher(store, rows=1)
        with zone.table("dbo.orders", key=["id"], source="erp") as orders, orders.batch(7):
            orders.insert([{"id": 1}, {"id": 2}, {"id": 3}])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dies()
    assert numbers(store) == [1, 2]
    orders = publisher(store).table("dbo.orders", source="erp")
    orders.insert([{"id": 9}], position=8)
    with pytest.raises(OtherPublisher, match="publish 7 once more"):
        orders.flush()
    orders.abandon()
    with publisher(store).table("dbo.orders", source="erp") as orders:
        orders.insert([{"id": 1}, {"id": 2}, {"id": 3}], position=7)
    assert [c.row["id"] for file in landed(store) for c in file.changes] == [1, 2, 3]


def test_a_table_that_is_not_there_cannot_be_dropped() -> None:
    store = memory()
    zone = publisher(store)
    with pytest.raises(UnknownName):
        zone.drop("dbo.orders")
    zone.table("dbo.orders", key=["id"]).close()
    zone.drop("dbo.orders")
    assert store.incarnation(ORDERS) is None


def test_what_is_no_rows_or_no_zone_is_refused_with_what_would_be() -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    for rows in (None, 7, "id", {"id": 1}, [1, 2], [{1: 2}]):
        with pytest.raises(WrongRequest, match="list of dicts"):
            orders.insert(rows)
    with pytest.raises(WrongRequest, match="no common type"):
        orders.insert([{"id": 1}, {"id": "x"}])
    for zone in (
        "ftp://x/y",
        "https://a.dfs.core.windows.net/",
        "abfss://a.dfs.core.windows.net/x",
    ):
        with pytest.raises(WrongRequest, match="onelake"):
            Publisher(zone)
    with pytest.raises(ValueError, match="above 0"):
        BatchLimits(rows=0)


def test_who_publishes_is_written_down_and_what_others_wrote_stays() -> None:
    store = memory()
    path = join(ZONE, "_partnerEvents.json")
    store.write(path, b'{"more": 1.10, "SourceInfo": {"additionalInformation": {"k": "v"}}}')
    zone = publisher(store)
    zone.introduce("Contoso", "SQL", "2019")
    once = store.read(path)
    assert b'"additionalInformation"' in once.data
    assert b'"more": 1.10,' in once.data
    zone.introduce("Contoso", "SQL", "2019")
    assert store.read(path).etag == once.etag


UTC_NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
NOON = UTC_NOON.replace(tzinfo=None)


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2026, 1, 1), NOON],
        [NOON, dt.date(2026, 1, 1)],
        [NOON, UTC_NOON],
        ["text", b"bytes"],
        [UTC_NOON.timetz()],
    ],
    ids=["date-datetime", "datetime-date", "zones", "text-bytes", "time-with-zone"],
)
def test_values_that_would_become_others_in_one_column_are_refused(values: list[object]) -> None:
    store = memory()
    with publisher(store) as zone, zone.table("dbo.orders", key=["id"]) as orders:
        with pytest.raises(WrongRequest, match="column 'x': its values have no common type"):
            orders.insert([{"id": n, "x": value} for n, value in enumerate(values)])
        orders.insert([{"id": 1, "x": UTC_NOON}, {"id": 2, "x": None}])
    assert numbers(store) == [1]


@pytest.mark.parametrize("key", ["id", ["id", "ID"], ["__rowMarker__"]], ids=str)
def test_keys_that_no_document_may_declare_are_refused_before_anything_is_lost(key: object) -> None:
    store = memory()
    with publisher(store) as zone:
        with zone.table("dbo.orders", key=["id"]) as orders:
            orders.insert([{"id": 1}])
        with pytest.raises(PublishRefused) as refused:
            zone.table("dbo.orders", key=key, recreate=True)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.section) == (Code.METADATA_INVALID, "4.2")
    assert numbers(store) == [1]


def test_an_empty_key_is_none() -> None:
    store = memory()
    with publisher(store) as zone, zone.table("dbo.orders", key=[""]) as orders:
        orders.insert([{"id": 1}])
        assert orders.keys == ()


def test_a_folder_of_text_that_nobody_declared_is_no_folder_for_parquet() -> None:
    store = memory()
    store.write(join(ORDERS, f"{1:020d}.csv"), b"id\n1\n")
    with publisher(store) as zone, pytest.raises(PublishRefused) as refused:
        zone.table("dbo.orders", key=["id"])
    assert (refused.value.code, refused.value.section) == (Code.FILE_FORMAT_UNDECLARED, "4.3")
    assert [entry.name for entry in store.list_folder(ORDERS).entries] == [f"{1:020d}.csv"]


@pytest.mark.parametrize(
    "markers",
    [pa.array([0.0, float("nan")]), pa.array([[0], [4]]), pa.array(["0", "x"]).dictionary_encode()],
    ids=["NaN", "list", "dictionary"],
)
def test_a_marker_of_any_kind_that_means_nothing_is_refused(markers: pa.Array) -> None:
    rows = pa.table({"id": [1, 2], "__rowMarker__": markers})
    with (
        publisher(memory()) as zone,
        zone.table("dbo.orders", key=["id"]) as orders,
        pytest.raises(PublishRefused) as refused,
    ):
        orders.publish(rows)
    assert refused.value.code is Code.ROW_MARKER_INVALID


def test_markers_in_a_dictionary_are_read() -> None:
    store = memory()
    rows = pa.table({"id": [1, 2], "__rowMarker__": pa.array(["0", "4"]).dictionary_encode()})
    with publisher(store) as zone, zone.table("dbo.orders", key=["id"]) as orders:
        orders.publish(rows)
    assert len(landed(store)[0].changes) == 2
