"""Landing a file: the one rule by which a change file gets its number (PROTOCOL §13.1).

1. The folder is the one that was opened; its newest file's footer has the state.
2. The file is staged inside the folder, so that deleting the folder deletes it too.
3. The folder is still the same, and so is its newest file.
4. It is renamed to the next number, which must not exist.
5. The folder is listed again: the file is the newest, or something that landed later knows it; if
   not, the number was used before and has been archived, and the file is taken away again.

Whatever fails in between leaves the file or nothing, and whoever comes next goes on by the same
rule. Several processes on one folder are safe: one wins each number.

A file that is streamed is staged once, without its footer, and finished anew at each try.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from openmirror.errors import (
    AlreadyThere,
    ConditionFailed,
    FolderReplaced,
    NotThere,
    OpenmirrorError,
    PublishRefused,
    Unavailable,
)
from openmirror.ports import Entry, FileStore, StreamedFile
from openmirror.protocol.names import ARCHIVE_FOLDER, ETag, Incarnation
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import LAST_SEQUENCE, PARQUET, ChangeFileName, Sequence
from openmirror.publishing.footer import PublishedFooter
from openmirror.publishing.newest import (
    ZoneState,
    change_files,
    gone,
    need_same_folder,
    newest_of,
    zone_state,
)
from openmirror.publishing.read_footers import identity_of, read_footer
from openmirror.publishing.streamed import StreamedParquet
from openmirror.publishing.tidying import STAGED, take_away
from openmirror.publishing.traces import ArchivedUnder, Behind, Fate, LandingTraces, fate
from openmirror.table.layout import StorePath, join

_MOST_RACES = 1000
"""Numbers that may be lost to others in a row: each of them is somebody's progress."""


@dataclass(frozen=True)
class ComposedFile:
    """A Parquet file whose footer was made for one state of the folder."""

    footer: PublishedFooter
    data: bytes | StreamedParquet
    """The whole file, `footer` in it; or the body of a streamed file.

    The same body object may be given again with another footer, and is not sent again then.
    """


@dataclass(frozen=True)
class LandedAs:
    """A file that is now a change of its table, once and for good."""

    sequence: int
    file: str
    """Its identity."""


Compose = Callable[[ZoneState], ComposedFile | None]
"""Makes the next file for a state; None when nothing is left to land.

Called once more after a streamed body was sent, whose `rows` are known from then on.
"""


@dataclass(frozen=True)
class _Underway:
    """A file whose rename was begun: it may have happened, whatever was answered."""

    footer: PublishedFooter
    number: int


@dataclass(frozen=True)
class _Sent:
    """A streamed body that lies in the folder under a staged name, whole but for its footer."""

    body: StreamedParquet
    file: StreamedFile
    path: StorePath


