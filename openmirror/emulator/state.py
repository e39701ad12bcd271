"""What the endpoint remembers through a restart, in a small database beside the containers.

Records of files and folders are found by their identity on disk, not by path: a file that was
moved, replaced or deleted behind the endpoint's back never shows the metadata, the lease or the
creation time of another.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from openmirror.emulator.birth import Identity
from openmirror.emulator.facts import NOTHING_KNOWN, Facts

_log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS nodes (
    inode INTEGER, birth INTEGER, facts TEXT NOT NULL, PRIMARY KEY (inode, birth)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uploads (
    inode INTEGER, birth INTEGER, file TEXT NOT NULL, ranges TEXT NOT NULL,
    PRIMARY KEY (inode, birth)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
    container TEXT, path TEXT, id TEXT, file TEXT NOT NULL, size INTEGER NOT NULL,
    PRIMARY KEY (container, path, id)
);
"""


@dataclass(frozen=True)
class Upload:
    """Appended and not yet flushed: the staging file's name, and which bytes of it are there."""

    file: str
    ranges: tuple[tuple[int, int], ...]
    """Start and end of each, in order, apart from each other."""


@dataclass(frozen=True)
class Block:
    """A block that no block list has committed: the staging file's name, and bytes in it."""

    id: str
    file: str
    size: int


def _opened(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    try:
        # A crash of this process loses nothing; only a power cut may lose the last moments.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_TABLES)
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


class EndpointState:
    """The database; one connection, shared by all threads."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._database = _opened(file)
        except sqlite3.DatabaseError as error:
            # Nobody's data are in it; what was remembered has defaults.
            damaged = file.with_suffix(".damaged")
            _log.warning("%s is damaged (%s); it is now %s", file, error, damaged)
            file.replace(damaged)
            for part in ("-wal", "-shm"):
                file.with_name(f"{file.name}{part}").unlink(missing_ok=True)
            self._database = _opened(file)
        # Most files have no record, and a listing asks for each.
        self._known = {
            Identity(inode, birth)
            for inode, birth in self._database.execute("SELECT inode, birth FROM nodes")
        }

    def close(self) -> None:
        """Write everything into the one file."""
        with self._lock:
            self._database.close()

    def facts(self, identity: Identity) -> Facts:
        """What is known of a file or folder."""
        if identity not in self._known:
            return NOTHING_KNOWN
        row = self._one("SELECT facts FROM nodes WHERE inode = ? AND birth = ?", *identity)
        return Facts.from_json(str(row[0])) if row else NOTHING_KNOWN

    def remember(self, identity: Identity, facts: Facts) -> None:
        """Replace what is known of it."""
        if facts == NOTHING_KNOWN:
            self.forget(identity)
        else:
            self._known.add(identity)
            self._do("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", *identity, facts.to_json())

    def forget(self, identity: Identity) -> None:
        """It is gone."""
        if identity not in self._known:
            return
        self._known.discard(identity)
        self._do("DELETE FROM nodes WHERE inode = ? AND birth = ?", *identity)

    def upload(self, identity: Identity) -> Upload | None:
        """What was appended to a file and not flushed."""
        row = self._one("SELECT file, ranges FROM uploads WHERE inode = ? AND birth = ?", *identity)
        if row is None:
            return None
        ranges = tuple((start, end) for start, end in json.loads(str(row[1])))
        return Upload(str(row[0]), ranges)

    def keep_upload(self, identity: Identity, upload: Upload) -> None:
        """Replace it."""
        ranges = json.dumps(upload.ranges)
        self._do(
            "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?)", *identity, upload.file, ranges
        )

    def drop_upload(self, identity: Identity) -> None:
        """It was flushed, or its file is gone."""
        self._do("DELETE FROM uploads WHERE inode = ? AND birth = ?", *identity)

    def blocks(self, container: str, path: str) -> list[Block]:
        """Uncommitted blocks, in the order in which they came."""
        rows = self._all(
            "SELECT id, file, size FROM blocks WHERE container = ? AND path = ? ORDER BY rowid",
            container,
            path,
        )
        return [Block(str(name), str(file), int(str(size))) for name, file, size in rows]

    def keep_block(self, container: str, path: str, block: Block) -> None:
        """Add one, or replace the one with its id."""
        self._do(
            "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?)",
            container,
            path,
            block.id,
            block.file,
            block.size,
        )

    def drop_blocks(self, container: str, path: str) -> None:
        """A block list was committed, or the blob replaced."""
        self._do("DELETE FROM blocks WHERE container = ? AND path = ?", container, path)

    def staged_files(self) -> set[str]:
        """The names of all staging files that are still of use."""
        rows = self._all("SELECT file FROM uploads UNION SELECT file FROM blocks")
        return {str(row[0]) for row in rows}

    def _do(self, statement: str, *values: str | int) -> None:
        with self._lock:
            self._database.execute(statement, values)

    def _one(self, statement: str, *values: str | int) -> tuple[object, ...] | None:
        with self._lock:
            row: tuple[object, ...] | None = self._database.execute(statement, values).fetchone()
        return row

    def _all(self, statement: str, *values: str | int) -> list[tuple[object, ...]]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()
