"""What a check of a deployment found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How good that is."""

    OK = "ok"
    WARNING = "warning"
    """It works, or will; a person should know all the same."""
    FAULT = "fault"
    """It does not work, or will not."""
    UNKNOWN = "unknown"
    """It could not be checked; the finding says why."""


class Check(StrEnum):
    """What was checked; each has a row in docs/OPERATIONS.md."""

    PARAMETERS = "parameters"
    GROUP = "group"
    PROVIDERS = "providers"
    REGION = "region"
    NAMES = "names"
    RIGHTS = "rights"
    PUBLISHER_ROLE = "publisher_role"
    LOCKS = "locks"
    EARLIER = "earlier"
    WORKSPACE = "workspace"
    DEPLOYMENT = "deployment"
    APP = "app"
    FUNCTIONS = "functions"
    SETTINGS = "settings"
    ROLES = "roles"
    EVENTS = "events"
    QUEUES = "queues"
    DEAD_LETTERS = "dead_letters"
    RUNNER = "runner"
    SWEEP = "sweep"
    LOCATIONS = "locations"
    HEARTBEAT = "heartbeat"
    TABLES = "tables"
    SAMPLE = "sample"


@dataclass(frozen=True)
class Finding:
    """One thing that a check found, and what to do about it."""

    check: Check
    verdict: Verdict
    what: str
    remedy: str = ""


def ok(check: Check, what: str) -> Finding:
    """All is well."""
    return Finding(check, Verdict.OK, what)


def warning(check: Check, what: str, remedy: str) -> Finding:
    """It works, and a person should know."""
    return Finding(check, Verdict.WARNING, what, remedy)


def fault(check: Check, what: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(check, Verdict.FAULT, what, remedy)


def unknown(check: Check, what: str, remedy: str) -> Finding:
    """It could not be checked."""
    return Finding(check, Verdict.UNKNOWN, what, remedy)


def has_faults(findings: Iterable[Finding]) -> bool:
    """Whether any of them says that it does not work."""
    return any(finding.verdict is Verdict.FAULT for finding in findings)
