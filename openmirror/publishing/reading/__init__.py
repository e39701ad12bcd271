"""Files of rows as people have them (Parquet, CSV, exports of spreadsheets, JSON lines) as Arrow.

`find_inputs` finds them, `open_input` reads one. Nothing is guessed of values: columns of text are
text unless a type is declared, or the table has one already.
"""

from openmirror.publishing.reading.column_types import ColumnTypes, declared_types
from openmirror.publishing.reading.inputs import (
    InputFile,
    InputKind,
    TextOptions,
    find_inputs,
    input_from_stream,
)
from openmirror.publishing.reading.opening import OpenInput, open_input

__all__ = [
    "ColumnTypes",
    "InputFile",
    "InputKind",
    "OpenInput",
    "TextOptions",
    "declared_types",
    "find_inputs",
    "input_from_stream",
    "open_input",
]
