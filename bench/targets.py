"""What is wanted, each once, and whether figures meet it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.figures import Figure, Line


@dataclass(frozen=True)
class Target:
    """A bound for a figure, or for a figure divided by another one."""

    words: str
    of: Line
    over: Line | None = None
    at_least: float | None = None
    at_most: float | None = None
    """One of both is given."""

    @property
    def bound(self) -> str:
        """What is wanted, for people."""
        sign, bound = ("≥", self.at_least) if self.at_least is not None else ("≤", self.at_most)
        return f"{sign} {bound:g} x" if self.over else f"{sign} {bound:g}"


@dataclass(frozen=True)
class Verdict:
    """A target, and what was seen of it."""

    target: Target
    seen: float

    @property
    def met(self) -> bool:
        """Whether it is as wanted."""
        least, most = self.target.at_least, self.target.at_most
        return (least is None or self.seen >= least) and (most is None or self.seen <= most)

    @property
    def shown(self) -> str:
        """What was seen, for people."""
        return f"{self.seen:.2f} x" if self.target.over else f"{self.seen:.2f}"


def verdicts_on(targets: Iterable[Target], figures: Iterable[Figure]) -> list[Verdict]:
    """Those targets whose figures were measured."""
    values: Mapping[Line, float] = {figure.at: figure.value for figure in figures}
    found = []
    for target in targets:
        if target.of not in values or (target.over and target.over not in values):
            continue
        seen = values[target.of]
        if target.over:
            seen /= values[target.over]
        found.append(Verdict(target, seen))
    return found


_OURS = "openmirror"
_DRAIN = "changes a second"
TARGETS = (
    Target(
        "drain of many tables, beside a MERGE per file",
        Line("drain", _DRAIN, _OURS),
        Line("drain", _DRAIN, "per-file"),
        at_least=60,
    ),
    Target(
        "drain of many tables, beside one MERGE by hand",
        Line("drain", _DRAIN, _OURS),
        Line("drain", _DRAIN, "by-hand"),
        at_least=6,
    ),
    Target(
        "drain of many tables, beside one MERGE by hand, tuned",
        Line("drain", _DRAIN, _OURS),
        Line("drain", _DRAIN, "by-hand-tuned"),
        at_least=1.5,
    ),
    *(
        Target(
            f"warm commit, {mix}, beside a MERGE by hand, tuned",
            Line("commit", mix, _OURS),
            Line("commit", mix, "by-hand-tuned"),
            at_most=0.6,
        )
        for mix in ("mixed", "upserts only", "deletes only")
    ),
    Target(
        "warm commit, mixed, with soft deletes, beside hard ones",
        Line("commit", "mixed, soft deletes", _OURS),
        Line("commit", "mixed, hard deletes", _OURS),
        at_most=1.2,
    ),
    Target(
        "warm commit, mixed, of a table and its history, beside a table alone",
        Line("commit", "mixed, with a history", _OURS),
        Line("commit", "mixed, hard deletes", _OURS),
        at_most=2.2,
    ),
    Target(
        "warm commit, inserts only, beside a plain append",
        Line("commit", "inserts only", _OURS),
        Line("commit", "inserts only", "append"),
        at_most=1.3,
    ),
    *(
        Target(
            f"large table {how}, {what}, beside delta-rs",
            Line("large", f"{mix}{by}", _OURS),
            Line("large", mix, "delta-rs"),
            at_most=most,
        )
        for how, by in (("as it is by default", ""), ("with deletion vectors", ", with vectors"))
        for mix, what, most in (("upserts only", "upserts only", 1), ("mixed", "with deletes", 1.5))
    ),
    Target(
        "drain of inserts, beside a plain append",
        Line("inserts", "rows a second", _OURS),
        Line("inserts", "rows a second", "append"),
        at_least=0.9,
    ),
    *(
        Target(
            f"adjacent keys: the {larger} table beside the small one",
            Line(case, f"{larger} table", _OURS),
            Line(case, "small table", _OURS),
            at_most=1.5,
        )
        for case, larger in (("adjacent", "large"), ("adjacent-100m", "huge"))
    ),
    Target(
        "cold start to the first applied batch, beside a plain session",
        Line("cold", "to the first commit", _OURS),
        Line("cold", "to the first commit", "plain-session"),
        at_most=0.75,
    ),
    Target(
        "a file a second through `up`: p95 from landed to committed, in seconds",
        Line("up", "landed to committed, p95", _OURS),
        at_most=5,
    ),
    Target(
        "a file a second through `up`: files more that wait at the end than amid",
        Line("up", "growth of the backlog", _OURS),
        at_most=1,
    ),
    Target(
        "a single file of 2.5 million rows through `up`, in seconds",
        Line("up", "one large file", _OURS),
        at_most=15,
    ),
    Target(
        "busy tables beside idle ones, and alone",
        Line("idle", "busy tables beside idle ones", _OURS),
        Line("idle", "busy tables alone", _OURS),
        at_most=1.1,
    ),
    Target(
        "peak memory of a long backlog, beside that of a short one",
        Line("memory", "peak, long backlog", _OURS),
        Line("memory", "peak, short backlog", _OURS),
        at_most=1.15,
    ),
)
