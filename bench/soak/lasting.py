"""How long a soak takes, and the policy of its tables: one follows from the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from openmirror.plan.maintenance_steps import MaintenancePolicy
from openmirror.plan.retention import SHORTEST

_DEFAULTS = MaintenancePolicy()
KEPT = SHORTEST
"""How long files stay that left their table: `retentionInDays` 1."""
LOG_KEPT = timedelta(days=5)
"""How long Delta keeps the log, which by default is 30 days beside 7."""
PASSES = timedelta(hours=49)
"""What is put behind the tables between two runs of the runner: more than VACUUM waits at most,
which is the retention and a day, so that each run has one of every table."""
ROUNDED = timedelta(days=1)
"""VACUUM catches up with a day, and Delta cleans its log by whole days."""


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """One soak."""

    runs: int
    """Of the runner."""
    warm_up: float
    """Seconds at the start of each, which do not count."""
    phase: float
    """Seconds of each of the two phases of a run: with maintenance, and without."""
    seed_rows: int
    """Of the large table."""
    kills: bool
    policy: MaintenancePolicy = field(default_factory=MaintenancePolicy)

    @property
    def uncounted(self) -> float:
        """Seconds after the mode of maintenance has changed that count for neither."""
        return min(5.0, self.phase / 5)

    @classmethod
    def of(cls, minutes: float, *, kills: bool) -> Self:
        """A soak of so many minutes.

        In an hour ten days pass, so a table is surveyed four times as often as by default: else its
        VACUUM would not have its turn. A shorter soak has its steps at shorter distances.
        """
        runs = 5 if minutes >= 20 else 2
        whole = minutes * 60 / runs
        warm_up = min(60.0, whole / 6)
        pressing = max(4, min(_DEFAULTS.pressing_commits // 4, int(minutes)))
        return cls(
            runs=runs,
            warm_up=warm_up,
            phase=(whole - warm_up) / 2,
            seed_rows=300_000 if minutes >= 5 else 2_000,
            kills=kills,
            policy=MaintenancePolicy(
                every_commits=min(_DEFAULTS.every_commits, pressing),
                pressing_commits=pressing,
                small_files=min(_DEFAULTS.small_files, max(1, pressing // 3)),
            ),
        )

    def settings(self, tables: dict[str, Any], *, maintenance: str) -> dict[str, Any]:
        """mirroring.json."""
        bounds = {
            "everyCommits": self.policy.every_commits,
            "pressingCommits": self.policy.pressing_commits,
            "smallFiles": self.policy.small_files,
        }
        return {
            "properties": {"target": {"typeProperties": {"retentionInDays": KEPT.days}}},
            "openmirror": {
                "shortRetention": True,
                "maintenance": maintenance,
                "maintenanceBounds": bounds,
                "tables": tables,
            },
        }
