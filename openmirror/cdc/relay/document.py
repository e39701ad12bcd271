"""Where a stream's document lies, and reading it."""

from __future__ import annotations

from openmirror.errors import WrongRequest
from openmirror.protocol.streams import STREAMS_FOLDER, StreamDocument
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
