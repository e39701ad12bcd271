"""`validate` finds every mistake of a folder at once, by the rules of the event filter."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from openmirror.errors import NotThere
from openmirror.formats.checking import ChangeFileRows
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.validate import FolderFinding, validate_folder
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from tests.harness.publishing import file_name, parquet

KEYS = {"keyColumns": ["id"]}
PARQUET = {**KEYS, "FileFormat": "Parquet"}


class Folder:
    """A table folder of a publisher, wherever it lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def metadata(self, content: object = KEYS) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        (self.path / "_metadata.json").write_text(text)

    def land(self, name: int | str, **columns: object) -> Path:
        path = self.path / (file_name(name) if isinstance(name, int) else name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(parquet(**columns))
        return path

    def validate(self) -> list[FolderFinding]:
        store = LocalStore(self.path.parent)
        return validate_folder(
            store, ChangeFileInspector(store), ChangeFileRows(store), StorePath(self.path.name)
        )

    def rules(self) -> list[tuple[str, str | None]]:
        return [(finding.rule, finding.file) for finding in self.validate()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "Orders [1] 100%")


def name(number: int) -> str:
    return f"{number:020d}.parquet"


def test_a_right_folder_has_no_findings(folder: Folder) -> None:
    folder.metadata()
    folder.land(1, id=[1, 2], v=["a", "b"])
    folder.land(2, id=[1, 2, 3, 4], __rowMarker__=[0, 1, 2, 4])
    folder.land(3, id=[1], w=[1.5], __ROWMARKER__=["4"])
    (folder.path / "_state.json").write_text("{}")
    assert folder.validate() == []


def test_a_name_that_is_no_text_is_reported_and_everything_else_is_checked(
    folder: Folder,
) -> None:
    if sys.platform == "darwin":
        pytest.skip("this file system knows no such names")
    folder.metadata(
        KEYS | {"fileDetectionStrategy": "LastUpdateTimeFileDetection", "isPartitionEnabled": True}
    )
    good = folder.land("K=1/good.parquet")
    here = os.fsencode(folder.path)
    os.link(good, here + b"/x\xff.parquet")
    Path(os.fsdecode(here + b"/K=\xff")).mkdir()
    os.link(good, here + b"/K=\xff/lost.parquet")
    assert folder.rules() == [
        ("FileNeverRead", "K=\ufffd"),
        ("FileNeverRead", "x\ufffd.parquet"),
    ]


def test_validating_leaves_no_trace(folder: Folder) -> None:
    folder.metadata()
    folder.land(1)
    before = sorted(folder.path.parent.rglob("*"))
    folder.validate()
    assert sorted(folder.path.parent.rglob("*")) == before


def test_a_folder_that_is_not_there_is_an_error(folder: Folder) -> None:
    folder.path.rmdir()
    with pytest.raises(NotThere):
        folder.validate()


def test_all_mistakes_are_found_not_only_the_first(folder: Folder) -> None:
    folder.metadata()
    folder.land(1, id=[1], v=[1])
    folder.land(2, id=[1], v=["text"])
    folder.land(3, v=[1])
    folder.land(5, id=[1], __rowMarker__=[3])
    (folder.path / name(6)).write_bytes(b"a,b\n1,2\n")
    folder.land("7.parquet")
    assert folder.rules() == [
        ("FileNeverRead", "7.parquet"),
        ("gap", name(5)),
        ("SchemaMergeFailure", name(2)),
        ("KeyColumnMissing", name(3)),
        ("RowMarkerInvalid", name(5)),
        ("FileUnreadable", name(6)),
    ]


def test_each_finding_has_a_remedy(folder: Folder) -> None:
    folder.land(2, v=[1], __rowMarker__=[2])
    folder.land("x.parquet")
    findings = folder.validate()
    assert len(findings) == 4
    assert all(finding.remedy and finding.detail for finding in findings)


def test_a_gap_names_every_missing_number(folder: Folder) -> None:
    folder.metadata()
    for number in (2, 3, 9):
        folder.land(number)
    details = [finding.detail for finding in folder.validate()]
    assert details == [
        f"{1:020d} missing; {name(2)} and what follows would wait for it",
        f"{4:020d} to {8:020d} missing; {name(9)} and what follows would wait for it",
    ]


def test_numbers_go_on_from_the_archive_of_a_folder_that_a_mirror_has_cleaned(
    folder: Folder,
) -> None:
    folder.metadata()
    folder.land(f"_ProcessedFiles/{name(8)}")
    folder.land(9)
    assert folder.rules() == []
    folder.land(11)
    assert folder.rules() == [("gap", name(11))]


def test_numbers_begin_with_what_is_there_when_the_archive_was_purged(folder: Folder) -> None:
    folder.metadata()
    (folder.path / "_ProcessedFiles").mkdir()
    folder.land(9)
    assert folder.rules() == []


@pytest.mark.parametrize("content", [None, "", "  "])
def test_a_folder_without_metadata_is_reported_to_take_only_inserts(
    folder: Folder, content: str | None
) -> None:
    if content is not None:
        folder.metadata(content)
    folder.land(1)
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("metadata", False)


def test_metadata_that_cannot_be_read_does_not_blame_the_files(folder: Folder) -> None:
    folder.metadata("{keyColumns}")
    folder.land(1, id=[1], __rowMarker__=[2])
    assert folder.rules() == [("MetadataInvalid", "_metadata.json")]


def test_mended_metadata_is_reported_and_stops_nothing(folder: Folder) -> None:
    folder.metadata('{"keyColumns": ["id"],}')
    folder.land(1)
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("MetadataRepaired", False)


def test_a_default_marker_that_needs_keys_is_found_in_the_metadata(folder: Folder) -> None:
    folder.metadata({"isUpsertDefaultRowMarker": True})
    folder.land(1)
    assert folder.rules() == [("KeyColumnsUndeclared", "_metadata.json")]


@pytest.mark.parametrize(
    "marker",
    [3, -1, None, "x", "", 40, 4.5, float("nan"), Decimal("0.1"), "4.01", "-4", "4,0", "0x4"],
)
def test_a_marker_that_is_none_of_0_1_2_4_is_found_with_its_row(
    folder: Folder, marker: object
) -> None:
    folder.metadata()
    good = "0" if isinstance(marker, str) else 0 if marker is None else type(marker)(0)
    folder.land(1, id=[1, 2, 3], __rowMarker__=[good, marker, marker])
    (finding,) = folder.validate()
    assert finding.rule == "RowMarkerInvalid"
    assert finding.detail.startswith("row 2 has __rowMarker__ = ")


@pytest.mark.parametrize("marker", [4.0, 2.0, Decimal("4.00"), "4.0", " +4. ", "-0", "00"])
def test_a_marker_that_is_whole_is_one_however_it_is_written(
    folder: Folder, marker: object
) -> None:
    folder.metadata()
    folder.land(1, id=[1], __rowMarker__=[marker])
    assert folder.validate() == []


@pytest.mark.parametrize("marker", [1, 2, 4, "4", "4.0", 4.0])
def test_a_marker_that_needs_keys_is_found_in_a_table_without(
    folder: Folder, marker: object
) -> None:
    folder.metadata({"keyColumns": []})
    good = "0" if isinstance(marker, str) else type(marker)(0)  # type: ignore[call-arg]
    folder.land(1, id=[1, 2], __rowMarker__=[good, marker])
    (finding,) = folder.validate()
    assert finding.rule == "KeyColumnsUndeclared"
    assert finding.detail.startswith("row 2")


def test_a_marker_column_of_a_wrong_type_is_found_without_reading_it(folder: Folder) -> None:
    folder.metadata()
    folder.land(1, id=[1], __rowMarker__=[True])
    (finding,) = folder.validate()
    assert finding.rule == "RowMarkerInvalid"
    assert "BOOLEAN" in finding.detail


def test_damage_behind_a_good_footer_is_found_when_markers_are_read(folder: Folder) -> None:
    folder.metadata()
    path = folder.land(1, id=list(range(5000)), __rowMarker__=[1] * 5000)
    data = bytearray(path.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:footer] = bytes(footer - 4)
    path.write_bytes(data)
    assert folder.rules() == [("FileUnreadable", name(1))]


def test_an_unfinished_file_waits_while_it_is_young_and_is_a_problem_later(
    folder: Folder,
) -> None:
    folder.metadata()
    path = folder.land(1)
    path.write_bytes(path.read_bytes()[:-4])
    folder.land(2)
    assert folder.rules() == [("incomplete", name(1))]
    old = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    os.utime(path, (old, old))
    assert folder.rules() == [("FileIncomplete", name(1))]


def test_a_folder_in_place_of_a_file_and_a_twin_are_found(folder: Folder) -> None:
    folder.metadata()
    (folder.path / name(1)).mkdir()
    folder.land(2)
    folder.land(f"{2:020d}.PARQUET")
    assert folder.rules() == [("NotAFile", name(1)), ("SequenceTwice", name(2))]


def test_files_that_differ_by_growing_types_and_new_columns_are_right(folder: Folder) -> None:
    folder.metadata()
    folder.land(1, id=pa.array([1], pa.int32()))
    folder.land(2, id=pa.array([1], pa.int64()), v=["a"])
    folder.land(3, id=pa.array([1], pa.int16()))
    assert folder.rules() == []


def test_a_folder_without_any_typed_column_makes_no_table(folder: Folder) -> None:
    folder.metadata({})
    folder.land(1, v=pa.nulls(2))
    assert [rule for rule, _ in folder.rules()] == ["schema"]


# --- Delimited text -------------------------------------------------------------------------------

TEXT = {
    "FileFormat": "CSV",
    "SchemaDefinition": {"Columns": [{"Name": "id", "DataType": "Int32"}]},
}


def put(folder: Folder, number: int, content: str, extension: str = "csv") -> str:
    called = f"{number:020d}.{extension}"
    (folder.path / called).write_text(content, newline="")
    return called


def test_right_text_has_no_findings_however_new_it_is(folder: Folder) -> None:
    folder.metadata({**TEXT, **KEYS})
    put(folder, 1, "id,v,__rowMarker__\n1,a,0\n1,b,4\n")
    put(folder, 2, "id\n")
    assert folder.validate() == []


def test_every_kind_of_mistake_in_text_is_found_with_its_line(folder: Folder) -> None:
    folder.metadata({**TEXT, **KEYS})
    contents = {
        "id\n1\nx\n": ("ValueInvalid", "line 3, column 'id': 'x' does not fit Int32"),
        "id,v\n1,a\n1\n": ("FileUnreadable", "line 3 has 1 value; the header has 2"),
        'id,v\n1,"a\n\n': ("FileUnreadable", "the quote that begins in line 2 is never closed"),
        'id,v\n1,"a"b\n': ("FileUnreadable", "line 2: text follows a closing quote"),
        "id,ID\n1,1\n": ("ColumnsDuplicate", "are one name"),
        "v\na\n": ("KeyColumnMissing", "'id'"),
        "id,__rowMarker__\n1,7\n": ("RowMarkerInvalid", "row 1 has __rowMarker__ = '7'"),
        "": ("incomplete", "empty"),
        "\0\1\n": ("FileUnreadable", "header cannot be read"),
    }
    names = [put(folder, number, content) for number, content in enumerate(contents, start=1)]
    findings = {finding.file: finding for finding in folder.validate()}
    assert list(findings) == names
    for called, (rule, words) in zip(names, contents.values(), strict=True):
        assert findings[called].rule == rule
        assert words in findings[called].detail


def test_the_markers_of_text_are_checked_once_its_values_are_right(folder: Folder) -> None:
    folder.metadata({**TEXT, **KEYS})
    put(folder, 1, "id,__rowMarker__\n1,7\nx,0\n")
    assert [rule for rule, _ in folder.rules()] == ["ValueInvalid"]
    put(folder, 1, "id,__rowMarker__\n1,7\n2,0\n")
    assert [rule for rule, _ in folder.rules()] == ["RowMarkerInvalid"]


def test_parquet_in_a_folder_of_text_is_no_change_file(folder: Folder) -> None:
    folder.metadata(TEXT)
    folder.land(1)
    (finding,) = folder.validate()
    assert finding.rule == "FileNeverRead"
    assert finding.detail == "this table's change files end in .csv, as _metadata.json says"


@pytest.mark.parametrize(
    ("called", "says"),
    [
        (f"{2:020d}.csv", "end in .parquet"),
        (f"{2:020d}.csv.gz", ".parquet alone"),
        (f"{2:020d}.snappy.parquet", ".parquet alone"),
        (f"{0:020d}.parquet", "has the number 1"),
        (f"{2**63 - 1:020d}.parquet", "2^63-2"),
        ("2.parquet", "exactly 20 digits"),
        (f"{2:020d}", "exactly 20 digits"),
        ("0a1b2c3d-4e5f-6789-abcd-ef0123456789.parquet", "fileDetectionStrategy"),
        ("part-00000-0a1b.c000.snappy.parquet", "fileDetectionStrategy"),
        ("export.CSV", "fileDetectionStrategy"),
        (f"Year=2024/{1:020d}.parquet", "isPartitionEnabled"),
        (f"2024/{1:020d}.parquet", "directly in the table folder"),
    ],
)
def test_what_a_publisher_may_take_for_sent_changes_is_never_nothing(
    folder: Folder, called: str, says: str
) -> None:
    folder.metadata(PARQUET)
    folder.land(1)
    folder.land(called)
    (finding,) = folder.validate()
    assert (finding.rule, finding.file) == ("FileNeverRead", called.partition("/")[0])
    assert says in finding.detail
    assert finding.stops


@pytest.mark.parametrize(
    "called", [".DS_Store", "README.md", f"{2:020d}.parquet.tmp", f"{2:020d}.filepart"]
)
def test_what_an_upload_or_a_system_leaves_behind_is_no_more_than_a_warning(
    folder: Folder, called: str
) -> None:
    folder.metadata()
    folder.land(1)
    folder.land(called)
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("FileNameInvalid", False)


def test_files_of_both_kinds_without_a_declared_format_stop_the_table(folder: Folder) -> None:
    folder.metadata()
    folder.land(2)
    put(folder, 1, "id,v\n1,x\n")
    (finding,) = (found for found in folder.validate() if found.file == "_metadata.json")
    assert finding.rule == "FileFormatUndeclared"
    assert f"{1:020d}.csv and {2:020d}.parquet" in finding.detail


def test_text_without_a_declared_format_is_read_as_csv_with_a_warning(folder: Folder) -> None:
    folder.metadata()
    put(folder, 1, "id,v\n1,x\n")
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("FileFormatAssumed", False)


def test_broken_metadata_gives_no_advice_about_names(folder: Folder) -> None:
    folder.metadata('{"FileFormat": "CSV" "keyColumns": []}')
    put(folder, 1, "id,v\n1,x\n")
    (folder.path / f"{2:020d}.tsv").write_text("id\n2\n")
    assert [finding.rule for finding in folder.validate()] == ["MetadataInvalid"]


def test_damaged_pages_of_parquet_are_found_as_the_engine_finds_them(folder: Folder) -> None:
    folder.metadata()
    path = folder.land(1, id=list(range(5000)), v=["text " * 20] * 5000)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(bytes(data))
    (finding,) = folder.validate()
    assert (finding.rule, finding.file) == ("FileUnreadable", name(1))
    assert "data cannot be read" in finding.detail


def test_times_that_would_lose_digits_are_a_warning_once_a_file_and_in_a_key_a_mistake(
    folder: Folder,
) -> None:
    finer = pa.array([1, 2_000, 3], pa.timestamp("ns"))
    folder.metadata()
    folder.land(1, id=[1, 2, 3], at=finer)
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("FractionsTruncated", False)
    assert finding.detail.startswith("row 1, column 'at': 1 nanoseconds")
    folder.metadata({"keyColumns": ["at"]})
    (finding,) = folder.validate()
    assert (finding.rule, finding.stops) == ("ValueInvalid", True)


# --- Files found by their time, and partitions ----------------------------------------------------

BY_TIME = {**KEYS, "fileDetectionStrategy": "LastUpdateTimeFileDetection"}
PARTITIONS = {**KEYS, "isPartitionEnabled": True}


def _written(path: Path, minute: int) -> None:
    at = datetime(2024, 2, 29, 12, minute, tzinfo=UTC).timestamp()
    os.utime(path, (at, at))


@pytest.mark.parametrize("more", [{}, {"isPartitionEnabled": True}])
def test_files_found_by_their_time_have_any_name_and_no_gaps(
    folder: Folder, more: dict[str, object]
) -> None:
    folder.metadata({**BY_TIME, **more})
    folder.land("part-00000-0a1b.c000.snappy.parquet", id=[1])
    folder.land(7, id=[1], __rowMarker__=[2])
    folder.land("b [1].parquet", id=[1])
    assert folder.validate() == []


def test_mistakes_in_files_found_by_their_time_come_in_the_order_of_time(folder: Folder) -> None:
    folder.metadata({**BY_TIME, "FileFormat": "Parquet"})
    _written(folder.land("b.parquet", id=[1], v=["text"]), 10)
    _written(folder.land("a.parquet", id=[1], v=[1]), 20)
    _written(folder.land("0.parquet", v=["text"]), 5)
    folder.land("c.csv")
    assert folder.rules() == [
        ("FileNeverRead", "c.csv"),
        ("KeyColumnMissing", "0.parquet"),
        ("SchemaMergeFailure", "a.parquet"),
    ]


def test_a_name_that_lies_in_the_archive_is_found(folder: Folder) -> None:
    folder.metadata(BY_TIME)
    folder.land("_ProcessedFiles/a.parquet", id=[1])
    folder.land("a.parquet", id=["nobody reads it"])
    folder.land("b.parquet", id=[1])
    (finding,) = folder.validate()
    assert (finding.rule, finding.file, finding.stops) == ("SequenceReused", "a.parquet", False)


def test_each_partition_is_checked_by_its_own_numbers(folder: Folder) -> None:
    folder.metadata(PARTITIONS)
    for partition in ("Year=2024", "Year=2025/Region=North", "."):
        (folder.path / partition).mkdir(parents=True, exist_ok=True)
        for number in (1, 2):
            folder.land(f"{partition}/{name(number)}", id=[number])
    assert folder.validate() == []


def test_all_mistakes_of_all_partitions_are_found_those_behind_a_gap_as_well(
    folder: Folder,
) -> None:
    folder.metadata(PARTITIONS)
    folder.land(2, id=[1])
    folder.land(f"Year=2024/{name(1)}", id=[1])
    folder.land(f"Year=2024/{name(3)}", v=[1])
    folder.land(f"Year=2024/{name(7)}", id=[1], __rowMarker__=[3])
    folder.land(f"Year=2025/{name(1)}", id=["text"])
    folder.land("Year=2025/part-1.parquet")
    folder.land(f"Year/{name(1)}")
    findings = folder.validate()
    assert sorted((finding.rule, finding.file or "") for finding in findings) == [
        ("FileNeverRead", "Year"),
        ("FileNeverRead", "Year=2025/part-1.parquet"),
        ("KeyColumnMissing", f"Year=2024/{name(3)}"),
        ("RowMarkerInvalid", f"Year=2024/{name(7)}"),
        ("SchemaMergeFailure", f"Year=2025/{name(1)}"),
        ("gap", name(2)),
        ("gap", f"Year=2024/{name(3)}"),
        ("gap", f"Year=2024/{name(7)}"),
    ]
    missing = [finding.detail for finding in findings if finding.rule == "gap"]
    assert missing[-1].startswith(f"Year=2024/{4:020d} to {6:020d} missing; ")


def test_a_partition_goes_on_from_its_own_archive(folder: Folder) -> None:
    folder.metadata(PARTITIONS)
    (folder.path / "_ProcessedFiles").mkdir()
    for number in (1, 2):
        folder.land(f"_ProcessedFiles/Year=2024/{name(number)}")
    folder.land(f"Year=2024/{name(3)}")
    folder.land(f"Year=2024/{name(5)}")
    folder.land(f"Year=2024/{name(2)}", id=["used before"])
    folder.land(f"Year=2025/{name(9)}")
    assert folder.rules() == [
        ("SequenceReused", f"Year=2024/{name(2)}"),
        ("gap", f"Year=2024/{name(5)}"),
    ]


def test_two_files_with_one_number_in_a_partition_and_a_folder_in_place_of_a_file_are_found(
    folder: Folder,
) -> None:
    folder.metadata(PARTITIONS)
    folder.land(f"Year=2024/{name(1)}")
    folder.land(f"Year=2024/{1:020d}.PARQUET")
    folder.land(f"Year=2025/{name(1)}")
    folder.land(f"Year=2025/{1:020d}.PARQUET")
    (folder.path / "Year=2024" / name(2)).mkdir()
    rules = sorted(rule for rule, _ in folder.rules())
    assert rules == ["NotAFile", "SequenceTwice", "SequenceTwice"]


def test_partition_folders_of_a_table_without_partitions_are_reported(folder: Folder) -> None:
    folder.metadata()
    folder.land(1)
    folder.land(f"Year=2024/{name(1)}")
    assert folder.rules() == [("FileNeverRead", "Year=2024")]
