"""A run of the bench for people, for a document, and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from bench.alternatives import ALL
from bench.figures import Measured, shown
from bench.targets import Verdict


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole run."""

    measured: Sequence[Measured]
    verdicts: Sequence[Verdict]
    machine: Mapping[str, str]
    settings: Mapping[str, Mapping[str, str]]
    """Of the alternatives that have some."""
    loads: Sequence[float]
    """Load averages, at the start and after each case."""
    quick: bool
    seconds: float
    failed: Mapping[str, str] = field(default_factory=dict)
    """Cases without figures, and why."""


Rows = list[list[str]]


def rows_of(measured: Measured) -> tuple[list[str], Rows]:
    """The headings and rows of a case's table, the ratios to openmirror in the figures."""
    names = {figure.at.by for figure in measured.figures}
    columns = [alternative for alternative in ALL if alternative.name in names]
    by_line: dict[str, dict[str, str]] = {}
    for figure in measured.figures:
        by_line.setdefault(figure.at.line, {})[figure.at.by] = shown(figure.value, figure.unit)
    headings = ["", *(column.title for column in columns)]
    rows = [
        [line, *(cells.get(column.name, "") for column in columns)]
        for line, cells in by_line.items()
    ]
    return headings, rows


_TARGET_HEADINGS = ["", "target", "seen", "met"]


def target_rows(verdicts: Sequence[Verdict]) -> Rows:
    """The rows of the table of targets."""
    return [[one.target.words, one.target.bound, one.shown, _met(one)] for one in verdicts]


def _met(one: Verdict) -> str:
    return "met" if one.met else "missed"


def show(report: Report, console: Console) -> None:
    """Print it for people."""
    for measured in report.measured:
        _print_table(console, measured.title, *rows_of(measured))
        console.print(f"{measured.scale}\n", soft_wrap=True)
    if report.verdicts:
        _print_table(console, "Targets", _TARGET_HEADINGS, target_rows(report.verdicts))
    for line in about(report):
        console.print(line, soft_wrap=True)


def _print_table(console: Console, title: str, headings: list[str], rows: Rows) -> None:
    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def markdown(report: Report) -> str:
    """It as a part of a document."""
    lines = []
    for measured in report.measured:
        lines += [f"### {measured.title}", "", *_markdown_table(*rows_of(measured)), ""]
        lines += [f"{measured.scale}.", ""]
    if report.verdicts:
        rows = target_rows(report.verdicts)
        lines += ["### Targets", "", *_markdown_table(_TARGET_HEADINGS, rows), ""]
    return "\n".join([*lines, *(f"{line}  " for line in about(report))])


def _markdown_table(headings: list[str], rows: Rows) -> list[str]:
    rule = ["---", *("---:" for _ in headings[1:])]
    return [f"| {' | '.join(row)} |" for row in (headings, rule, *rows)]


def about(report: Report) -> list[str]:
    """What the figures depend on, a line each."""
    kind = "--quick: fewer and smaller tables than in a whole run" if report.quick else "whole run"
    return [
        *(f"FAILED: {name}: {reason.splitlines()[0]}" for name, reason in report.failed.items()),
        f"{kind}; medians; took {report.seconds:.0f} s; each table was checked against its files",
        ", ".join(f"{name} {value}" for name, value in report.machine.items()),
        f"load average at the start and after each case: {', '.join(map(str, report.loads))}",
    ]


def as_values(report: Report) -> dict[str, object]:
    """It for programs."""
    return {
        "quick": report.quick,
        "seconds": report.seconds,
        "machine": dict(report.machine),
        "settings": {name: dict(values) for name, values in report.settings.items()},
        "loads": list(report.loads),
        "failed": dict(report.failed),
        "cases": [asdict(measured) for measured in report.measured],
        "targets": [{**asdict(one), "met": one.met} for one in report.verdicts],
    }
