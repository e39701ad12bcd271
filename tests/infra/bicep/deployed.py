"""What a deployment has made, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000001"
GROUP = f"{SUBSCRIPTION}/resourceGroups/rg-mirrors"
STORAGE = "core.windows.net"
MODULE = "Microsoft.Resources/deployments"


@dataclass(frozen=True)
class Deployed:
    """One resource: what it is, where, and what it is made with."""

    type: str
    name: str  # with the names of what it stands in: account/default/landing
    id: str
    scope: str  # the id of what it is about: its group, or the resource that it extends
    body: Mapping[str, Any]
    path: str
    line: int
    symbol: str
    module: str  # the module of the first template that it comes from; empty: that template
    existing: bool = False
    made: bool = True  # its condition holds

    @property
    def properties(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.body.get("properties") or {}
        return found


@dataclass(frozen=True)
class Deployment:
    """Everything that a template and its modules make, look up, and return."""

    resources: tuple[Deployed, ...]
    existing: tuple[Deployed, ...]
    outputs: Mapping[str, Any]

    def of(self, kind: str) -> list[Deployed]:
        return [each for each in self.resources if each.type == kind]
