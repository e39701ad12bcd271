"""Keyed tables of several delimited files each, with what the interpreter makes of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, interpret
from openmirror.protocol.text_format import TextColumn, TextType
from tests.text.dialects import Compression, dialect
from tests.text.files import Cell, FileColumn, TextFile, drawn_cell, made, written

_KEYS = 6


@dataclass(frozen=True)
class TextTable:
    """Files of one dialect, each packed in another way, whose changes meet in few keys."""

    name: str
    files: tuple[TextFile, ...]

    @property
    def document(self) -> dict[str, Any]:
        """Its `_metadata.json`."""
        return {"keyColumns": ["id"], **self.files[0].document}

    def expected(self) -> list[dict[str, Any]]:
        """Its rows after all files, by the interpreter."""
        return interpret([_changes(file) for file in self.files], ["id"]).rows


def text_table(seed: int, number: int, files: int) -> TextTable:
    """A table with a column of each type; the first file has no row marker."""
    draw = random.Random(f"table {seed}/{number}")
    of = replace(dialect(number, draw), null=draw.choice(("", "N/A", "\\N")))
    columns = [FileColumn(f"c_{kind}", kind, _declared(f"c_{kind}", kind)) for kind in TextType]
    columns.insert(0, FileColumn("id", TextType.INT32, _declared("id", TextType.INT32)))
    columns.append(FileColumn("undeclared", TextType.STRING, None))
    mixed = [*columns, FileColumn("__rowMarker__", TextType.STRING, None, is_marker=True)]
    draw.shuffle(mixed)
    written_files = []
    for place in range(files):
        here = replace(
            of,
            compression=list(Compression)[(number + place) % len(Compression)],
            ended=draw.random() < 0.5,
        )
        order = mixed if place else columns
        rows = []
        for key in _keys_of(place, draw):
            id_text = str(key)
            rows.append(
                [
                    Cell(written(id_text, here, draw) or "", key, id_text)
                    if column.name == "id"
                    else drawn_cell(column, here, draw)
                    for column in order
                ]
            )
        declared = [column.declared for column in columns if column.declared]
        name = f"text_table({seed}, {number}), file {place + 1}"
        written_files.append(made(name, here, declared, order, rows, draw))
    return TextTable(f"t{number}", tuple(written_files))


def _keys_of(place: int, draw: random.Random) -> list[int]:
    if place == 0:
        return list(range(_KEYS))
    return [draw.randrange(_KEYS + 2) for _ in range(draw.randint(5, 20))]


def _declared(name: str, kind: TextType) -> TextColumn:
    return TextColumn(name, kind)


def _changes(file: TextFile) -> ChangeFile:
    markers = file.markers or ["0"] * len(file.rows)
    names = tuple(column.name for column in file.columns if not column.is_marker)
    changes = [
        Change(Marker(int(marker)), {fold_case(name): value for name, value in row.items()})
        for marker, row in zip(markers, file.values, strict=True)
    ]
    return ChangeFile(names, changes)
