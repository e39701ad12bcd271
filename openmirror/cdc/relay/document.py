"""The document of a stream in its landing zone: where it lies, reading it, and changing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from openmirror.cdc.stops import StreamReplaced
from openmirror.errors import NotThere, UnknownName, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.streams import STREAMS_FOLDER, StreamDocument, StreamIdentity
from openmirror.publishing.documents import bring_to
from openmirror.table.layout import StorePath, join


def document_path(zone: StorePath, stream: str) -> StorePath:
    """Where the document of a stream lies."""
    return join(zone, STREAMS_FOLDER, f"{stream}.json")


def read_document(content: bytes, path: StorePath) -> StreamDocument:
    """Read it; raises WrongRequest, with the remedy, for what this version does not know."""
    try:
        return StreamDocument.from_json(content)
    except ValueError as error:
        raise WrongRequest(
            f"{path} cannot be read: {error}. Remove it: the stream is then read from its "
            "beginning, and what has landed of it does not land again"
        ) from error


class SharedDocument:
    """A stream's document, which several relays and operators change; each change is of the newest.

    Every call may raise what the store raises.
    """

    def __init__(
        self, store: FileStore, zone: StorePath, stream: str, identity: StreamIdentity
    ) -> None:
        self._store = store
        self._path = document_path(zone, stream)
        self._stream = stream
        self._identity = identity
        self.now = _blank(identity)
        """As it was read or written last."""
        self._written = b"", self.now
        """The content that was written last, and what it says. Of ten thousand tables, reading it
        again at each change takes longer than landing them."""

    @classmethod
    def of_any(cls, store: FileStore, zone: StorePath, stream: str) -> SharedDocument:
        """The document that lies there, of whichever stream; raises UnknownName without one."""
        path = document_path(zone, stream)
        try:
            there = read_document(store.read(path).data, path)
        except NotThere:
            raise UnknownName(
                f"there is no stream {stream}: {path} does not exist. `openmirror cdc run` makes it"
            ) from None
        found = cls(store, zone, stream, there.identity)
        found.now = there
        return found

    def read(self) -> StreamDocument | None:
        """What lies there, of whichever stream; None where nothing does."""
        try:
            content = self._store.read(self._path)
        except NotThere:
            return None
        return self._read(content.data)

    def refresh(self) -> None:
        """See what others have written; one that is gone, or of another stream, changes nothing."""
        there = self.read()
        if there is not None and there.identity == self._identity:
            self.adopt(there)

    def adopt(self, there: StreamDocument) -> None:
        """Go on from what was read just now; what only this relay knows is written into it."""
        if self._with_what_is_known(there) != there:
            self.change(lambda newest: newest)
        else:
            self.now = there

    def change(self, change: Callable[[StreamDocument], StreamDocument]) -> None:
        """Write what becomes of the newest document; raises StreamReplaced for another stream's.

        One that was deleted since it was read last is made again of what is known of it. It gets
        another number, by which other relays see that it lacks what they know.
        """

        made = self.now
        again = replace(self.now, made=uuid4().hex)

        def wanted(content: bytes) -> bytes | None:
            nonlocal made
            there = self._read(content) if content else again
            if there.identity != self._identity:
                raise StreamReplaced(self.replaced_by(there))
            made = change(self._with_what_is_known(there))
            if content and made == there:
                return None
            written = made.as_json()
            self._written = written, made
            return written

        bring_to(self._store, self._path, wanted)
        # Only now: what this relay knows is not forgotten over an attempt that was in vain.
        self.now = made

    def _read(self, content: bytes) -> StreamDocument:
        written, document = self._written
        return document if content == written else read_document(content, self._path)

    def delete(self) -> None:
        """The stream that it is of is given up."""
        self._store.delete_file(self._path)
        self.now = _blank(self._identity)

    def _with_what_is_known(self, there: StreamDocument) -> StreamDocument:
        """Somebody else has made the document again, and did not know all that this relay does.

        A table that has stopped would go on behind the record that it cannot land, and one that
        waits for its new snapshot behind those that are to land with it: that is asked for again.
        """
        if there.made == self.now.made:
            return there
        known = there.advanced(there.complete_to, (), self.now.stopped)
        known = replace(known, sources={**self.now.sources, **there.sources})
        return known.wanting_again(self.now.resnapshots, lambda: uuid4().hex)

    def replaced_by(self, there: StreamDocument) -> str:
        """Why a stream cannot go on with another one's document."""
        tables = ", ".join(sorted(map(str, there.tables))) or "none"
        return (
            f"stream {self._stream} is another one now ({self._identity}) than the one that its "
            f"tables were made of ({there.identity}): what changed between the two is in neither. "
            f"Begin them anew with --anew, which deletes these folders of the landing zone first: "
            f"{tables}"
        )


def _blank(identity: StreamIdentity) -> StreamDocument:
    return StreamDocument(identity=identity, made=uuid4().hex)
