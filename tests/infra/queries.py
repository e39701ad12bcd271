"""Every query of the workbook and of the alerts, as Azure runs it: with its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.infra.kusto import Analysed, analyse
from tests.infra.telemetry_tables import SCHEMAS

MONITORING = Path(__file__).parents[2] / "infra" / "monitoring"
LAG_MINUTES = 15
GAP_MINUTES = 30
ALL = ("*",)
HOURS = 4


def quoted(picked: Sequence[str]) -> str:
    """What a picker puts into a query."""
    return ",".join(f"'{one}'" for one in picked)


def filled(
    text: str, *, mirror: Sequence[str] = ALL, table: Sequence[str] = ALL, hours: int = HOURS
) -> str:
    """A query with the values of its parameters, as the portal and Bicep put them in."""
    values: Mapping[str, str] = {
        "{TimeRange}": f"> ago({hours}h)",
        "{TimeRange:grain}": "10m",
        "{Mirror}": quoted(mirror),
        "{Table}": quoted(table),
        "{lagAlertMinutes}": str(LAG_MINUTES),
        "{gapAlertMinutes}": str(GAP_MINUTES),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def texts(folder: str) -> dict[str, str]:
    """The queries of `queries` or `alerts`, as they lie in their files."""
    return {path.stem: path.read_text() for path in sorted((MONITORING / folder).glob("*.kql"))}


@cache
def analysed() -> dict[str, Analysed]:
    """All of them, as `folder/name`, with everything picked."""
    queries = {
        f"{folder}/{name}": filled(text)
        for folder in ("queries", "alerts")
        for name, text in texts(folder).items()
    }
    return analyse(queries, SCHEMAS)


def analysis_of(text: str) -> Analysed:
    """That of a query which was composed into the workbook."""
    known = {text.strip(): f"queries/{name}" for name, text in texts("queries").items()}
    return analysed()[known[text]]
