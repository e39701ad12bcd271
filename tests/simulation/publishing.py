"""A publisher of numbered files, and what its tables must come to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from openmirror.ports import Clock
from openmirror.protocol.names import METADATA_FILE, Incarnation, TableFolder, TablePath
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.simulation.delta_model import Row

FOLDER = TableFolder("m", TablePath("", "T"))
LANDING = layout.table_folder(FOLDER)
BIN = StorePath("bin")


class Publisher:
    """Writes change files, and knows what the table must hold in the end.

    Its effects are immediate: it acts between two steps of the others.
    """

    def __init__(self, store: MemoryStore, rng: Random) -> None:
        self._store = store
        self._rng = rng
        self._contents = 0
        self.clock: Clock = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        self.has_keys = False
        """Whether it declares key columns: else deletes are not soft, and there is no history."""
        self.ahead = 0.0
        """How often a file's time lies in the future."""
        self._bin: list[tuple[Incarnation, int]] = []
        self._newest: Incarnation | None = None
        self._reused: set[tuple[Incarnation | None, int]] = set()
        """Numbers that came again, by incarnation: whatever is written under them is never read."""
        self.came_back: set[str] = set()
        """Incarnations that came back after another: the manifests of their files are forgotten."""
        self.truth: dict[str, dict[int, list[int]]] = {}
        """By incarnation and number, every content that was ever written, the newest last."""

    @property
    def incarnation(self) -> Incarnation | None:
        return self._store.incarnation(LANDING)

    @property
    def in_folder(self) -> list[int]:
        return [self.number_of(name) for name in self._files(LANDING)]

    @property
    def in_archive(self) -> list[int]:
        archive = layout.archive_folder(FOLDER)
        there = self._store.incarnation(archive) is not None
        return [self.number_of(name) for name in self._files(archive)] if there else []

    def _files(self, folder: StorePath) -> list[str]:
        """Change files there, by their names from the folder on."""
        names = (e.name for e in self._store.list_folder(folder).entries if not e.is_folder)
        return [name for name in names if not name.startswith("_")]

    def number_of(self, name: str) -> int:
        """Which file has this name."""
        return int(name.partition(".")[0])

    def create(self) -> None:
        self._store.make_folder(LANDING)
        assert self.incarnation is not None
        self.truth[self.incarnation] = {}
        self._newest = self.incarnation
        if self.has_keys:
            path = layout.join(LANDING, METADATA_FILE)
            self._store.put(path, b'{"keyColumns": ["v"]}', self.clock())

    def write(self) -> None:
        assert self.incarnation is not None
        self._put(len(self.truth[self.incarnation]) + 1)

    def finish(self) -> None:
        """Nothing is left undone."""

    def overwrite(self, table: list[Row], *, applied: bool) -> None:
        """Replace a file that is believed to be unread, or one that was read."""
        incarnation = self.incarnation
        read = {row.sequence for row in table if row.incarnation == incarnation}
        numbers = [number for number in self.in_folder if (number in read) == applied]
        if numbers:
            self._put(self._rng.choice(numbers))

    def rewrite(self) -> None:
        """Write the same bytes over a file again, or touch it: both change its ETag alone."""
        if names := self._files(LANDING):
            path = layout.join(LANDING, *self._rng.choice(names).split("/"))
            self._land(path, self._store.read(path).data)

    def reuse(self) -> None:
        """Write a number again that is no longer in the folder, as a confused publisher does."""
        assert self.incarnation is not None
        gone = set(self.truth[self.incarnation]) - set(self.in_folder)
        if gone:
            number = self._rng.choice(sorted(gone))
            self._reused.add((self.incarnation, number))
            self._write(number)

    def empty_archive(self) -> None:
        """Delete what was applied and moved, as publishers may."""
        archive = layout.archive_folder(FOLDER)
        if self._store.incarnation(archive) is None:
            return
        for name in self._files(archive):
            self._store.delete_file(layout.join(archive, *name.split("/")))

    def delete(self, step: int) -> None:
        incarnation = self.incarnation
        assert incarnation is not None
        self._store.move_folder(LANDING, layout.join(BIN, incarnation))
        self._bin.append((incarnation, step))

    def restore(self, unchecked_since: int, wanted: Incarnation | None = None) -> bool:
        """Bring back an incarnation that was deleted lately, or the one that is wanted.

        An observation, and a read of files by their names, notices another incarnation only
        by what is there before and after: nobody takes it away and back while one is underway.
        """
        if not self._bin:
            return False
        if wanted is None:
            at = self._rng.randrange(max(0, len(self._bin) - 2), len(self._bin))
        else:
            at = max((n for n, item in enumerate(self._bin) if item[0] == wanted), default=0)
        incarnation, left = self._bin[at]
        if incarnation != (wanted or incarnation):
            return False
        if unchecked_since <= left:
            return False
        swapped = incarnation != self._newest
        del self._bin[at]
        self._store.move_folder(layout.join(BIN, incarnation), LANDING)
        self._newest = incarnation
        if swapped:
            self.came_back.add(incarnation)
        return True

    def empty_bin(self) -> None:
        self._bin.clear()

    def _put(self, number: int) -> None:
        content = self._write(number)
        if (self.incarnation, number) not in self._reused:
            self.truth[self.incarnation or ""].setdefault(number, []).append(content)

    def _write(self, number: int) -> int:
        self._contents += 1
        data = f"{self.incarnation} {number} {self._contents}".encode()
        self._land(layout.join(LANDING, f"{number:020d}.parquet"), data)
        return self._contents

    def _land(self, path: StorePath, data: bytes) -> None:
        is_ahead = self.ahead and self._rng.random() < self.ahead
        hours = self._rng.choice([1, 24, 24 * 400]) if is_ahead else 0
        self._store.put(path, data, self.clock() + timedelta(hours=hours))
