"""A file or folder as clients see it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from openmirror.emulator.addresses import Address
from openmirror.emulator.birth import Identity
from openmirror.emulator.facts import Facts


@dataclass(frozen=True, kw_only=True)
class Node:
    """What lies at an address, and what is remembered of it."""

    address: Address
    is_folder: bool
    size: int
    """Bytes; 0 for folders."""
    written: int
    """When the system last saw it change, as nanoseconds since 1970."""
    identity: Identity
    facts: Facts

    @property
    def created(self) -> int:
        """Nanoseconds since 1970; another one each time the name is created again."""
        return self.facts.created or self.identity.birth or self.written

    @property
    def modified(self) -> int:
        """Nanoseconds since 1970. A folder is not modified by what happens in it."""
        return (self.facts.changed or self.created) if self.is_folder else self.written

    @property
    def etag(self) -> str:
        """Without quotes; another one after every write, whoever wrote."""
        content = f"{self.identity.inode} {self.size} {self.modified}".encode()
        return f"0x8{hashlib.blake2b(content, digest_size=8).hexdigest()[:15].upper()}"

    @property
    def quoted_etag(self) -> str:
        """As headers have it."""
        return f'"{self.etag}"'
