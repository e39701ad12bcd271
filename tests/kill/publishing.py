"""A publisher of one table that remembers what it has sent in this incarnation of the folder."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pyarrow as pa

from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import ARCHIVE_FOLDER, ROW_MARKER_COLUMN
from openmirror.protocol.rows import (
    PUBLISHED,
    Change,
    ChangeFile,
    Marker,
    SoftDeletes,
    interpret,
)
from openmirror.protocol.versions import apply_to_history, empty_history
from tests.harness.publishing import file_name
from tests.property.histories import DECIDED
from tests.zone import Zone

_ROWS = 20
_KEYS = 12
"""Few, so that keys come again in a file, in a batch and after deletes."""
_MOST_FILES_BEFORE_A_NEW_COLUMN = 4


class Published:
    """One table folder. Without keys all its changes are inserts.

    One that is `traced` has soft deletes and lineage, as its mirror's settings must say.
    """

    def __init__(
        self, zone: Zone, name: str, seed: int | str, *, keyed: bool = True, traced: bool = False
    ) -> None:
        self.name = name
        self._soft = SoftDeletes() if traced else None
        self._lineage = Lineage.WRITTEN if traced else Lineage.NONE
        self._zone = zone
        self._draw = random.Random(seed)
        self._keyed = keyed
        self._sent: list[ChangeFile] = []

    def send(self, files: int) -> None:
        """Publish the next change files."""
        if not self._sent:
            self._zone.metadata(self.name, {"keyColumns": ["id"]} if self._keyed else {})
        for _ in range(files):
            columns = ["id", "value"]
            if len(self._sent) >= _MOST_FILES_BEFORE_A_NEW_COLUMN:
                columns.append("later")
            changes = [self._change(columns) for _ in range(_ROWS)]
            # Before it is there: whoever reads meanwhile must not see more than was sent.
            number = len(self._sent) + 1
            self._sent.append(ChangeFile(tuple(columns), changes, file_name(number), number))
            self._zone.put(self.name, number, _arrow(columns, changes))

    def delete(self) -> None:
        """Remove the folder at once, as a storage account does, with all that is in it."""
        retained = self._zone.root / f"deleted-{uuid4().hex}"
        self._zone.folder(self.name).rename(retained)
        shutil.rmtree(retained)
        self._sent = []

    @property
    def last(self) -> int:
        """The newest sequence of this incarnation."""
        return len(self._sent)

    def expected(self, through: int | None = None) -> list[dict[str, Any]]:
        """What the interpreter makes of this incarnation's files, all decided at `DECIDED`."""
        keys, files = ["id"] if self._keyed else [], self._sent[:through]
        return interpret(files, keys, None, self._soft, DECIDED, self._lineage).rows

    def versions(self, incarnation: str) -> list[dict[str, Any]]:
        """The history of this incarnation's files, all decided at `DECIDED`."""
        history = empty_history(["id"], None, incarnation)
        for sequence, file in enumerate(self._sent, start=1):
            apply_to_history(history, file, sequence, DECIDED)
        return history.rows

    def where_files_are(self) -> tuple[list[int], list[int]]:
        """The sequences of what lies in the folder, and of what lies in its archive."""
        folder = self._zone.folder(self.name)
        return _sequences(folder.glob("*.parquet")), _sequences(
            (folder / ARCHIVE_FOLDER).glob("*.parquet")
        )

    def _change(self, columns: list[str]) -> Change:
        marker = self._draw.choice(sorted(PUBLISHED)) if self._keyed else Marker.INSERT
        key = self._draw.randrange(_KEYS)
        row = {"id": key, "value": f"{self._draw.random()}", "later": self._draw.randrange(99)}
        return Change(marker, {name: row[name] for name in columns})


def _arrow(columns: list[str], changes: list[Change]) -> pa.Table:
    data: dict[str, list[Any]] = {ROW_MARKER_COLUMN: [change.marker.value for change in changes]}
    for name in columns:
        data[name] = [change.row[name] for change in changes]
    return pa.table(data)


def _sequences(files: Iterable[Any]) -> list[int]:
    return sorted(int(file.stem) for file in files if file.stem.isdigit())
