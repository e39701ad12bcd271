"""Parameters of deployments that differ in what they make: each switch, and both ends of a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHORTEST, LONGEST = "abc", "openmirror12"


def principal(number: int, kind: str = "ServicePrincipal") -> dict[str, str]:
    """Somebody that a role is given to."""
    return {"principalId": f"00000000-0000-0000-0000-{number:012d}", "principalType": kind}


EVERYBODY: Mapping[str, Any] = {
    "publishers": [
        {**principal(1), "mirror": "sales"},
        {**principal(2), "mirror": "sales2"},
    ],
    "operators": [principal(3, "User"), principal(4, "Group")],
    "readers": [principal(5, "Group")],
    "runners": [principal(6)],
    "alertEmail": "on-call@example.com",
    "databricksJobId": "42",
    "databricksWorkspaceUrl": "https://workspace.example",
}

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "as it comes": {},
    "shortest name": {"name": SHORTEST, **EVERYBODY},
    "longest name": {"name": LONGEST, **EVERYBODY},
    "private, shortest name": {"name": SHORTEST, "privateNetwork": True, **EVERYBODY},
    "private, longest name": {"name": LONGEST, "privateNetwork": True, **EVERYBODY},
    "with a workspace": {"name": LONGEST, "createDatabricksWorkspace": True},
    "private with a workspace": {"createDatabricksWorkspace": True, "privateNetwork": True},
    "without an access connector": {"createAccessConnector": False},
}
