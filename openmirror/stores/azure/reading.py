"""Ranged reads of which every byte is of one content."""

from __future__ import annotations

from azure.core.exceptions import HttpResponseError, ResourceModifiedError

from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import Content
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.heads import bare, head, is_folder, is_growing
from openmirror.stores.azure.paths import ContainerPath

_TRIES = 5
_RANGE_NOT_SATISFIABLE = 416


def read(clients: Clients, where: ContainerPath, offset: int, length: int | None) -> Content:
    """A range of a file, cut short at its end; one request unless the range is empty or long.

    Raises NotThere without such a file, ConditionFailed when it does not stop changing, and the
    SDK's errors.
    """
    if length == 0 or not where.path:
        return _nothing_of(clients, where)
    # A long range comes in pieces; the SDK asks for all of them under the ETag of the first.
    for _ in range(_TRIES):
        try:
            found = _range(clients, where, offset, length)
        except ResourceModifiedError:
            continue
        return found or _nothing_of(clients, where)
    raise ConditionFailed(f"{where.path} changes faster than it can be read")


def _range(
    clients: Clients, where: ContainerPath, offset: int, length: int | None
) -> Content | None:
    """A range; None when it begins past the end."""
    blob = clients.blobs.get_blob_client(where.container, where.path)
    # Without an offset the SDK also reads what is empty, of which there is no range.
    start = None if offset == 0 and length is None else offset
    try:
        download = blob.download_blob(start, length)
    except HttpResponseError as error:
        if error.status_code == _RANGE_NOT_SATISFIABLE:
            return None
        raise
    except ValueError:
        # The SDK, of an answer to a range that is not one of a range: a folder has no bytes.
        return None
    found = download.properties
    if is_folder(found.metadata):
        raise NotThere(f"{where.path} is a folder, not a file")
    size = int((found.content_range or "/0").rpartition("/")[2])
    return Content(download.readall(), bare(found.etag or ""), size, growing=is_growing(found))


def _nothing_of(clients: Clients, where: ContainerPath) -> Content:
    found = head(clients, where)
    if found is None or found.is_folder:
        raise NotThere(f"there is no file {'/'.join(where)}")
    return Content(b"", found.etag, found.size, found.growing)
