"""Writing a file in parts: blocks, and a list of blocks that makes a file of them at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobBlock

from openmirror.errors import NotThere
from openmirror.protocol.names import ETag
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.failures import code_of, in_our_words
from openmirror.stores.azure.heads import bare, quoted
from openmirror.stores.azure.paths import ContainerPath

_NO_SUCH_BLOCK = frozenset({"InvalidBlobOrBlock", "InvalidBlockList"})


class AzureStream:
    """A StreamedFile of a storage account.

    A block is kept under its number, so sending it twice changes nothing. Each list that makes the
    file names the blocks of the body and one more, the tail. The service keeps the blocks of the
    last list together with the file: when the file is moved or deleted, no other list finds them.
    """

    def __init__(self, clients: Clients, where: ContainerPath, delete: Callable[[], None]) -> None:
        """`delete` removes the file; it raises NotThere without one."""
        self._blob = clients.blobs.get_blob_client(where.container, where.path)
        self._path = "/".join(where)
        self._delete = delete
        self._parts = 0
        self._finishes = 0
        self._etag: ETag | None = None

    def append(self, data: bytes | memoryview) -> None:
        """Send the next part as a block."""
        if len(data):
            self._send(_body(self._parts), bytes(data))
            self._parts += 1

    def finish(self, tail: bytes) -> ETag:
        """Send the tail as a block, and make the file of the body's blocks and this one."""
        # Counted before it is asked: an answer that is lost may have made the file.
        self._finishes += 1
        blocks = [_body(number) for number in range(self._parts)]
        if tail:
            blocks.append(f"tail-{self._finishes:010d}")
            self._send(blocks[-1], tail)
        with in_our_words(self._path):
            try:
                done = self._blob.commit_block_list(
                    [BlobBlock(block) for block in blocks], **self._condition()
                )
            except HttpResponseError as error:
                if error.status_code != 412 and code_of(error) not in _NO_SUCH_BLOCK:
                    raise
                raise NotThere(f"{self._path} was moved or deleted while it was sent") from error
        self._etag = bare(str(done["etag"]))
        return self._etag

    def discard(self) -> None:
        """Delete the file if it was ever finished."""
        if self._finishes:
            with suppress(NotThere):
                self._delete()

    def _condition(self) -> dict[str, Any]:
        """A file without a body has no block that would be missed when the file is gone.

        Elsewhere a condition is of no use, and a request that is sent twice would not keep it.
        """
        if self._parts or self._etag is None:
            return {}
        return {"etag": quoted(self._etag), "match_condition": MatchConditions.IfNotModified}

    def _send(self, block: str, data: bytes) -> None:
        with in_our_words(self._path):
            self._blob.stage_block(block, data, length=len(data))


def _body(number: int) -> str:
    return f"body-{number:010d}"
