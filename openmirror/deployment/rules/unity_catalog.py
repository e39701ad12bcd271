"""What Unity Catalog does on the lake account besides giving access to it."""

from __future__ import annotations

from collections.abc import Iterable

from openmirror.deployment.rules.findings import Check, Finding, ok, unknown, warning
from openmirror.ports.workspace import ExternalLocation


def check_locations(account: str, seen: Iterable[ExternalLocation]) -> list[Finding]:
    """Whether Unity Catalog keeps file events of its own on the lake account.

    Azure allows an account one system topic, and that is the deployment's.
    """
    ours = [one for one in seen if f"@{account}." in one.url]
    if not ours:
        return [
            unknown(
                Check.LOCATIONS,
                f"no external location of {account} is there, or you may not see it",
                "docs/RUNNER.md#once-for-a-workspace makes them; its owner sees them.",
            )
        ]
    found = [
        warning(
            Check.LOCATIONS,
            f"Unity Catalog has file events on for {one.name}: it would make a queue and an event "
            f"subscription of its own on {account}, for which Azure allows one system topic",
            f"databricks external-locations update {one.name} --json "
            "'{\"enable_file_events\": false}'",
        )
        for one in ours
        if one.file_events
    ]
    found += [
        unknown(
            Check.LOCATIONS,
            f"the workspace does not say whether file events are on for {one.name}",
            f"See it in the Catalog Explorer: they must be off for {one.name}.",
        )
        for one in ours
        if one.file_events is None
    ]
    names = ", ".join(sorted(one.name for one in ours))
    return found or [ok(Check.LOCATIONS, f"Unity Catalog keeps no file events of its own: {names}")]
