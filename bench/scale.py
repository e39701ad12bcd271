"""How much is measured: all of it, or in little."""

from __future__ import annotations

from dataclasses import dataclass

from bench.measuring import WARM_UP


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The sizes of all cases. Warm-ups and fillings are not counted."""

    process_warm_up: int = WARM_UP
    """Commits of a process before anything of it counts."""
    warm_up: int = WARM_UP
    """Commits of each kind before those that count."""
    commits: int = 7
    """Counted commits of a kind."""

    tables: int = 16
    files: int = 10
    rows: int = 1_000
    """Of a file."""
    drains: int = 3
    drains_by_default: int = 2
    """Of the way that has Spark's default settings, which takes longest."""
    per_file_tables: int = 2
    per_file_files: int = 10

    small_table: int = 100_000

    large_table: int = 10_000_000
    large_changes: int = 100_000
    large_commits: int = 3
    large_warm_up: int = 1

    insert_files: int = 50
    insert_rows: int = 100_000
    insert_drains: int = 3

    adjacent_tables: tuple[int, int] = (1_000_000, 10_000_000)
    adjacent_changes: int = 10_000
    adjacent_warm_up: int = 3
    adjacent_commits: int = 5

    cold_starts: int = 3
    cold_warm_up: int = 1
    """So that whatever is kept for later starts is there, and all files are in memory."""

    up_seconds: int = 180
    up_warm_up: int = 15
    """Files before those that count."""
    up_rows: int = 625_000
    up_large_file: int = 2_500_000

    idle_tables: int = 950
    busy_tables: int = 50
    idle_rounds: int = 3
    idle_warm_up: int = 2
    idle_rest: float = 90.0
    """Seconds until tables are idle that were filled a moment ago: the status passes of `up`
    observe each of them 5, 10, 20 and 40 seconds later, and then ever more seldom."""

    backlogs: tuple[int, int] = (2_000, 10_000)
    backlog_rows: int = 100


FULL = Scale()
QUICK = Scale(
    process_warm_up=1,
    warm_up=1,
    commits=1,
    tables=2,
    files=5,
    drains=1,
    drains_by_default=1,
    per_file_files=1,
    large_table=400_000,
    large_changes=5_000,
    large_commits=1,
    large_warm_up=0,
    insert_files=10,
    insert_drains=1,
    adjacent_tables=(50_000, 500_000),
    adjacent_warm_up=1,
    adjacent_commits=1,
    cold_starts=1,
    cold_warm_up=0,
    up_seconds=6,
    up_warm_up=2,
    idle_tables=18,
    busy_tables=2,
    idle_rounds=1,
    idle_warm_up=1,
    idle_rest=0.0,  # few tables cost nothing
    backlogs=(100, 300),
)
"""Five minutes: whether all of it works, and about where the ratios lie."""
