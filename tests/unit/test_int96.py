"""Times of INT96 are those that their writer meant, whoever it was."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.batches import batches
from openmirror.formats.parquet.footer import footer_of
from openmirror.formats.parquet.int96 import finer_in_int96
from openmirror.protocol.rules import Code
from tests.harness import odd_parquet

_EPOCH, _DAY = 2_440_588, 86_400_000_000
_NOON = 43_200_000_000_000


def read(file: bytes) -> list[int]:
    """Microseconds since 1970."""
    return [value for batch in all_of(file) for value in batch.column(1).cast("int64").to_pylist()]


def all_of(file: bytes) -> Iterator[pa.RecordBatch]:
    content = io.BytesIO(file)
    metadata = footer_of(content)
    return batches(content, metadata, footer.columns(metadata))


def finer(file: bytes) -> str | None:
    content = io.BytesIO(file)
    return finer_in_int96(content, footer_of(content), ["t"])


@pytest.mark.parametrize(
    "created_by",
    [odd_parquet.OLD_ARROW, b"parquet-go version 15.0.0", b"parquet-mr version 1.14"],
)
@pytest.mark.parametrize(
    ("pairs", "micros"),
    [
        ([], []),
        ([(_NOON, _EPOCH)], [_DAY // 2]),
        ([(-_NOON, _EPOCH)], [-_DAY // 2]),
        ([(-1_000, _EPOCH - 1)], [-_DAY - 1]),
        # What is finer is cut towards the day, by whichever sign.
        ([(-1, _EPOCH), (1, _EPOCH), (-1_001, _EPOCH), (-1_999, _EPOCH)], [0, 0, -1, -1]),
        ([(-617, _EPOCH), (-384, _EPOCH), (-385, _EPOCH), (-383, _EPOCH)], [0, 0, 0, 0]),
        # Years that nanoseconds cannot count.
        ([(-_NOON, _EPOCH - 500_000)], [-500_000 * _DAY - _DAY // 2]),
        ([(_NOON, _EPOCH + 200_000)], [200_000 * _DAY + _DAY // 2]),
        # A last moment that many have for "never", to the last nanosecond.
        ([(86_399_999_999_999, _EPOCH + 2_932_896)], [2_932_897 * _DAY - 1]),
    ],
)
def test_a_time_is_what_its_day_and_its_nanoseconds_say(
    created_by: bytes, pairs: Sequence[tuple[int, int]], micros: list[int]
) -> None:
    assert read(odd_parquet.times("t", pairs, created_by)) == micros


def test_of_many_batches_each_has_its_own_times() -> None:
    pairs = [(-1_000 * n, _EPOCH) if n % 2 else (0, _EPOCH + 200_000) for n in range(20_000)]
    found = read(odd_parquet.times("t", pairs))
    assert found == [-n if n % 2 else 200_000 * _DAY for n in range(20_000)]


def test_only_a_time_that_has_less_than_a_microsecond_is_finer() -> None:
    whole = [(-_NOON, _EPOCH), (_NOON, _EPOCH), (-_NOON, _EPOCH - 500_000), (0, _EPOCH + 200_000)]
    assert finer(odd_parquet.times("t", whole)) is None
    found = finer(odd_parquet.times("t", [*whole, (-1_500, _EPOCH)]))
    assert found == (
        "row 5, column 't': a time after 1969-12-31 23:59:59.999999 is finer than a microsecond"
    )


def test_inside_nested_values_they_are_refused_where_readers_differ() -> None:
    def rows(nanos: int) -> None:
        file = odd_parquet.nested_time(nanos, _EPOCH)
        assert [batch.num_rows for batch in all_of(file)] == [1]

    rows(_NOON)
    with pytest.raises(RowsBroken, match="column 'v': a nested value has a time") as refused:
        rows(-_NOON)
    assert refused.value.broken.code is Code.VALUE_INVALID
