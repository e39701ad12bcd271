"""What came of a check, for people: what is broken first, then what was kept and what untried."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.conformance.report import located, remedies, section
from openmirror.conformance.rules import Assessed, RuleSeverity, RuleState
from openmirror.protocol.counts import counted

_STYLES = {
    RuleSeverity.ERROR: "red",
    RuleSeverity.WARNING: "yellow",
    RuleSeverity.ADVICE: "cyan",
}
_MOST_BREACHES = 10


def check_table(assessed: Sequence[Assessed]) -> Table:
    """A row for each broken rule with its breaches and remedy; the other rules by name."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    shown.add_column("rule", no_wrap=True)
    shown.add_column("", no_wrap=True)
    shown.add_column("found", overflow="fold")
    for severity in RuleSeverity:
        for one in assessed:
            if one.state is RuleState.BROKEN and one.rule.severity is severity:
                shown.add_row(one.rule.id, Text(severity, style=_STYLES[severity]), _broken(one))
    kept = [one.rule.id for one in assessed if one.state is RuleState.KEPT]
    if kept:
        shown.add_row(
            counted(len(kept), "rule"), Text("kept", style="green"), Text(", ".join(kept))
        )
    for why, names in _untried(assessed).items():
        text = Text(why)
        text.append(f"\n{', '.join(names)}", style="dim")
        shown.add_row(counted(len(names), "rule"), Text("untried", style="magenta"), text)
    return shown


def _broken(one: Assessed) -> Text:
    text = Text(f"{one.rule.says} ({section(one)})")
    for breach in one.breaches[:_MOST_BREACHES]:
        text.append(f"\n{located(breach)}")
    more = len(one.breaches) - _MOST_BREACHES
    if more > 0:
        text.append(f"\nand {more} more")
    for remedy in remedies(one):
        text.append(f"\n{remedy}", style="bold")
    return text


def _untried(assessed: Sequence[Assessed]) -> dict[str, list[str]]:
    """Why rules were not tried, with the rules of each reason."""
    found: dict[str, list[str]] = {}
    for one in assessed:
        if one.state is RuleState.UNTRIED:
            found.setdefault(one.why, []).append(one.rule.id)
    return found
