"""Mistakes that lie in a landing zone, each with the rules that it breaks and no others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from tests.harness.publishing import encoded, file_name, parquet

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIRROR = "check"
PARTNER = {"partnerName": "Contoso", "sourceInfo": {"sourceType": "SQL", "sourceVersion": "19"}}


class Zone:
    """A publisher's landing zone in memory."""

    def __init__(self) -> None:
        self.store = MemoryStore(lambda: NOW)
        self.at = layout.landing_zone(MIRROR)
        self.store.make_folder(self.at)

    def put(self, path: str, data: bytes | str, modified: datetime | None = None) -> None:
        content = data.encode() if isinstance(data, str) else data
        self.store.put(layout.join(self.at, *path.split("/")), content, modified)

    def folder(self, path: str) -> None:
        self.store.make_folder(layout.join(self.at, *path.split("/")))

    def keys(self, table: str = "Orders", **more: object) -> None:
        self.put(f"{table}/_metadata.json", json.dumps({"keyColumns": ["id"], **more}))

    def land(self, *numbers: int, table: str = "Orders", **columns: object) -> None:
        for number in numbers:
            self.put(f"{table}/{file_name(number)}", parquet(**columns))

    def text(self, number: int, content: str | bytes, extension: str = "csv") -> None:
        self.put(f"Orders/{file_name(number, extension)}", content)


@dataclass(frozen=True)
class WrongZone:
    """A mistake, how it is made, and what it breaks."""

    name: str
    make: Callable[[Zone], None]
    breaks: frozenset[str] = field(default_factory=frozenset)


CASES: list[WrongZone] = []


def breaks(*rules: str) -> Callable[[Callable[[Zone], None]], Callable[[Zone], None]]:
    def planted(make: Callable[[Zone], None]) -> Callable[[Zone], None]:
        CASES.append(WrongZone(make.__name__, make, frozenset(rules)))
        return make

    return planted


TEXT = {
    "FileFormat": "CSV",
    "SchemaDefinition": {"Columns": [{"Name": "id", "DataType": "Int32"}]},
}


def right(zone: Zone) -> None:
    """What a publisher leaves behind that does everything as it should, all kinds of it."""
    zone.put("_partnerEvents.json", json.dumps(PARTNER))
    zone.keys()
    zone.land(1, id=[1, 2], v=["a", "b"])
    zone.land(2, id=[1, 2, 3], v=["c", None, "e"], __rowMarker__=[1, 2, 4])
    zone.land(3, id=[3], __rowMarker__=[2])
    zone.land(4, id=[4], v=["f"], __rowMarker__=[0])
    zone.put("Sales.schema/People/_metadata.json", json.dumps({"keyColumns": ["id"], **TEXT}))
    zone.put(f"Sales.schema/People/{file_name(1, 'csv')}", 'id,name\n1,"Ann, A."\n2,\n')
    zone.keys("Parts", isPartitionEnabled=True)
    zone.put(f"Parts/Year=2025/{file_name(1)}", parquet())
    zone.put(f"Parts/Year=2026/{file_name(1)}", parquet())
    zone.keys("Times", fileDetectionStrategy="LastUpdateTimeFileDetection")
    zone.put("Times/a.parquet", parquet(id=[1], at=pa.array([NOW], pa.timestamp("us", "UTC"))))
    zone.put("Log/_metadata.json", "{}")
    zone.land(1, table="Log", line=["started"])


@breaks("tables-in-zone")
def a_change_file_beside_the_table_folders(zone: Zone) -> None:
    zone.put(file_name(1), parquet())


@breaks("tables-in-zone")
def a_change_file_in_a_schema_folder(zone: Zone) -> None:
    zone.put(f"Sales.schema/{file_name(1)}", parquet())


@breaks("tables-in-zone")
def a_schema_folder_without_a_name(zone: Zone) -> None:
    zone.put(f".schema/Orders/{file_name(1)}", parquet())


@breaks("file-names", "metadata-there")
def a_schema_folder_in_another_spelling(zone: Zone) -> None:
    zone.land(1, table="Sales.SCHEMA")
    zone.land(1, table="Sales.SCHEMA/Orders")


@breaks("table-names")
def a_table_name_that_is_too_long(zone: Zone) -> None:
    zone.keys("x" * 251)
    zone.land(1, table="x" * 251)


@breaks("one-folder-a-table")
def two_folders_of_one_table_by_case(zone: Zone) -> None:
    for table in ("Orders", "orders"):
        zone.keys(table)
        zone.land(1, table=table)


@breaks("one-folder-a-table")
def two_folders_of_one_table_by_the_default_schema(zone: Zone) -> None:
    for table in ("Orders", "dbo.schema/Orders"):
        zone.keys(table)
        zone.land(1, table=table)


