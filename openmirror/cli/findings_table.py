"""Findings for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.deployment.rules.findings import Finding, Verdict
from openmirror.operate.validate import Validated

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
        text = with_remedy(finding.what, finding.remedy)
        verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
        shown.add_row(finding.check, verdict, text)
    return shown


def with_remedy(what: str, remedy: str | None) -> Text:
    """What was found, and below it what ends it."""
    text = Text(what)
    if remedy:
        text.append(f"\n{remedy}", style="bold")
    return text


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


def validated_lines(checked: Validated, folder: str) -> Iterator[str]:
    """What was checked, and each finding with its remedy."""
    where = f" ({described(checked)})" if checked.folder else ""
    if not checked.findings:
        yield f"{folder}{where}: nothing is wrong"
        return
    if where:
        yield f"{folder}{where}"
    for finding in checked.findings:
        kind = "stops" if finding.stops else "warning"
        of = f" {finding.file}" if finding.file else ""
        yield f"{kind}{of} ({finding.rule}): {finding.detail}\n  {finding.remedy}"


def described(checked: Validated) -> str:
    """Which table folder it was, and what it was compared with."""
    assert checked.folder is not None
    seen = checked.seen
    if seen is None:
        return f"the table folder {checked.folder}, which no mirror here has applied yet"
    return f"the table folder {checked.folder}, applied up to {seen.applied}"


def validated_json(checked: Validated) -> dict[str, object]:
    """The same for programs; `folder` is null for a folder that lies in no landing zone."""
    seen = checked.seen
    return {
        "folder": {
            "mirror": checked.folder.mirror,
            "path": str(checked.folder.path),
            "appliedSequence": str(seen.applied) if seen is not None else None,
        }
        if checked.folder
        else None,
        "data": [
            {
                "rule": finding.rule,
                "file": finding.file,
                "detail": finding.detail,
                "remedy": finding.remedy,
                "stops": finding.stops,
            }
            for finding in checked.findings
        ],
    }
