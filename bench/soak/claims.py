"""What a soak claims, each beside what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.soak.following import Days, Followed
from bench.soak.lasting import KEPT, LOG_KEPT, ROUNDED, Lasting

MOST_LAG = 1.2
LEAST_KILLS = 3
_CHECKPOINT = 10
"""Delta makes a checkpoint, and cleans the log, every so many commits."""


@dataclass(frozen=True)
class Claim:
    """One claim."""

    words: str
    bound: str
    seen: str
    met: bool


@dataclass(frozen=True)
class Sample:
    """One table at the end of a time with maintenance."""

    table: str
    live_files: int
    most_live_files: int
    dead_bytes: int
    """On disk, of files that the log removed."""
    most_dead_bytes: int
    log_bytes: int
    most_log_bytes: int
    missing: int
    """Files that a version within the retention needs, and that are gone."""


def sample(followed: Followed, days: Days, lasting: Lasting, *, is_vacuum_due: bool) -> Sample:
    """What there is of a table, and what its policy allows.

    - Live files: `smallFiles` are left, and each commit since a survey adds some; after
      `pressingCommits` there is a survey, whose step comes before one more batch at most. A step
      in which its runner dies comes with the next survey. Not small is a file for each 128 MiB, and
      one more.
    - Dead bytes: what was removed within the retention and the day that VACUUM catches up with; or
      all, where it has not had its turn since.
    - The log: versions within its retention, and the day by which Delta rounds; and what may come
      before the next checkpoint, twice, because versions are kept from a checkpoint on.
    """
    policy, now = lasting.policy, days.now()
    kept, window = KEPT.total_seconds(), (KEPT + ROUNDED).total_seconds()
    live, dead = dict(followed.live), dict(followed.dead)
    there = followed.lying_there()
    needed = live.keys() | {name for name, gone in dead.items() if now - gone.at < kept}
    large = sum(live.values()) // policy.written_bytes + 1
    files, log_window = followed.log_files(), (LOG_KEPT + ROUNDED).total_seconds()
    versions = sum(now - at <= log_window for at in followed.versions) + 2 * _CHECKPOINT
    return Sample(
        table=followed.table.name,
        live_files=len(live),
        most_live_files=policy.small_files
        + large
        + (policy.pressing_commits + 2) * (2 if lasting.kills else 1) * followed.most_added,
        dead_bytes=sum(size for name, size in there.items() if name in dead),
        most_dead_bytes=sum(
            gone.bytes for gone in dead.values() if now - gone.at <= window or not is_vacuum_due
        ),
        log_bytes=sum(size for _, size, _ in files),
        most_log_bytes=_most_log_bytes(files, versions),
        missing=len(needed - there.keys()),
    )


def _most_log_bytes(files: Sequence[tuple[int, int, str]], versions: int) -> int:
    """So many commits with checksums, and a checkpoint for ten of them, all as the largest."""
    commits: dict[int, int] = {}
    for version, size, name in files:
        if "checkpoint" not in name:
            commits[version] = commits.get(version, 0) + size
    checkpoints = [size for _, size, name in files if "checkpoint" in name]
    checkpoint = max(checkpoints, default=0)
    return versions * max(commits.values()) + (versions // _CHECKPOINT + 1) * checkpoint


def of_samples(samples: Iterable[Sample]) -> list[Claim]:
    """That tables stayed small, and kept what readers need: each time, and every table."""
    samples = list(samples)

    def bounded(words: str, seen: str, most: str, unit: str, per: int) -> Claim:
        ratios = [(getattr(one, seen) / max(getattr(one, most), 1), one) for one in samples]
        ratio, worst = max(ratios, key=lambda pair: pair[0])
        return Claim(
            f"{words}, {len(samples)} times (here {worst.table})",
            f"≤ {getattr(worst, most) / per:,.1f} {unit}",
            f"{getattr(worst, seen) / per:,.1f} {unit}",
            ratio <= 1,
        )

    missing = sum(one.missing for one in samples)
    return [
        bounded("live files", "live_files", "most_live_files", "files", 1),
        bounded("bytes of dead files", "dead_bytes", "most_dead_bytes", "MiB", 1 << 20),
        bounded("size of the log", "log_bytes", "most_log_bytes", "MiB", 1 << 20),
        Claim("files gone that a version of the last day needs", "0", str(missing), not missing),
    ]


def of_lags(without: Sequence[float], with_it: Sequence[float]) -> Claim:
    """That maintenance keeps nobody waiting."""
    before, after = (float(np.percentile(lags, 95)) for lags in (without, with_it))
    return Claim(
        f"p95 from landing to commit with maintenance, beside {before:.2f} s without "
        f"({len(without):,} and {len(with_it):,} files)",
        f"≤ {MOST_LAG * before:.2f} s ({MOST_LAG:g} x)",
        f"{after:.2f} s ({after / before:.2f} x)",
        after <= MOST_LAG * before,
    )


def of_rows(wrong: Sequence[str], tables: int) -> Claim:
    """That every table has the rows that its files come to."""
    seen = f"{tables - len(wrong)} of {tables}"
    words = "; ".join(["tables whose rows are those of their files", *wrong])
    return Claim(words, f"{tables} of {tables}", seen, not wrong)


def of_orphans(followed: Iterable[Followed]) -> Claim:
    """That files of no version, as killed writers leave them, go once somebody asks for it."""
    left = sum(
        len(one.lying_there().keys() - one.live.keys() - one.dead.keys()) for one in followed
    )
    words = "files of no version after a day and `openmirror maintain --full`"
    return Claim(words, "0", str(left), not left)


def of_steps(tables: Sequence[Followed]) -> Claim:
    """That there was something to see: a soak without steps proves nothing."""
    counts = {
        step: [
            sum(n for name, n in one.operations.items() if name.startswith(step)) for one in tables
        ]
        for step in ("OPTIMIZE", "REORG", "VACUUM END")
    }
    vacuums, compactions = counts["VACUUM END"], sum(counts["OPTIMIZE"])
    seen = ", ".join(f"{sum(found)} {step.partition(' ')[0]}" for step, found in counts.items())
    without = [one.table.name for one, found in zip(tables, vacuums, strict=True) if not found]
    seen += f" (no VACUUM: {', '.join(without)})" if without else ""
    return Claim(
        "steps: OPTIMIZE, and VACUUM of every table",
        "≥ 1 each",
        seen,
        bool(compactions) and all(vacuums),
    )


def of_kills(amid: dict[str, int], others: int) -> Claim:
    """That runners died amid steps."""
    seen = ", ".join(f"{amid.get(kind, 0)} amid {kind}" for kind in ("compact", "purge", "vacuum"))
    enough = min(amid.get("compact", 0) + amid.get("purge", 0), amid.get("vacuum", 0))
    return Claim(
        f"runners killed amid OPTIMIZE or REORG, and amid VACUUM ({others} at other times)",
        f"≥ {LEAST_KILLS} each",
        seen,
        enough >= LEAST_KILLS,
    )
