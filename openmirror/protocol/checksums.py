"""The checksum of a file's bytes, by which the same content is recognised under another ETag.

It is always taken here, over bytes that were read: the checksums of a store are mostly missing, or
are only what its client claimed.
"""

from __future__ import annotations

import hashlib
from typing import NewType

Checksum = NewType("Checksum", str)
"""The name of the algorithm and the checksum in hexadecimal digits: `sha256:…`."""


class RunningChecksum:
    """Takes a file's bytes in their order."""

    def __init__(self) -> None:
        self._sum = hashlib.sha256()
        self.size = 0
        """Bytes so far."""

    def update(self, data: bytes) -> None:
        """The next bytes."""
        self._sum.update(data)
        self.size += len(data)

    @property
    def checksum(self) -> Checksum:
        """That of all bytes so far."""
        return Checksum(f"sha256:{self._sum.hexdigest()}")
