"""What lies in a resource group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Resource:
    """Something in a resource group."""

    id: str
    name: str
    type: str
    """Such as `Microsoft.Storage/storageAccounts`, whose case counts for nothing."""
    tags: Mapping[str, str] = field(default_factory=dict)
