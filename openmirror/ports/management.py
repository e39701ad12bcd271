"""What Azure itself knows of a subscription and of one deployment in it.

Every method raises AccessDenied, naming the right that is missing, Unavailable when Azure cannot
be reached, and CannotStart when it does not know who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.ports.resources import Resource


@dataclass(frozen=True)
class Group:
    """A resource group."""

    id: str
    name: str
    location: str


@dataclass(frozen=True)
class Permission:
    """What one role lets the caller do."""

    actions: tuple[str, ...]
    not_actions: tuple[str, ...] = ()
    condition: str = ""
    """Under which alone it holds; empty without one."""


@dataclass(frozen=True)
class Lock:
    """Something that keeps resources from being changed or deleted."""

    id: str
    name: str
    level: str
    """`CanNotDelete` or `ReadOnly`."""


@dataclass(frozen=True)
class NameAnswer:
    """Whether a name that is unique in all of Azure can be had."""

    free: bool
    why: str = ""


class DeploymentState(StrEnum):
    """How far a deployment is."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Cancelled as well: some of it may be there."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One deployment of a resource group, as Azure remembers it."""

    name: str
    state: DeploymentState
    at: datetime | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    publisher_role: str = ""
    """The GUID of the role that publishers were given; empty where it records none."""


@dataclass(frozen=True)
class App:
    """A Function App."""

    state: str
    """`Running` or `Stopped`."""
    functions: frozenset[str]
    disabled: frozenset[str] = frozenset()
    """Those of them that are switched off."""


@dataclass(frozen=True)
class EventSubscription:
    """Where events go."""

    state: str
    account: str
    """The storage account of the queue; empty when they go elsewhere."""
    queue: str
    kinds: frozenset[str]
    """Event types that are let through; empty for all."""
    subject: str = ""
    """How the subject of an event begins that is let through."""


@dataclass(frozen=True)
class Assignment:
    """A role that a principal has."""

    id: str
    role: str
    """The role's GUID."""
    scope: str
    conditioned: bool = False


class Subscription(Protocol):
    """What is asked before something is deployed; changes nothing."""

    def tenant(self) -> str:
        """The tenant that the subscription trusts."""
        ...

    def group(self, name: str) -> Group | None:
        """The resource group; None when there is none."""
        ...

    def providers(self, names: Iterable[str]) -> Mapping[str, bool]:
        """Which of these resource providers are registered."""
        ...

    def flex_regions(self) -> frozenset[str]:
        """The regions that offer Flex Consumption, in any spelling."""
        ...

    def flex_pythons(self, region: str) -> frozenset[str]:
        """The versions of Python that Flex Consumption has in a region, such as `3.13`."""
        ...

    def permissions(self, group: str | None) -> list[Permission]:
        """What the caller may do at the group, or at the subscription."""
        ...

    def roles(self, group: str | None) -> Mapping[str, str]:
        """The roles that can be given at the group, or in the subscription: name by GUID."""
        ...

    def locks(self, group: str) -> list[Lock]:
        """All locks on the group and in it."""
        ...

    def account_name(self, name: str) -> NameAnswer:
        """Whether a storage account may be called so."""
        ...

    def site_name(self, name: str) -> NameAnswer:
        """Whether a Function App may be called so."""
        ...

    def deployments(self, group: str) -> list[Deployment]:
        """All deployments that the group remembers, the newest first."""
        ...

    def resources(self, group: str) -> list[Resource]:
        """Everything in the group."""
        ...


class Deployed(Protocol):
    """What is asked of a deployment that is there; changes nothing."""

    def deployments(self, group: str) -> list[Deployment]:
        """All deployments that the group remembers, the newest first."""
        ...

    def app(self, group: str, name: str) -> App | None:
        """The Function App; None when it is gone."""
        ...

    def app_settings(self, group: str, name: str) -> Mapping[str, str]:
        """The Function App's settings; NotThere when it is gone."""
        ...

    def event_subscription(self, group: str, topic: str, name: str) -> EventSubscription | None:
        """A system topic's subscription; None when it, or its topic, is gone."""
        ...

    def topic_principal(self, group: str, topic: str) -> str | None:
        """The system topic's own identity; None when it has none, or is gone."""
        ...

    def assignments(self, group: str, principal: str) -> list[Assignment]:
        """Every role that a principal has in the group: on it, and on all that is in it."""
        ...
