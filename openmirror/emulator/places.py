"""What a request's URL means, and how its client spells what lies there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from openmirror.emulator.addresses import (
    Address,
    parse_copy_source,
    parse_path,
    parse_rename_source,
)

if TYPE_CHECKING:
    from openmirror.emulator.account import Account
    from openmirror.emulator.calls import Call, Reply


@dataclass(frozen=True)
class Spelling:
    """How a client calls a folder of the account; empty where it calls it as the account does."""

    filesystem: str = ""
    """In place of the container's name."""
    folder: str = ""
    """A path in the container, as it lies there."""
    spelled: str = ""
    """The same, as this client spells it."""

    def container(self, address: Address) -> str:
        """The container's name, as the client knows it."""
        return self.filesystem or address.container

    def path(self, path: str) -> str:
        """A path in the container, as the client knows it."""
        return self.spelled + path[len(self.folder) :] if self.folder else path


@dataclass(frozen=True)
class Place:
    """What a URL means: an address, and the query that is left of it."""

    address: Address
    query: Mapping[str, str]
    spelling: Spelling = Spelling()
    answer: Callable[[Account, Call], Reply] | None = None
    """What to do, where the place lies in no container of the account."""


class Naming(Protocol):
    """From the names that clients use to places in the account. All of it raises RefusedCall."""

    def place(self, raw_path: str, query: Mapping[str, str]) -> Place:
        """What a request's URL means; names of query parameters are in lower case."""

    def rename_source(self, header: str) -> Address:
        """What `x-ms-rename-source` means."""

    def copy_source(self, header: str, host: str) -> Address:
        """What `x-ms-copy-source` means in a request to this host."""


@dataclass(frozen=True)
class AccountNaming:
    """The names of an ordinary storage account."""

    account: str

    def place(self, raw_path: str, query: Mapping[str, str]) -> Place:
        """Container and path, with or without the account before them."""
        return Place(parse_path(raw_path, self.account), query)

    def rename_source(self, header: str) -> Address:
        """In any of the spellings that publishers use."""
        return parse_rename_source(header, self.account)

    def copy_source(self, header: str, host: str) -> Address:
        """A URL of this account."""
        return parse_copy_source(header, self.account, host)
