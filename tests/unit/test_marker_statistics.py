"""Wrong row markers are found from a file's own statistics, exactly as its rows would show them."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmirror.adapters.memory import MemoryStore
from openmirror.adapters.parquet import ParquetInspector
from openmirror.adapters.parquet_markers import marker_spans
from openmirror.layout import StorePath
from openmirror.plan.facts import FileFacts
from openmirror.plan.markers import marker_problem
from openmirror.ports import Entry
from openmirror.protocol.rules import Code

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATH = StorePath("landing/m/Files/LandingZone/T/00000000000000000001.parquet")


def facts_of(
    markers: list[int | None], kind: pa.DataType | None = None, **how: object
) -> FileFacts:
    table = pa.table({"id": range(len(markers)), "__rowMarker__": pa.array(markers, kind)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **how)
    store = MemoryStore(lambda: NOW)
    etag = store.write(PATH, buffer.getvalue())
    entry = Entry("f", False, len(buffer.getvalue()), NOW, etag)
    return ParquetInspector(store).inspect(PATH, entry)


def _footer(markers: list[int | None]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"__rowMarker__": markers}), buffer)
    data = buffer.getvalue()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def in_order(markers: list[int | None], has_keys: bool) -> Code | None:
    """The rule that reading row after row finds broken first."""
    for marker in markers:
        if marker not in (0, 1, 2, 4):
            return Code.ROW_MARKER_INVALID
        if marker and not has_keys:
            return Code.KEY_COLUMNS_UNDECLARED
    return None


@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, -1, None]), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from([1, 2, 3, 100]),
)
def test_statistics_never_tell_anything_else_than_the_rows(
    markers: list[int | None], has_keys: bool, group: int
) -> None:
    facts = facts_of(markers, pa.int32(), row_group_size=group)
    told = marker_problem(facts, has_keys=has_keys)
    assert told is None or told.code is in_order(markers, has_keys)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()])
@pytest.mark.parametrize("wrong", [5, 40, 100])
def test_a_value_beyond_the_markers_is_found_whatever_the_integers_width(
    kind: pa.DataType, wrong: int
) -> None:
    told = marker_problem(facts_of([0, 1, wrong, 2], kind), has_keys=True)
    assert told is not None
    assert told.code is Code.ROW_MARKER_INVALID
    assert told.detail == (
        f"one of rows 1 to 4 has __rowMarker__ = {wrong}; allowed are 0, 1, 2 and 4"
    )


def test_the_row_group_is_named_in_which_the_first_wrong_marker_is() -> None:
    told = marker_problem(facts_of([0, 1, 2, -1, 4, 7], row_group_size=2), has_keys=True)
    assert told is not None
    assert told.detail.startswith("one of rows 3 to 4 has __rowMarker__ = -1")


def test_a_null_among_the_markers_is_found() -> None:
    told = marker_problem(facts_of([0, None]), has_keys=True)
    assert told is not None
    assert told.detail.startswith("one of rows 1 to 2 has __rowMarker__ = NULL")


@pytest.mark.parametrize("markers", [[1], [2, 0], [0, 1, 2], [4, 4]])
def test_a_marker_that_needs_keys_is_found_in_a_table_without(markers: list[int | None]) -> None:
    told = marker_problem(facts_of(markers), has_keys=False)
    assert told is not None
    assert told.code is Code.KEY_COLUMNS_UNDECLARED


def test_a_file_without_statistics_is_left_to_whoever_reads_its_rows() -> None:
    facts = facts_of([0, 9], write_statistics=False)
    assert marker_problem(facts, has_keys=True) is None
    assert marker_problem(facts, has_keys=False) is None


def test_a_three_between_two_and_four_is_left_to_whoever_reads_the_rows() -> None:
    assert marker_problem(facts_of([2, 3, 4]), has_keys=True) is None


@pytest.mark.parametrize("how", [{"version": "1.0"}, {"version": "2.6"}, {"store_schema": False}])
@pytest.mark.parametrize("marker", [(0, 2), (-3, 300)])
def test_the_range_is_the_one_that_pyarrow_reads_from_the_same_footer(
    how: dict[str, object], marker: tuple[int, int]
) -> None:
    table = pa.table({"a": ["x"] * 9, "__ROWMARKER__": [marker[0]] * 4 + [None] + [marker[1]] * 4})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=3, write_page_index=True, **how)
    groups = pq.read_metadata(buffer)
    data = buffer.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    spans = marker_spans(data[-8 - length : -8], signed=True)
    stats = [groups.row_group(i).column(1).statistics for i in range(groups.num_row_groups)]
    assert [(s.lowest, s.highest, s.has_null) for s in spans] == [
        (s.min, s.max, s.null_count > 0) for s in stats
    ]
    assert [(s.first_row, s.last_row) for s in spans] == [(1, 3), (4, 6), (7, 9)]


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reading_of_statistics_raise(data: bytes) -> None:
    assert isinstance(marker_spans(data, signed=True), tuple)


FOOTER = _footer([0, 1, 2, -1])


@given(st.integers(0, len(FOOTER) - 1), st.integers(0, 255))
def test_no_damaged_byte_makes_the_reading_of_statistics_raise(at: int, value: int) -> None:
    marker_spans(FOOTER[:at] + bytes([value]) + FOOTER[at + 1 :], signed=True)


def test_a_footer_that_is_too_long_to_read_by_hand_is_left_alone() -> None:
    assert marker_spans(FOOTER, signed=True)
    assert marker_spans(FOOTER + bytes(1 << 20), signed=True) == ()
