"""What a rule of the catalogue is, and what can come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from openmirror.conformance.evidence import Evidence


class RuleSeverity(StrEnum):
    """What becomes of data when a rule is broken."""

    ERROR = "error"
    """A table stops, or rows are lost, repeated or misread."""
    WARNING = "warning"
    """The mirror goes on, but something may be lost by bad luck, or comes late."""
    ADVICE = "advice"
    """It works, at a price."""


class Basis(StrEnum):
    """What a rule is assessed by."""

    ZONE = "zone"
    """What lies in the landing zone."""
    REQUESTS = "requests"
    """What the publisher asked of the account."""
    FAULTS = "faults"
    """What it asked after an injected fault."""


class RuleState(StrEnum):
    """What came of one rule."""

    KEPT = "kept"
    BROKEN = "broken"
    UNTRIED = "untried"
    """Nothing was seen that could have broken it: it never counts as kept."""


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One place where a rule is broken."""

    what: str
    """What is wrong there, in words."""
    place: str | None = None
    """The file or folder, from the landing zone on."""
    request: int | None = None
    """The number of the request that did it, counted from 1."""
    at: datetime | None = None
    """When it was seen."""
    remedy: str | None = None
    """What ends it, where that is something else than for other breaches of the rule."""


@dataclass(frozen=True)
class Untried:
    """Nothing was seen that the rule could have been broken by, and what that would have been."""

    why: str


Assess = Callable[[Evidence], Iterable[Breach] | Untried]
"""How a rule is assessed: its breaches, none where it is kept."""


@dataclass(frozen=True, kw_only=True)
class ConformanceRule:
    """One rule that a publisher keeps, breaks or leaves untried."""

    id: str
    section: str
    """Of PROTOCOL.md: `3.7` is rule 7 of §3 where §3 has no such heading."""
    severity: RuleSeverity
    says: str
    """What a publisher does that keeps it."""
    assess: Assess
    remedy: str
    basis: Basis


def rule(
    basis: Basis,
    id: str,
    section: str,
    severity: RuleSeverity,
    says: str,
    assess: Assess,
    remedy: str,
) -> ConformanceRule:
    """The rule, written as a line of a table: all tables of rules have this order."""
    return ConformanceRule(
        id=id,
        section=section,
        severity=severity,
        says=says,
        assess=assess,
        remedy=remedy,
        basis=basis,
    )


@dataclass(frozen=True)
class Assessed:
    """What came of one rule, and why."""

    rule: ConformanceRule
    state: RuleState
    breaches: tuple[Breach, ...] = ()
    why: str = ""
    """Why it is untried."""


def assess(rules: Iterable[ConformanceRule], evidence: Evidence) -> tuple[Assessed, ...]:
    """Each rule against everything that was seen, in the order of the catalogue."""
    return tuple(_assessed(rule, rule.assess(evidence)) for rule in rules)


def _assessed(rule: ConformanceRule, found: Iterable[Breach] | Untried) -> Assessed:
    if isinstance(found, Untried):
        return Assessed(rule, RuleState.UNTRIED, why=found.why)
    breaches = tuple(found)
    return Assessed(rule, RuleState.BROKEN if breaches else RuleState.KEPT, breaches)
