"""The MarkerReader port for Parquet files on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.layout import StorePath


class LocalMarkers:
    """Reads one column of a file, a batch of rows at a time, however large it is."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def markers(self, path: StorePath, column: str) -> Iterator[object]:
        """Every row's marker in row order; raises ValueError when they cannot be read."""
        try:
            with pq.ParquetFile(self._root / path) as file:
                for batch in file.iter_batches(columns=[column]):
                    yield from batch.column(0).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise ValueError(str(error)) from error
