"""By which calendar the writer of a file counted days before 1582.

Spark 2 counted by the Julian calendar, and later versions do where they are set to. Spark reads
such files by what they say of that, and nobody else does.
"""

from __future__ import annotations

from typing import Any

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
