"""Findings of checks that ask somebody, whatever the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from openmirror.deployment.rules.findings import Check, Finding, fault, unknown
from openmirror.errors import (
    AccessDenied,
    ConditionFailed,
    DocumentUnreadable,
    NotThere,
    OpenmirrorError,
    Unavailable,
    WrongRequest,
)

_REMEDIES: dict[type[OpenmirrorError], str] = {
    AccessDenied: "Ask for that role, or let somebody ask who has it.",
    Unavailable: "Try again; where a firewall or a private network is in the way, from inside.",
    WrongRequest: "Correct what it names, and ask again.",
}


def asked(check: Check, run: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a check found; one `unknown` that says why when it could not be made.

    CannotStart passes: where Azure does not know who asks, no other check finds anything either.
    """
    try:
        return list(run())
    except NotThere as error:
        return [fault(check, str(error), "Deploy again: it was there, and is gone.")]
    except (
        AccessDenied,
        ConditionFailed,
        DocumentUnreadable,
        Unavailable,
        WrongRequest,
    ) as error:
        return [unknown(check, str(error), _REMEDIES.get(type(error), "Try again."))]
