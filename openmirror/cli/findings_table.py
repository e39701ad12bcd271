"""Findings for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.deployment.rules.findings import Finding, Verdict

_STYLES = {
    Verdict.OK: "green",
    Verdict.WARNING: "yellow",
    Verdict.FAULT: "red",
    Verdict.UNKNOWN: "magenta",
}


def findings_table(findings: Iterable[Finding]) -> Table:
    """One line for each, with its remedy below."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    shown.add_column("check", no_wrap=True)
    shown.add_column("", no_wrap=True)
    shown.add_column("found", overflow="fold")
    for finding in findings:
        text = Text(finding.what)
        if finding.remedy:
            text.append(f"\n{finding.remedy}", style="bold")
        verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
        shown.add_row(finding.check, verdict, text)
    return shown


def findings_json(findings: Iterable[Finding]) -> dict[str, object]:
    """The same for programs."""
    return {
        "data": [
            {
                "check": finding.check,
                "verdict": finding.verdict,
                "what": finding.what,
                "remedy": finding.remedy,
            }
            for finding in findings
        ]
    }
