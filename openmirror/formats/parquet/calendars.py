"""By which calendar the writer of a file counted days before 1582.

Spark 2 counted by the Julian calendar, and later versions do where they are set to. Spark reads
such files by what they say of that, and nobody else does.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

WRITTEN_BY = b"org.apache.spark.version"
_COUNTS_ALIKE = b"3.1.0"
"""Files of older versions, by the order of text as Spark has it, may count otherwise, if only in
times of INT96."""
_OTHERWISE = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def may_count_otherwise(metadata: Any) -> bool:
    """Whether Spark gives other days and times of long ago than the file's numbers say.

    `metadata` is a `pyarrow.parquet.FileMetaData`.
    """
    about = metadata.metadata or {}
    is_old = WRITTEN_BY in about and about[WRITTEN_BY] < _COUNTS_ALIKE
    return is_old or any(key in about for key in _OTHERWISE)


_DAY, _TIME = -141_427, -2_208_988_800
"""15 October 1582 in days, and 1900 in seconds: since 1970. From there on all count alike; between
the two, times of Spark 2 differ by how its Java knew the zones of places."""
_IN_A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def first_long_ago(values: pa.Array) -> int | None:
    """The first of these days or points in time that lies before all calendars agree."""
    if pa.types.is_timestamp(values.type):
        numbers, bound = values.cast(pa.int64()), _TIME * _IN_A_SECOND[values.type.unit]
    else:
        numbers, bound = values.cast(pa.int32()), _DAY
    row = pc.index(pc.less(numbers, bound), pa.scalar(True)).as_py()
    return int(row) if row >= 0 else None
