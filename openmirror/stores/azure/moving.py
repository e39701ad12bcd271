"""Renames, which the service does atomically; why it refused is found out afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere
from openmirror.protocol.names import ETag
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.failures import code_of, passes
from openmirror.stores.azure.heads import head, quoted
from openmirror.stores.azure.paths import ContainerPath

_NO_PARENT = "RenameDestinationParentPathNotFound"


def move_file(
    clients: Clients, source: ContainerPath, destination: ContainerPath, etag: ETag
) -> None:
    """Rename a file of this content, making the folders above its new name.

    Raises NotThere, ConditionFailed, AlreadyThere, and the SDK's errors.
    """
    _need_paths(source, destination)
    # The SDK unquotes the source's name before it quotes it.
    files = clients.files.get_file_system_client(source.container)
    client = files.get_file_client(quote(source.path))
    _rename(clients, client.rename_file, source, destination, etag, is_folder=False)


def move_folder(clients: Clients, source: ContainerPath, destination: ContainerPath) -> None:
    """Rename a folder with all it holds, making the folders above its new name.

    Raises NotThere, AlreadyThere, ConditionFailed when it is replaced meanwhile, and the SDK's
    errors.
    """
    _need_paths(source, destination)
    found = head(clients, source)
    if found is None or not found.is_folder:
        raise NotThere(f"there is no folder {source.path}")
    files = clients.files.get_file_system_client(source.container)
    client = files.get_directory_client(quote(source.path))
    _rename(clients, client.rename_directory, source, destination, found.etag, is_folder=True)


def _need_paths(source: ContainerPath, destination: ContainerPath) -> None:
    if not source.path:
        raise NotThere(f"{source.container} is a container, which cannot be moved")
    if not destination.path:
        raise AlreadyThere(f"{destination.container} is a container")


def _rename(
    clients: Clients,
    rename: Callable[..., Any],
    source: ContainerPath,
    destination: ContainerPath,
    etag: ETag,
    *,
    is_folder: bool,
) -> None:
    def attempt() -> None:
        rename(
            "/".join(destination),
            source_etag=quoted(etag),
            source_match_condition=MatchConditions.IfNotModified,
            match_condition=MatchConditions.IfMissing,
        )

    try:
        try:
            attempt()
        except ResourceNotFoundError as error:
            if code_of(error) != _NO_PARENT:
                raise
            _make_parent(clients, destination)
            attempt()
    except HttpResponseError as error:
        if error.status_code not in (404, 409, 412) or passes(error):
            raise
        _say_why(clients, source, destination, etag, error, is_folder=is_folder)


def _make_parent(clients: Clients, where: ContainerPath) -> None:
    parent = where.path.rpartition("/")[0]
    folder = clients.files.get_directory_client(where.container, parent)
    # Without a condition a folder that is there would lose its properties.
    with suppress(ResourceExistsError):
        folder.create_directory(match_condition=MatchConditions.IfMissing)


def _say_why(
    clients: Clients,
    source: ContainerPath,
    destination: ContainerPath,
    etag: ETag,
    error: HttpResponseError,
    *,
    is_folder: bool,
) -> None:
    """Raise what a refused rename means, by what is there now.

    One code stands for several causes, and which comes first is the service's affair.
    """
    here = head(clients, source)
    if here is None or here.is_folder != is_folder:
        kind = "folder" if is_folder else "file"
        raise NotThere(f"there is no {kind} {source.path}") from error
    if here.etag != etag:
        raise ConditionFailed(f"{source.path} is no longer what was to be moved") from error
    if head(clients, destination) is not None:
        raise AlreadyThere(f"{destination.path} already exists") from error
    if error.status_code == 412:
        raise ConditionFailed(f"{source.path} was changed while it was moved") from error
    if error.status_code == 409:
        raise AlreadyThere(f"{destination.path} cannot be made") from error
    if head(clients, ContainerPath(destination.container, "")) is None:
        raise NotThere(f"there is no container {destination.container}") from error
    raise AlreadyThere(f"a file is in the way of {destination.path}") from error