@breaks("file-names")
def a_number_of_fewer_digits(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put("Orders/2.parquet", parquet())


@breaks("file-names")
def a_file_called_as_spark_calls_it(zone: Zone) -> None:
    zone.keys(FileFormat="Parquet")
    zone.land(1)
    zone.put("Orders/part-00000-0a1b.c000.snappy.parquet", parquet())


@breaks("file-names")
def the_number_0(zone: Zone) -> None:
    zone.keys()
    zone.land(0, 1)


@breaks("file-names")
def a_folder_of_a_partition_that_nobody_declared(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put(f"Orders/Year=2026/{file_name(1)}", parquet())


@breaks("other-names")
def an_upload_left_under_a_name_without_underscore(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put(f"Orders/{file_name(2)}.tmp", b"PAR1")


@breaks("file-is-no-folder")
def a_folder_in_place_of_a_file(zone: Zone) -> None:
    zone.keys()
    zone.folder(f"Orders/{file_name(1)}")


@breaks("one-file-a-number")
def two_files_with_one_number(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put(f"Orders/{1:020d}.PARQUET", parquet())


@breaks("begins-with-1")
def counted_from_2(zone: Zone) -> None:
    zone.keys()
    zone.land(2, 3)


@breaks("no-gaps")
def a_number_that_was_skipped(zone: Zone) -> None:
    zone.keys()
    zone.land(1, 3)


@breaks("no-gaps")
def a_number_that_was_skipped_in_a_partition(zone: Zone) -> None:
    zone.keys(isPartitionEnabled=True)
    zone.put(f"Orders/Year=2026/{file_name(1)}", parquet())
    zone.put(f"Orders/Year=2026/{file_name(3)}", parquet())


@breaks("no-empty-promises")
def a_number_that_was_reserved_by_an_empty_file(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put(f"Orders/{file_name(2)}", b"")


@breaks("files-whole")
def an_upload_that_was_cut_off(zone: Zone) -> None:
    zone.keys()
    zone.put(f"Orders/{file_name(1)}", parquet()[:-6])


@breaks("number-used-once")
def counted_from_1_again_beside_the_archive(zone: Zone) -> None:
    zone.keys(fileDetectionStrategy="LastUpdateTimeFileDetection")
    zone.put("Orders/_ProcessedFiles/a.parquet", parquet())
    zone.put("Orders/a.parquet", parquet())


@breaks("times")
def a_time_in_the_future(zone: Zone) -> None:
    zone.keys()
    zone.put(f"Orders/{file_name(1)}", parquet(), NOW + timedelta(hours=1))


@breaks("metadata-there")
def no_metadata(zone: Zone) -> None:
    zone.land(1)


@breaks("metadata-there")
def metadata_that_stayed_empty(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", "")
    zone.land(1)


@breaks("metadata-valid")
def metadata_that_is_no_json(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", "{keyColumns}")
    zone.land(1)


@breaks("metadata-valid")
def a_value_that_is_not_allowed(zone: Zone) -> None:
    zone.keys(fileDetectionStrategy="ByName")
    zone.land(1)


@breaks("metadata-strict")
def a_comma_too_many(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", '{"keyColumns": ["id"],}')
    zone.land(1)


@breaks("metadata-spelt")
def a_key_of_metadata_that_is_misspelt(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", '{"keyColumn": ["id"]}')
    zone.land(1)


@breaks("format-declared")
def text_that_nobody_declared(zone: Zone) -> None:
    zone.keys()
    zone.text(1, "id,v\n1,a\n")


@breaks("one-format")
def both_formats_and_none_declared(zone: Zone) -> None:
    zone.keys()
    zone.text(1, "id,v\n1,a\n")
    zone.land(2)


@breaks("partner-events")
def partner_events_in_a_table_folder(zone: Zone) -> None:
    zone.keys()
    zone.put("Orders/_partnerEvents.json", json.dumps(PARTNER))
    zone.land(1)


@breaks("partner-events")
def partner_events_that_cannot_be_read(zone: Zone) -> None:
    zone.put("_partnerEvents.json", "Contoso")
    zone.keys()
    zone.land(1)


@breaks("markers")
def the_marker_3(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1, 2], __rowMarker__=[0, 3])


@breaks("markers")
def a_marker_that_is_null(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1, 2], __rowMarker__=pa.array([1, None]))


@breaks("markers")
def a_marker_in_words(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], __rowMarker__=["delete"])


@breaks("markers-need-keys")
def a_delete_without_keys(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", "{}")
    zone.land(1, id=[1], __rowMarker__=[2])


@breaks("markers-need-keys")
def upserts_by_default_without_keys(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", '{"isUpsertDefaultRowMarker": true}')
    zone.land(1)


@breaks("key-columns-there")
def a_file_without_its_key_column(zone: Zone) -> None:
    zone.keys()
    zone.land(1, v=["a"])


@breaks("key-columns-there", "columns-typed")
def a_key_column_of_no_type(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=pa.nulls(2), v=["a", "b"])


@breaks("column-names")
def two_columns_of_one_name(zone: Zone) -> None:
    zone.keys()
    zone.put(f"Orders/{file_name(1)}", parquet(id=[1], name=["a"], Name=["b"]))


@breaks("types-merge")
def a_number_that_becomes_text(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], v=[1])
    zone.land(2, id=[1], v=["one"])


@breaks("types-merge")
def a_long_that_becomes_a_float_by_a_null(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], v=[1])
    zone.land(2, id=[1, 2], v=[1.0, None])


@breaks("types-supported")
def a_decimal_of_too_many_digits(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], v=pa.array([Decimal(1)], pa.decimal256(50, 0)))


@breaks("some-typed-column", "columns-typed")
def no_column_with_a_type(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", "{}")
    zone.land(1, v=pa.nulls(2))


@breaks("columns-typed")
def a_column_of_nulls_without_a_type(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], v=pa.nulls(1))


@breaks("values-fit", "no-conversion")
def a_nanosecond_in_a_key(zone: Zone) -> None:
    zone.put("Orders/_metadata.json", '{"keyColumns": ["at"]}')
    zone.land(1, at=pa.array([1], pa.timestamp("ns")))


@breaks("no-nanoseconds", "no-conversion")
def a_nanosecond_that_is_lost(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], at=pa.array([1], pa.timestamp("ns")))


@breaks("no-conversion")
def a_nested_column(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], tags=[["a", "b"]])


@breaks("no-index-column")
def the_index_of_pandas(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], __index_level_0__=[0])


@breaks("whole-rows")
def an_update_of_some_columns(zone: Zone) -> None:
    zone.keys()
    zone.land(1, id=[1], v=["a"], w=["b"], __rowMarker__=[4])
    zone.land(2, id=[1], v=["c"], __rowMarker__=[1])
    zone.land(3, id=[1], v=["a"], w=["b"], __rowMarker__=[4])


@breaks("parquet-readable")
def text_that_is_called_parquet(zone: Zone) -> None:
    zone.keys()
    zone.put(f"Orders/{file_name(1)}", b"id,v\n1,a and much more than that\n")


@breaks("parquet-readable")
def damaged_pages_behind_a_good_footer(zone: Zone) -> None:
    zone.keys()
    data = bytearray(encoded(pa.table({"id": list(range(5000))}), compression="gzip"))
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:footer] = bytes(footer - 4)
    zone.put(f"Orders/{file_name(1)}", bytes(data))


@breaks("text-readable")
def a_quote_that_is_never_closed(zone: Zone) -> None:
    zone.keys(**TEXT)
    zone.text(1, 'id,v\n1,"a\n')


@breaks("text-readable")
def a_row_with_too_few_values(zone: Zone) -> None:
    zone.keys(**TEXT)
    zone.text(1, "id,v\n1,a\n2\n")


@breaks("text-readable")
def another_encoding_than_the_declared_one(zone: Zone) -> None:
    zone.keys(**TEXT)
    zone.text(1, "id,v\n1,Malmö\n".encode("latin-1"))


@breaks("text-readable")
def another_separator_than_the_declared_one(zone: Zone) -> None:
    zone.keys(**TEXT)
    zone.text(1, "id;v\n1;a\n")


@breaks("text-readable")
def damaged_compression(zone: Zone) -> None:
    zone.keys(**TEXT)
    packed = gzip.compress(b"id,v\n" + b"1,a\n" * 50_000, mtime=0)
    zone.text(1, packed[: len(packed) // 2])


@breaks("text-values")
def text_that_does_not_fit_its_type(zone: Zone) -> None:
    zone.keys(**TEXT)
    zone.text(1, "id,v\none,a\n")


@breaks("batches")
def a_file_for_each_row(zone: Zone) -> None:
    zone.keys()
    zone.land(*range(1, 101), id=[1])


@breaks("staging-cleared")
def a_staged_file_that_was_forgotten(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put(f"Orders/_{file_name(2)}", parquet())


@breaks("staging-cleared")
def a_scratch_pad_that_was_never_cleared(zone: Zone) -> None:
    zone.keys()
    zone.land(1)
    zone.put("Orders/_scratchPad/batch.parquet", parquet())
