"""A publisher whose files are not ordered by their names alone: found by time, or in partitions.

What it must come to is the same as for numbered files: each file applied once, in the order of the
table's ledger, whatever that was first.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from openmirror.protocol.metadata import Detection
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.simulation.delta_model import DAMAGED, UNFINISHED
from tests.simulation.publishing import FOLDER, LANDING, Publisher

NAMINGS = (
    NamingScheme(Detection.LAST_UPDATE_TIME),
    NamingScheme(Detection.SEQUENTIAL, partitioned=True),
    NamingScheme(Detection.LAST_UPDATE_TIME, partitioned=True),
)
PARTITIONS = ("", "P=a", "P=b", "P=b/Q=c")
STAGING = StorePath("staging")


def of_a_ledger(seed: int) -> dict[str, Any]:
    """What makes a schedule one of a table with a ledger; the same for the same seed."""
    rng = Random(f"ledger {seed}")
    return {
        "naming": rng.choice(NAMINGS),
        "late": rng.choice([0.0, 0.1, 0.3]),
        "slow": rng.choice([0.0, 0.0, 0.1, 0.3]),
        "losing": rng.choice([0.0, 0.0, 0.0, 0.002]),
    }


class LedgerPublisher(Publisher):
    """Writes files whose order only the ledger knows.

    A file is known by the count at which the publisher chose its name, from 1 on in each
    incarnation.
    """

    def __init__(self, store: MemoryStore, rng: Random, naming: NamingScheme) -> None:
        super().__init__(store, rng)
        self._naming = naming
        self.late = 0.0
        """How often a file comes after those that follow it: it keeps its older time, or leaves a
        gap in its partition until then."""
        self.slow = 0.0
        """How often a file is seen before its writer is done, or before it was mended."""
        self.names: dict[str, list[str]] = {}
        """By incarnation, the names that were chosen, in that order."""
        self.holes: set[tuple[str, str, int]] = set()
        """Every number that was left out for a while, by incarnation and partition."""
        self._staged: list[tuple[int, StorePath, ETag, int]] = []
        self._deferred: list[int] = []
        self._unfinished: list[int] = []

    @property
    def in_folder(self) -> list[int]:
        return sorted(self.number_of(name) for name in self._files(LANDING))

    def number_of(self, name: str) -> int:
        """Which file has this name in the present incarnation."""
        return self.names[self.incarnation or ""].index(name) + 1

    def _files(self, folder: StorePath, above: str = "") -> list[str]:
        found = []
        for entry in self._store.list_folder(folder).entries:
            if entry.name.startswith("_"):
                continue
            if entry.is_folder:
                found += self._files(join(folder, entry.name), f"{above}{entry.name}/")
            else:
                found.append(above + entry.name)
        return found

    def create(self) -> None:
        super().create()
        self.names[self.incarnation or ""] = []
        options = {
            "fileDetectionStrategy": self._naming.detection.value,
            "isPartitionEnabled": self._naming.partitioned,
        }
        self._store.put(join(LANDING, "_metadata.json"), json.dumps(options).encode())

    def write(self) -> None:
        """A new file, or one that was begun earlier."""
        rng = self._rng
        if self._unfinished and rng.random() < 0.5:
            self._put(rng.choice(self._unfinished))
        elif (self._staged or self._deferred) and rng.random() < 0.3:
            self._hand_in()
        elif rng.random() < self.late:
            self._begin()
        elif rng.random() < self.slow:
            number = self._named()
            as_yet = DAMAGED if rng.random() < 0.2 else UNFINISHED
            self._store.put(self._path(number), as_yet)
            self._unfinished.append(number)
        else:
            self._put(self._named())

    def finish(self) -> None:
        """Everything that was begun is completed."""
        while self._unfinished:
            self._put(self._unfinished[0])
        while self._staged or self._deferred:
            self._hand_in()

    def _begin(self) -> None:
        number = self._named()
        if self._naming.is_numbered:
            self._deferred.append(number)
            partition, _, own = self.names[self.incarnation or ""][number - 1].rpartition("/")
            self.holes.add((self.incarnation or "", partition, int(own.partition(".")[0])))
            self._put(self._named(partition))
            return
        path = join(STAGING, str(number))
        content = self._content(number)
        self._staged.append((number, path, self._store.put(path, content), self._contents))

    def _hand_in(self) -> None:
        if self._deferred:
            self._put(self._deferred.pop(self._rng.randrange(len(self._deferred))))
            return
        number, path, etag, content = self._staged.pop()
        self._store.move_file(path, self._path(number), etag)
        self.truth[self.incarnation or ""].setdefault(number, []).append(content)

    def _named(self, partition: str | None = None) -> int:
        names = self.names[self.incarnation or ""]
        if partition is None:
            partition = self._rng.choice(PARTITIONS) if self._naming.partitioned else ""
        if self._naming.is_numbered:
            own = sum(name.rpartition("/")[0] == partition for name in names) + 1
            name = f"{own:020d}.parquet"
        else:
            name = f"{self._rng.randrange(100):02d}-{len(names)}.parquet"
        names.append(f"{partition}/{name}" if partition else name)
        return len(names)

    def _path(self, number: int) -> StorePath:
        return join(LANDING, *self.names[self.incarnation or ""][number - 1].split("/"))

    def _write(self, number: int) -> int:
        if number in self._unfinished:
            self._unfinished.remove(number)
        self._land(self._path(number), self._content(number))
        return self._contents

    def _content(self, number: int) -> bytes:
        self._contents += 1
        return f"{self.incarnation} {number} {self._contents}".encode()

    def reuse(self) -> None:
        """A name comes again while the archive knows it: nobody can recognise it later."""
        incarnation, archive = self.incarnation or "", layout.archive_folder(FOLDER)
        if self._store.incarnation(archive) is None:
            return
        kept = {self.number_of(name) for name in self._files(archive)}
        if gone := kept - set(self.in_folder):
            number = self._rng.choice(sorted(gone))
            self._reused.add((incarnation, number))
            self._write(number)

    def delete(self, step: int) -> None:
        super().delete(step)
        for _, path, _, _ in self._staged:
            self._store.delete_file(path)
        self._staged, self._deferred, self._unfinished = [], [], []

    def restore(self, unchecked_since: int, wanted: Incarnation | None = None) -> bool:
        back = super().restore(unchecked_since, wanted)
        if back:
            self._begun_before()
        return back

    def _begun_before(self) -> None:
        """What was begun when the folder went: it is gone on with."""
        written = set(self.in_folder) | set(self.truth[self.incarnation or ""])
        everything = range(1, len(self.names[self.incarnation or ""]) + 1)
        self._unfinished = [
            n for n in everything if n in written and n not in self.truth[self.incarnation or ""]
        ]
        self._deferred = [n for n in everything if n not in written]
