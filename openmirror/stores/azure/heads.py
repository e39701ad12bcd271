"""What a name stands for: asked with one small request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from openmirror.protocol.names import ETag
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.paths import ContainerPath

_FOLDER = "hdi_isfolder"
"""Metadata that the Blob endpoint gives to directories."""


@dataclass(frozen=True)
class Head:
    """A file or a folder, without its content."""

    is_folder: bool
    etag: ETag
    size: int
    growing: bool = False
    """Whether a copy into it is under way."""


def head(clients: Clients, where: ContainerPath) -> Head | None:
    """What is there; None when nothing is. A container counts as a folder."""
    try:
        if not where.path:
            container = clients.blobs.get_container_client(where.container)
            found: Any = container.get_container_properties()
            return Head(True, bare(found.etag), 0)
        blob = clients.blobs.get_blob_client(where.container, where.path)
        found = blob.get_blob_properties()
    except ResourceNotFoundError:
        return None
    return Head(
        is_folder(found.metadata), bare(found.etag), int(found.size), growing=is_growing(found)
    )


def is_folder(metadata: dict[str, str] | None) -> bool:
    """Whether the metadata of a blob says that it stands for a directory."""
    return any(
        key.lower() == _FOLDER and value == "true" for key, value in (metadata or {}).items()
    )


def is_growing(properties: Any) -> bool:
    """Whether the service still copies into this blob: Copy Blob answers before it is done."""
    return properties.copy is not None and properties.copy.status == "pending"


def bare(etag: str) -> ETag:
    """An ETag without the quotes that headers put around it, and listings do not."""
    return ETag(etag.strip('"'))


def quoted(etag: ETag) -> str:
    """An ETag as conditions want it."""
    return f'"{etag}"'
