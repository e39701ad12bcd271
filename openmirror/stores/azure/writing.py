"""Replacing a file's content with one request, under a condition."""

from __future__ import annotations

from typing import Any

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from openmirror.errors import AlreadyThere, ConditionFailed
from openmirror.ports import ABSENT, Absent
from openmirror.protocol.names import ETag
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.heads import bare, head, quoted
from openmirror.stores.azure.paths import ContainerPath


def write(
    clients: Clients, where: ContainerPath, data: bytes, only_if: ETag | Absent | None
) -> ETag:
    """Put a file; the service makes the folders above it.

    Raises ConditionFailed unless `only_if` holds, AlreadyThere when a folder has this name or a
    file the name of a folder above, and the SDK's errors.
    """
    if not where.path:
        raise AlreadyThere(f"{where.container} is a container, not a file")
    blob = clients.blobs.get_blob_client(where.container, where.path)
    condition: dict[str, Any] = {}
    if only_if is not None and only_if is not ABSENT:
        condition = {
            "etag": quoted(ETag(only_if)),
            "match_condition": MatchConditions.IfNotModified,
        }
    try:
        # Small files only, so this is a single Put Blob: readers see all or nothing.
        done = blob.upload_blob(data, overwrite=only_if is not ABSENT, **condition)
    except ResourceExistsError as error:
        if only_if is ABSENT and not _is_in_the_way(clients, where):
            raise ConditionFailed(f"{where.path} is there by now") from error
        raise
    except ResourceNotFoundError as error:
        if condition and not _is_container_missing(error):
            raise ConditionFailed(f"{where.path} is gone") from error
        raise
    return bare(done["etag"])


def _is_in_the_way(clients: Clients, where: ContainerPath) -> bool:
    """Whether no file can be written here: a folder has this name, or a file that of a folder."""
    found = head(clients, where)
    return found is None or found.is_folder


def _is_container_missing(error: ResourceNotFoundError) -> bool:
    return str(getattr(error, "error_code", "")).endswith(
        ("ContainerNotFound", "container_not_found")
    )
