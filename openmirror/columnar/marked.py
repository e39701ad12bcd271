"""What each row of a file does, by the one rule for markers (PROTOCOL §5.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.marker_values import marker_values
from openmirror.plan import Batch
from openmirror.plan.facts import FileFacts
from openmirror.protocol.marker_rules import MarkerRules, shown
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken

Markers = npt.NDArray[np.int8]


def markers_of(
    column: pa.ChunkedArray | None, rows: int, facts: FileFacts, batch: Batch
) -> Markers | Broken:
    """One marker a row, as the table's policy takes it; the rule that the first wrong row breaks.

    `column` is the file's marker column, None where every row has the default marker. Each
    different value is checked once.
    """
    frozen = batch.frozen
    rules = MarkerRules(frozen.key_columns, facts.schema.names, frozen.version_column)
    if column is None or facts.marker is None:
        meaning = rules.read(frozen.default_marker.value, _where(0, "the default marker", None))
        if isinstance(meaning, Broken):
            return meaning
        return np.full(rows, _taken(meaning.marker, batch), dtype=np.int8)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = encoded.indices
    meanings = []
    # A dictionary has its values in the order in which they first appear.
    for code, value in enumerate(marker_values(encoded.dictionary)):
        meaning = rules.read(value, _where(0, facts.marker, value))
        if isinstance(meaning, Broken):
            row = pc.index(codes, pa.scalar(code, codes.type)).as_py()
            again = rules.read(value, _where(row, facts.marker, value))
            assert isinstance(again, Broken)
            return again
        meanings.append(_taken(meaning.marker, batch))
    if not meanings:
        return np.zeros(0, dtype=np.int8)
    markers: Markers = np.array(meanings, dtype=np.int8)[codes.to_numpy(zero_copy_only=False)]
    return markers


def _taken(marker: Marker, batch: Batch) -> int:
    """What a marker stands for, where the policy takes inserts for upserts."""
    return batch.insert_marker.value if marker is Marker.INSERT else marker.value


def _where(row: int, marker: str, value: object) -> str:
    return f"row {row + 1} has {marker} = {shown(value)}"
