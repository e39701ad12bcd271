"""Where a publisher writes: a local root, or a storage account through Microsoft's SDK."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from openmirror.ports.storage_account import AccountUrl
from openmirror.table.layout import LANDING, StorePath


class PublisherFiles(Protocol):
    """What a publisher does with files."""

    def write(self, path: StorePath, data: bytes) -> None:
        """Write under a reserved name, then rename: readers never see half a file."""

    def make_anew(self, folder: StorePath) -> None:
        """Make a folder; one that is there is deleted first, with all in it."""

    def read(self, path: StorePath) -> bytes | None:
        """A whole file; None when it is not there."""


def target_of(root: str, key: str | None) -> PublisherFiles:
    """The place that a root names: the path of a folder or the URL of an account."""
    if "://" in root:
        return AccountTarget(AccountUrl.parse(root), key)
    return FolderTarget(Path(root))


class FolderTarget:
    """A local root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: StorePath, data: bytes) -> None:
        """See Place."""
        final = self._root / path
        staged = final.with_name(f"_{final.name}")
        staged.write_bytes(data)
        staged.rename(final)

    def make_anew(self, folder: StorePath) -> None:
        """See Place."""
        path = self._root / folder
        if path.exists():
            # One step, as deleting a folder is in Azure: nobody sees it lose file after file.
            gone = path.with_name(f"_gone-{path.name}")
            path.rename(gone)
            shutil.rmtree(gone)
        path.mkdir()

    def read(self, path: StorePath) -> bytes | None:
        """See Place."""
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None


class AccountTarget:
    """A storage account with a hierarchical namespace; with a key, or as an identity."""

    def __init__(self, account: AccountUrl, key: str | None) -> None:
        # A local demo needs none of the SDK.
        from openmirror.stores.azure.clients import Clients

        self._files = Clients.of(account, key).files.get_file_system_client(LANDING)

    def write(self, path: StorePath, data: bytes) -> None:
        """See Place."""
        folder, _, name = _below_landing(path).rpartition("/")
        staged = self._files.get_file_client(f"{folder}/_{name}")
        staged.upload_data(data, overwrite=True)
        staged.rename_file(path)

    def make_anew(self, folder: StorePath) -> None:
        """See Place."""
        directory = self._files.get_directory_client(_below_landing(folder))
        if directory.exists():
            directory.delete_directory()
        directory.create_directory()

    def read(self, path: StorePath) -> bytes | None:
        """See Place."""
        from azure.core.exceptions import ResourceNotFoundError

        file = self._files.get_file_client(_below_landing(path))
        try:
            return bytes(file.download_file().readall())
        except ResourceNotFoundError:
            return None


def _below_landing(path: StorePath) -> str:
    return path.removeprefix(f"{LANDING}/")
