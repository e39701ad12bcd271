"""What was found of a database, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.cdc.postgresql.requirements import FindingLevel, SourceFinding
from openmirror.cli.findings_table import with_remedy

_STYLES = {
    FindingLevel.ERROR: "red",
    FindingLevel.WARNING: "yellow",
    FindingLevel.NOTE: "cyan",
}


def source_findings_table(found: Iterable[SourceFinding]) -> Table:
    """One row each, with what meets the requirement below it."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    shown.add_column("", no_wrap=True)
    shown.add_column("found", overflow="fold")
    for one in found:
        level = Text(one.level, style=_STYLES[one.level])
        shown.add_row(level, with_remedy(one.what, one.remedy))
    return shown
