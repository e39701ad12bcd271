"""The FileStore port over Azure Data Lake Storage with a hierarchical namespace."""

from __future__ import annotations

from azure.core import MatchConditions
from azure.core.credentials import TokenCredential
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere, Unavailable, WrongRequest
from openmirror.ports import Absent, Content, Entry, Listing, StreamedFile
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import ETag, Incarnation
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.failures import in_our_words
from openmirror.stores.azure.heads import head, quoted
from openmirror.stores.azure.incarnation import Incarnations
from openmirror.stores.azure.listing import pages
from openmirror.stores.azure.moving import move_file, move_folder
from openmirror.stores.azure.paths import ContainerPath, container_path, new_container_path
from openmirror.stores.azure.reading import read
from openmirror.stores.azure.streaming import AzureStream
from openmirror.stores.azure.writing import write
from openmirror.table.layout import StorePath

_TRIES = 5


class AzureStore:
    """Files of one account; safe to share between threads.

    Every method raises WrongRequest for a path that is not one below the root, AccessDenied when
    the account refuses, and Unavailable when it still cannot be reached after the SDK's retries.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._incarnations = Incarnations(clients)

    @classmethod
    def connect(
        cls, account: AccountUrl, key: str | None, given: TokenCredential | None = None
    ) -> AzureStore:
        """The store of an account; raises CannotStart when no token may be sent there."""
        return cls(Clients.of(account, key, given))

    def close(self) -> None:
        """Let go of the connections."""
        self._clients.close()

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children by name, at the time of the first page.

        Raises NotThere without such a folder.
        """
        return self._listed(folder)

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """All direct children from the name `start` on; raises what `list_folder` does."""
        found = self._listed(folder, start).entries
        # A service that knows no `start` lists from the first one on.
        return tuple(entry for entry in found if entry.name >= start)

    def _listed(self, folder: StorePath, start: str | None = None) -> Listing:
        where = container_path(folder)
        entries: list[Entry] = []
        at = None
        with in_our_words(folder):
            try:
                for page in pages(self._clients, where, start=start or None):
                    if page.is_of_file:
                        raise NotThere(f"{folder} is a file, not a folder")
                    at = at or page.at
                    entries += (child.entry for child in page.children)
            except ResourceExistsError as error:
                # A file may have this name, or that of a folder above. Any other conflict passes:
                # taken for a missing folder, it would make a table seem to have no log.
                self._need_folder(where)
                raise Unavailable(f"{folder} cannot be listed now: {error.message}") from error
            if not entries:
                self._need_folder(where)
        assert at is not None
        return Listing(at, tuple(sorted(entries, key=lambda entry: entry.name)))

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The folder's creation time, in ticks of 100 ns; None when there is no such folder.

        Raises ConditionFailed when the folder is replaced again and again.
        """
        where = container_path(folder)
        if not where.path:
            raise WrongRequest(f"{folder} is a container, which has no incarnation")
        with in_our_words(folder):
            return self._incarnations.of(where)

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of one content; a range past the end is cut short.

        Raises NotThere without such a file, ConditionFailed when it does not stop changing.
        """
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"no such range: offset {offset}, length {length}")
        where = container_path(path)
        with in_our_words(path):
            return read(self._clients, where, offset, length)

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Replace a file's content with one request, making folders as needed.

        Raises ConditionFailed unless `only_if` holds, AlreadyThere when a folder has this name or
        a file the name of a folder above, NotThere without its container.
        """
        where = container_path(path)
        with in_our_words(path):
            return write(self._clients, where, data, only_if)

    def stream(self, path: StorePath) -> StreamedFile:
        """Begin a file that is sent in parts; nothing is there before it is finished.

        Its requests raise AlreadyThere when a folder has this name or a file the name of a folder
        above, NotThere without its container.
        """
        where = container_path(path)
        if not where.path:
            raise AlreadyThere(f"{path} is a container, not a file")
        return AzureStream(self._clients, where, lambda: self.delete_file(path))

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Rename a file whose content is still the one of `etag`, at once.

        Raises NotThere without such a file, ConditionFailed when it has another content,
        AlreadyThere when the destination exists.
        """
        start, end = container_path(source), new_container_path(destination)
        with in_our_words(source):
            move_file(self._clients, start, end, etag)

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Rename a folder with all it holds, at once; it stays the same incarnation.

        Raises NotThere without such a folder, AlreadyThere when the destination exists,
        WrongRequest when the destination lies inside the source.
        """
        start, end = container_path(source), new_container_path(destination)
        if destination.startswith(f"{source}/"):
            raise WrongRequest(f"{source} cannot be moved into itself, to {destination}")
        with in_our_words(source):
            move_folder(self._clients, start, end)

    def delete_file(self, path: StorePath) -> None:
        """Remove one file; raises NotThere without such a file."""
        where = container_path(path)
        with in_our_words(path):
            for _ in range(_TRIES):
                found = head(self._clients, where)
                if found is None or found.is_folder:
                    raise NotThere(f"there is no file {path}")
                client = self._clients.files.get_file_client(*where)
                try:
                    # Under its ETag, for a folder that took its name would go with all it holds.
                    client.delete_file(
                        etag=quoted(found.etag), match_condition=MatchConditions.IfNotModified
                    )
                except ResourceModifiedError:
                    continue
                return
        raise ConditionFailed(f"{path} changes faster than it can be deleted")

    def delete_folder(self, folder: StorePath) -> None:
        """Remove a folder with all it holds; raises NotThere without such a folder."""
        where = container_path(folder)
        if not where.path:
            raise WrongRequest(f"{folder} is a container, which is not deleted here")
        with in_our_words(folder):
            self._need_folder(where)
            self._clients.files.get_directory_client(*where).delete_directory()

    def _need_folder(self, where: ContainerPath) -> None:
        found = head(self._clients, where)
        if found is None or not found.is_folder:
            raise NotThere(f"there is no folder {'/'.join(where)}")
