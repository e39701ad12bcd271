"""One table, and the history of one, to whose every commit there is a way of its own.

Which way a batch takes follows from what the table has become by then, from the settings, and from
which of the engine's quicker ways are open. So these are sequences: each stands on the last.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa

from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.rows import Change, ChangeFile, Marker, empty_table, interpret
from openmirror.protocol.versions import (
    History,
    apply_to_history,
    begin_with,
    empty_history,
    re_create,
)
from openmirror.spark.choosing import Commit
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from tests.harness.publishing import file_name
from tests.integration.test_policies import settings
from tests.kill.commit_forms import Form, Forms
from tests.property.histories import DECIDED
from tests.zone import EVERY_PATH, MIRROR, Paths, Zone

INSERT, UPDATE, DELETE, UPSERT, TRUNCATE = 0, 1, 2, 4, 100
Rows = Sequence[tuple[int, int, str]]

BY_SPARK = Paths(direct=False)
MERGING = Paths(direct=False, small_table=0)
REPLACING_ROWS = Paths(small_table=0)
LARGE = Paths(small_batch=1, small_table=1)


class Sent:
    """A publisher of one table, and what comes of all that it has sent."""

    def __init__(self, zone: Zone, name: str) -> None:
        self.name, self._zone = name, zone
        self._files: list[ChangeFile] = []
        self._history: History | None = None
        self._is_again = False
        self.wide, self.more = False, False
        """Whether a column has grown, and whether there is another one, whose name Delta maps."""

    @property
    def last(self) -> int:
        """The newest sequence of this incarnation."""
        return len(self._files)

    def send(self, rows: Rows) -> None:
        """Publish the next change file."""
        if not self._files:
            self._zone.metadata(self.name, {"keyColumns": ["id"]})
        self._files.append(self._file(rows, self.last + 1))
        self._put(self.last, rows)
        if self._history is not None:
            self._to_history(self._history, self._files[-1])

    def send_again(self, rows: Rows) -> None:
        """The newest file becomes another one."""
        self._files[-1] = self._file(rows, self.last)
        self._put(self.last, rows)

    def delete(self) -> None:
        """Remove the folder at once, with all that is in it."""
        gone = self._zone.root / f"deleted-{uuid4().hex}"
        self._zone.folder(self.name).rename(gone)
        shutil.rmtree(gone)
        self._files, self._is_again = [], True

    def begin_history(self) -> None:
        """From now on there is a history, which begins with the rows of now."""
        self._history = empty_history(["id"], None, self.identity)
        begin_with(self._history, self.identity, interpret(self._files, ["id"]), self.last, DECIDED)

    @property
    def identity(self) -> Incarnation:
        """That of this incarnation."""
        folder = TableFolder(MIRROR, TablePath.parse(self.name))
        found = LocalStore(self._zone.root).incarnation(layout.table_folder(folder))
        assert found is not None
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the interpreter makes of this incarnation's files."""
        return interpret(self._files, ["id"]).rows

    @property
    def versions(self) -> list[dict[str, Any]]:
        """The history of all that was sent since it began."""
        assert self._history is not None
        return self._history.rows

    def _to_history(self, history: History, file: ChangeFile) -> None:
        if self._is_again:
            self._is_again = False
            re_create(history, self.identity, empty_table(["id"], None), DECIDED)
        apply_to_history(history, file, file.number, DECIDED)

    def _file(self, rows: Rows, number: int) -> ChangeFile:
        changes = [Change(Marker(marker), self._row(key, text)) for marker, key, text in rows]
        return ChangeFile(tuple(self._row(0, "")), changes, file_name(number), number)

    def _row(self, key: int, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": key, "v": text, "n": key}
        return row | ({"a name": text} if self.more else {})

    def _put(self, number: int, rows: Rows) -> None:
        found = [self._row(key, text) for _, key, text in rows]
        types: Mapping[str, pa.DataType] = {
            "id": pa.int64(),
            "n": pa.int64() if self.wide else pa.int32(),
        }
        columns = {
            name: pa.array([row[name] for row in found], types.get(name, pa.string()))
            for name in found[0]
        }
        columns["__rowMarker__"] = pa.array([marker for marker, _, _ in rows], pa.int32())
        self._zone.put(self.name, number, pa.table(columns))


@dataclass(frozen=True, kw_only=True)
class CommitPath:
    """A batch, and the commits by which alone it gets into the table."""

    name: str
    forms: Forms
    files: Sequence[Rows]
    paths: Paths = EVERY_PATH
    first: Callable[[Zone, Sent], None] = lambda zone, sent: None
    """What changes before its files come."""
    seldom: bool = False
    """Whether it is gone in the soak only: another one is much like it, and each takes a second."""
    redone: bool = False
    """Whether each run has it done again, by whoever comes after one that died before its entry."""
    by_checksum: bool = False
    """Whether it is gone only where the newest version has a checksum."""
    instead: Rows | None = None
    """What comes in place of its newest file, once a runner has decided on that, and died."""


def _with_vectors(zone: Zone, sent: Sent) -> None:
    settings(zone, deletionVectors=True)


def _wide(zone: Zone, sent: Sent) -> None:
    sent.wide = True


def _anew(zone: Zone, sent: Sent) -> None:
    sent.delete()


def _anew_with_all(zone: Zone, sent: Sent) -> None:
    """Clustered, with a change feed and with names that are mapped."""
    settings(zone, feed=True, clustering=["id"], deletionVectors=True)
    sent.delete()
    sent.more = True


OF_A_TABLE = (
    CommitPath(
        name="a table is made",
        redone=True,
        forms=[Commit.REPLACE],
        files=[[(INSERT, 1, "a"), (INSERT, 2, "b")]],
    ),
    CommitPath(
        name="rows are added by this process",
        redone=True,
        forms=[Commit.APPEND, Form.DIRECT],
        files=[[(INSERT, 3, "c"), (INSERT, 3, "twin")]],
    ),
    CommitPath(
        name="many rows are added by this process",
        redone=True,
        forms=[Form.LARGE_INSERTS],
        files=[[(INSERT, 4, "d")], [(INSERT, 5, "e")]],
        paths=LARGE,
        by_checksum=True,
    ),
    CommitPath(
        name="rows are added by Spark",
        forms=[Commit.APPEND],
        files=[[(INSERT, 6, "f"), (INSERT, 6, "twin")]],
        paths=BY_SPARK,
    ),
    CommitPath(
        name="a small table is written whole by this process",
        forms=[Commit.OVERWRITE, Form.DIRECT],
        files=[[(UPDATE, 1, "A"), (DELETE, 2, ""), (INSERT, 7, "g")]],
    ),
    CommitPath(
        name="a small table is written whole by Spark",
        forms=[Commit.OVERWRITE],
        files=[[(UPDATE, 3, "C"), (DELETE, 4, ""), (INSERT, 7, "twin")]],
        paths=BY_SPARK,
    ),
    CommitPath(
        name="a batch is merged, and files are written anew",
        seldom=True,
        forms=[Commit.MERGE],
        files=[[(UPDATE, 6, "F"), (DELETE, 5, ""), (INSERT, 8, "h"), (INSERT, 8, "twin")]],
        paths=MERGING,
    ),
    CommitPath(
        name="properties come with a batch that is merged",
        forms=[Commit.MERGE, Form.FEATURES],
        files=[[(UPDATE, 8, "H"), (DELETE, 1, ""), (INSERT, 9, "i")]],
        paths=MERGING,
        first=_with_vectors,
    ),
    CommitPath(
        name="rows are replaced where they lie",
        redone=True,
        forms=[Commit.REPLACE_ROWS],
        files=[[(UPDATE, 6, "again"), (DELETE, 3, ""), (INSERT, 10, "j"), (INSERT, 10, "twin")]],
        paths=REPLACING_ROWS,
    ),
    CommitPath(
        name="a type grows, and the whole table is written anew",
        seldom=True,
        forms=[Commit.REWRITE],
        files=[[(UPDATE, 10, "J"), (INSERT, 11, "k"), (DELETE, 9, "")]],
        paths=MERGING,
        first=_wide,
    ),
    CommitPath(
        name="a truncate begins a table anew",
        forms=[Commit.BEGIN_ANEW],
        files=[[(INSERT, 12, "gone"), (TRUNCATE, 0, ""), (INSERT, 13, "m"), (INSERT, 13, "twin")]],
    ),
    CommitPath(
        name="a folder that was made again replaces its table",
        forms=[Form.WITHOUT_ROWS, Commit.REPLACE],
        files=[[(INSERT, 1, "a"), (INSERT, 1, "twin"), (INSERT, 2, "b")]],
        first=_anew,
    ),
    CommitPath(
        name="a replace cannot set all properties at once",
        seldom=True,
        forms=[Form.WITHOUT_ROWS, Commit.REPLACE, Form.PROPERTIES],
        files=[[(INSERT, 1, "c"), (INSERT, 1, "twin"), (INSERT, 2, "d")]],
        first=_anew_with_all,
    ),
    CommitPath(
        name="what a replace could not set is set with the next batch",
        seldom=True,
        forms=[Commit.MERGE, Form.FEATURES],
        files=[[(UPDATE, 1, "A"), (INSERT, 3, "c")]],
    ),
    CommitPath(
        name="a decided file has changed, and an epoch goes on",
        seldom=True,
        forms=[Form.WITHOUT_ROWS, Form.WITHOUT_ROWS],
        files=[[(INSERT, 4, "not this")]],
        instead=[(INSERT, 4, "d"), (INSERT, 4, "twin")],
    ),
)
"""In their order."""


def _with_history(zone: Zone, sent: Sent) -> None:
    settings(zone, history="scd2")
    sent.begin_history()


OF_A_HISTORY = (
    CommitPath(
        name="a history begins with what its table has",
        redone=True,
        forms=[Form.BEGIN_HISTORY],
        files=[],
        first=_with_history,
    ),
    CommitPath(
        name="versions are added by this process",
        seldom=True,
        forms=[Commit.APPEND, Form.DIRECT],
        files=[[(INSERT, 3, "c"), (INSERT, 3, "twin")]],
    ),
    CommitPath(
        name="versions are added by Spark",
        seldom=True,
        forms=[Commit.APPEND],
        files=[[(INSERT, 4, "d"), (INSERT, 4, "twin")]],
        paths=BY_SPARK,
    ),
    CommitPath(
        name="a small history is written whole by this process",
        forms=[Commit.OVERWRITE, Form.DIRECT],
        files=[[(UPDATE, 1, "A"), (DELETE, 2, ""), (INSERT, 5, "e")]],
    ),
    CommitPath(
        name="a small history is written whole by Spark",
        seldom=True,
        forms=[Commit.OVERWRITE],
        files=[[(UPDATE, 3, "C"), (UPDATE, 3, "D"), (DELETE, 4, "")]],
        paths=BY_SPARK,
    ),
    CommitPath(
        name="versions are merged",
        forms=[Commit.MERGE],
        files=[[(UPDATE, 1, "B"), (UPDATE, 1, "C"), (DELETE, 5, ""), (INSERT, 6, "f")]],
        paths=MERGING,
    ),
    CommitPath(
        name="a type grows, and the whole history is written anew",
        seldom=True,
        forms=[Commit.REWRITE],
        files=[[(UPDATE, 1, "D"), (INSERT, 7, "g")]],
        paths=MERGING,
        first=_wide,
    ),
    CommitPath(
        name="a folder that was made again closes all versions",
        seldom=True,
        forms=[Form.WITHOUT_ROWS, Commit.REPLACE],
        files=[[(INSERT, 1, "a"), (INSERT, 2, "b")]],
        first=_anew,
    ),
)
