"""What is remembered of a file or folder beside its bytes, and how it is written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from openmirror.emulator.leases import FileLease


@dataclass(frozen=True)
class Access:
    """Owner and rights as clients set them. They are shown and never enforced."""

    owner: str = "$superuser"
    group: str = "$superuser"
    permissions: str = ""
    acl: str = ""


@dataclass(frozen=True)
class CopyRecord:
    """The copy that a file's content came by."""

    id: str
    source: str
    """The URL, without its query."""
    size: int
    """Bytes."""
    completed: int
    """Nanoseconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All of it has a default, so that files which came without us need no record."""

    created: int | None = None
    """Nanoseconds since 1970; None: ask the file system."""
    changed: int | None = None
    """Of folders: when their metadata were last set, as nanoseconds since 1970."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    """Headers of the content, such as `content-type`, by their names in lower case."""
    access: Access = Access()
    lease: FileLease | None = None
    blocks: tuple[tuple[str, int], ...] = ()
    """Id and size of the blocks that the content was put together from."""
    copy: CopyRecord | None = None
    """None when the content came by other ways, or was changed since."""

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps(
            {
                "created": self.created,
                "changed": self.changed,
                "metadata": dict(self.metadata),
                "properties": dict(self.properties),
                "access": vars(self.access),
                "lease": vars(self.lease) if self.lease else None,
                "blocks": self.blocks,
                "copy": vars(self.copy) if self.copy else None,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """What `to_json` wrote."""
        value = json.loads(text)
        copy = value.get("copy")  # records of earlier releases have none
        return cls(
            created=value["created"],
            changed=value["changed"],
            metadata=value["metadata"],
            properties=value["properties"],
            access=Access(**value["access"]),
            lease=FileLease(**value["lease"]) if value["lease"] else None,
            blocks=tuple((name, size) for name, size in value["blocks"]),
            copy=CopyRecord(**copy) if copy else None,
        )


NOTHING_KNOWN = Facts()
