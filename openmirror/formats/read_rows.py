"""Rows as the readers of change files hand them on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(frozen=True)
class ReadRows:
    """Some rows of a change file, in file order."""

    batch: pa.RecordBatch
    truncated: str | None = None
    """The first time among them that lost what is finer than a microsecond: where, and what."""
