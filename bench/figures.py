"""What was measured, as values."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Literal

Unit = Literal["s", "rows/s", "MiB", "files", "ratio"]


@dataclass(frozen=True)
class Line:
    """Where a figure stands: the case, its line, and the alternative that it is of."""

    case: str
    line: str
    by: str


@dataclass(frozen=True)
class Figure:
    """One figure, of all its runs."""

    at: Line
    unit: Unit
    runs: tuple[float, ...]
    """At least one, in the order of time."""

    @property
    def value(self) -> float:
        """The median."""
        return median(self.runs)


@dataclass(frozen=True)
class Measured:
    """What one case found."""

    case: str
    title: str
    scale: str
    """How large it was, in words."""
    figures: tuple[Figure, ...]
    seconds: float = 0.0
    """All that it took, warm-ups included."""


def shown(value: float, unit: Unit) -> str:
    """A figure for people."""
    match unit:
        case "s":
            return f"{value:.2f} s"
        case "ratio":
            return f"{value:.2f}"
        case "rows/s" | "MiB":
            return f"{value:,.0f} {unit}"
        case "files":
            return f"{value:.1f} files"
