"""All cases, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.alternatives import Alternative
from bench.cases import adjacent, cold, commit, drain, idle, inserts, large, memory, steady
from bench.cases.running import Running
from bench.figures import Measured


@dataclass(frozen=True)
class Case:
    """One thing that is measured."""

    name: str
    title: str
    run: Callable[[Running], Measured]
    needs: tuple[Alternative, ...] = ()
    """Alternatives whose processes are to be there."""
    by_name_only: bool = False
    """Whether it takes too long to be run unasked."""


CASES = (
    *(
        Case(case.NAME, case.TITLE, case.run, case.NEEDS)
        for case in (drain, commit, large, inserts, adjacent)
    ),
    Case(
        adjacent.HUGE,
        "Adjacent keys, in a table of 100 million rows",
        adjacent.run_huge,
        adjacent.NEEDS,
        by_name_only=True,
    ),
    *(Case(case.NAME, case.TITLE, case.run) for case in (cold, steady, idle, memory)),
)