class Lander:
    """Lands files in one table folder, one at a time; remembers what it does not know the end of.

    Every method raises FolderReplaced when the folder was deleted or made anew, and whatever the
    store raises. After an error `land` is called again with the same rows: it finds out first what
    became of the file before.
    """

    def __init__(
        self, store: FileStore, folder: StorePath, incarnation: Incarnation | None
    ) -> None:
        self._store = store
        self._folder = folder
        self._incarnation = incarnation
        self._known = ZoneState()
        self._staged: StorePath | None = None
        self._sent: _Sent | None = None
        self._underway: _Underway | None = None

    @property
    def folder(self) -> StorePath:
        """The table folder."""
        return self._folder

    def state(self) -> ZoneState:
        """The state of the folder now; reads a footer only when the newest file is another."""
        need_same_folder(self._store, self._folder, self._incarnation)
        files = change_files(self._store, self._folder)
        return self._state_of(files)

    def land(self, compose: Compose) -> LandedAs | None:
        """Land the next file; None when `compose` finds that nothing is left to land.

        Raises PublishRefused when there is no next number.
        """
        if self._underway is not None and (before := self._outcome(self._underway)):
            return before
        for _ in range(_MOST_RACES):
            self._discard_staged()
            state = self.state()
            composed = compose(state)
            body = composed and composed.data
            if self._sent is not None and self._sent.body is not body:
                self._discard_sent()
            if composed is None:
                return None
            if isinstance(body, StreamedParquet) and self._sent is None:
                # Others may land much while it is sent, so its footer is made afterwards.
                self._send(body)
            elif landed := self._try(state, composed):
                return landed
        raise Unavailable(f"{self._folder}: {_MOST_RACES} numbers in a row were taken by others")

    def _try(self, state: ZoneState, composed: ComposedFile) -> LandedAs | None:
        """One attempt to take the next number; None when it was lost to somebody else."""
        number = state.sequence + 1
        if number > LAST_SEQUENCE:
            broken = Broken(Code.FILE_NAME_INVALID, f"{self._folder}: the last number was used")
            raise PublishRefused(broken, "3")
        if isinstance(composed.data, StreamedParquet):
            assert self._sent is not None  # `land` has sent it
            staged, etag = self._sent.path, self._finish(self._sent, composed.footer)
        else:
            staged = join(self._folder, f"{STAGED}{composed.footer.file}.{PARQUET}")
            etag = self._stage(staged, composed.data)
        # Lost already: its footer names a file that is the newest no more.
        if etag is None or not self._is_still(state):
            return None
        self._underway = _Underway(composed.footer, number)
        try:
            self._store.move_file(staged, self._path(number), etag)
        except (AlreadyThere, ConditionFailed, NotThere):
            # Most often lost; but a request that is sent twice is refused for what it did itself.
            return self._outcome(self._underway)
        return self._verified(self._underway)

    def _stage(self, staged: StorePath, data: bytes) -> ETag:
        self._staged = staged
        etag = self._store.write(staged, data)
        self._need_no_new_folder()
        return etag

    def _send(self, body: StreamedParquet) -> None:
        """Stage a body without its footer, under a name that stays its own at every try."""
        path = join(self._folder, f"{STAGED}{uuid4().hex}.{PARQUET}")
        file = self._store.stream(path)
        try:
            body.send(file)
        except Exception as error:
            # If this fails too, `tidy` removes the file after a day.
            with suppress(OpenmirrorError, OSError):
                file.discard()
            if isinstance(error, NotThere):
                self._need_same_folder()
            raise
        self._sent = _Sent(body, file, path)
        self._need_no_new_folder()

    def _finish(self, sent: _Sent, footer: PublishedFooter) -> ETag | None:
        """Give a body its footer; None when the store has lost it and it has to be sent again."""
        try:
            etag = sent.file.finish(sent.body.tail(footer.as_json()))
        except NotThere:
            self._need_same_folder()
            self._discard_sent()
            return None
        self._need_no_new_folder()
        return etag

    def _need_no_new_folder(self) -> None:
        """Discard what was staged, and raise FolderReplaced, unless the folder is the same.

        Writing makes folders. One that came to be by this stays, empty: deleting it might delete
        what somebody else landed in it meanwhile.
        """
        if self._store.incarnation(self._folder) != self._incarnation:
            self._discard_staged()
            self._discard_sent()
            raise gone(self._folder)

    def _is_still(self, state: ZoneState) -> bool:
        number, newest = newest_of(change_files(self._store, self._folder))
        return ZoneState(newest, number).is_as(state)

    def _discard_staged(self) -> None:
        if self._staged is not None:
            with suppress(NotThere):
                self._store.delete_file(self._staged)
            self._staged = None

    def _discard_sent(self) -> None:
        if self._sent is not None:
            self._sent.file.discard()
            self._sent = None

    def _unfinish_sent(self) -> None:
        """Take its footer from a streamed body, which gives it another ETag."""
        if self._sent is not None:
            try:
                self._sent.file.finish(b"")
            except NotThere:
                self._discard_sent()

    def _outcome(self, underway: _Underway) -> LandedAs | None:
        """What became of a file whose rename was begun; None when it did not land, and never will.

        Once the staged file is deleted, no rename that is still on its way can land it. A streamed
        body is kept for the next try, under another ETag than the one that such a rename demands.
        """
        self._need_same_folder()
        self._discard_staged()
        self._unfinish_sent()
        return self._decided(underway, change_files(self._store, self._folder))

    def _verified(self, underway: _Underway) -> LandedAs | None:
        """Whether a file that was renamed keeps its number; one that was used before is removed."""
        self._need_same_folder()
        files = change_files(self._store, self._folder)
        newest, entry = newest_of(files)
        if underway.number == newest and entry is not None:
            # Nobody takes the newest away, so it is the one that was renamed.
            return self._landed(underway, entry)
        return self._decided(underway, files)

    def _decided(self, underway: _Underway, files: dict[int, Entry]) -> LandedAs | None:
        number = underway.number
        newest, entry = newest_of(files)
        traces = self._traces(underway, is_newest=number == newest)
        found = fate(traces)
        if found is Fate.LANDED:
            return self._landed(underway, entry if traces.is_held and number == newest else None)
        if found is Fate.USED_BEFORE and number in files:
            take_away(self._store, self._folder, files[number])
        self._underway = self._staged = None
        return None

    def _landed(self, underway: _Underway, newest: Entry | None) -> LandedAs:
        """`newest` is its entry where it is the newest file."""
        number, file = underway.number, underway.footer.file
        if newest is not None:
            self._known = ZoneState(newest, number, underway.footer, file)
        self._underway = self._staged = self._sent = None
        return LandedAs(number, file)

    def _traces(self, underway: _Underway, *, is_newest: bool) -> LandingTraces:
        """The folder is read before the archive, into which its files move."""
        number, file = underway.number, underway.footer.file
        is_held = identity_of(self._store, self._path(number)) == file
        archived = ArchivedUnder.NOTHING
        if self._is_there(self._archived(number)):
            is_it = identity_of(self._store, self._archived(number)) == file
            archived = ArchivedUnder.IT if is_it else ArchivedUnder.ANOTHER
        behind = self._behind(underway)
        # Even the successor may be archived and gone, which takes days: the newest footer shows it.
        carried = self.state().carried
        is_carried = carried is not None and any(s.file == file for s in carried.sources.values())
        return LandingTraces(is_held, is_newest, archived, behind, is_carried)

    def _behind(self, underway: _Underway) -> Behind:
        """What landed behind a number: it may know the file before it."""
        number, file = underway.number, underway.footer.file
        for path in (self._path(number + 1), self._archived(number + 1)):
            try:
                successor = read_footer(self._store, path)
            except NotThere:
                continue
            if successor is None or successor.published is None:
                return Behind.FOREIGN
            previous = successor.published.previous
            is_it = previous is not None and previous.file == file
            return Behind.NAMES_IT if is_it else Behind.NAMES_ANOTHER
        return Behind.NOTHING

    def _state_of(self, files: dict[int, Entry]) -> ZoneState:
        number, newest = newest_of(files)
        if self._incarnation is None and number < self._known.sequence:
            # A store that names no incarnation shows a re-created folder by this alone, if at all.
            raise gone(self._folder)
        if not ZoneState(newest, number).is_as(self._known):
            self._known = zone_state(self._store, self._folder, files)
        return self._known

    def _need_same_folder(self) -> None:
        try:
            need_same_folder(self._store, self._folder, self._incarnation)
        except FolderReplaced:
            self._underway = self._staged = self._sent = None  # it was deleted with its folder
            raise

    def _is_there(self, path: StorePath) -> bool:
        try:
            self._store.read(path, 0, 0)
        except NotThere:
            return False
        return True

    def _path(self, number: int) -> StorePath:
        return join(self._folder, str(ChangeFileName(Sequence(number), PARQUET)))

    def _archived(self, number: int) -> StorePath:
        return join(self._folder, ARCHIVE_FOLDER, str(ChangeFileName(Sequence(number), PARQUET)))
