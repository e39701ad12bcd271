"""The course of a soak: a publisher who never stops, and runs of a runner with days between."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.soak.ageing import age, set_property
from bench.soak.claims import (
    Claim,
    Sample,
    of_kills,
    of_lags,
    of_orphans,
    of_rows,
    of_samples,
    of_steps,
    sample,
)
from bench.soak.following import Days, Followed
from bench.soak.lasting import LOG_KEPT, PASSES, Lasting
from bench.soak.runner import Runner
from bench.soak.tables import Kind, SoakTable
from bench.workload import Place
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.table import layout

_EVERY = 1.0
"""Seconds between two files of a table."""
_POLL = 0.1
_PATIENCE = 600.0
_TURN = 60.0
_AMID = 0.6
"""How often a step is chosen as the time to die, of those that begin."""
_LATEST_IN_A_STEP, _LATEST = 3.0, 90.0
"""Seconds after a step has begun, and after the start."""


@dataclass
class Course:
    """One soak over a root that is empty at first."""

    root: Path
    lasting: Lasting
    runner: Runner
    say: Callable[[str], None]
    maintain_fully: Callable[[], None]
    """`openmirror maintain --full`, while no runner is there."""
    kinds: Sequence[Kind]
    seed: str = "soak"
    days: Days = field(default_factory=Days)
    samples: list[Sample] = field(default_factory=list)
    lags: dict[str, list[float]] = field(default_factory=lambda: {"off": [], "auto": []})
    amid: Counter[str] = field(default_factory=Counter)
    other_kills: int = 0

    def __post_init__(self) -> None:
        """Declare the tables."""
        self._place = Place(self.root, "soak")
        self._tables = [
            SoakTable(self._place, one, f"{self.seed} {one.name}") for one in self.kinds
        ]
        self._followed = [Followed(table.path, self.days) for table in self._tables]
        self._draw = random.Random(self.seed)
        self._due = 0.0

    def run(self) -> list[Claim]:
        """All of it; raises RuntimeError when the runner ends by itself or stands still."""
        self._set("off")
        self._land()
        try:
            for number in range(self.lasting.runs):
                self.say(f"run {number + 1} of {self.lasting.runs}")
                self.runner.start()
                if self.lasting.kills:
                    self._run_with_kills()
                else:
                    self._run_in_phases(auto_first=bool(number % 2))
                if number + 1 < self.lasting.runs:
                    self.runner.stop()
                    self._let_days_pass()
            self._until_applied("all that was published", self._landed(), publishes=False)
        finally:
            self.runner.stop()
        self._follow()
        steps = of_steps(self._followed)
        self._let_days_pass()
        self.say("days pass, and `openmirror maintain --full`")
        self.maintain_fully()
        self.say("comparing rows")
        self._follow()
        return self._claims(steps)

    def operations(self) -> dict[str, dict[str, int]]:
        """How often each table's log has which operation."""
        return {one.table.name: dict(one.operations) for one in self._followed}

    def _claims(self, steps: Claim) -> list[Claim]:
        wrong = [words for table in self._tables if (words := table.check())]
        claims = [of_rows(wrong, len(self._tables)), *of_samples(self.samples)]
        claims += [steps, of_orphans(self._followed)]
        if self.lasting.kills:
            return [*claims, of_kills(self.amid, self.other_kills)]
        return [*claims, of_lags(self.lags["off"], self.lags["auto"])]

    def _run_in_phases(self, *, auto_first: bool) -> None:
        self._set("off")
        began = time.monotonic()
        self._until_applied("what had landed before", self._landed())
        self._go_on(began + self.lasting.warm_up - time.monotonic())
        for mode in ("auto", "off") if auto_first else ("off", "auto"):
            self._phase(mode)

    def _phase(self, mode: str) -> None:
        self._set(mode)
        first, began = [len(one.versions) for one in self._followed], time.time()
        landed = self._landed()
        vacuums = [one.vacuums for one in self._followed]
        self._go_on(self.lasting.phase)
        if mode == "auto":
            # On a slow machine some table may not have had its turn: it gets more time.
            more = time.monotonic() + max(self.lasting.phase, _TURN)
            while time.monotonic() < more and not self._had_its_turn(vacuums):
                self._tick()
            self._sample(first)
        ends = self._landed()
        self._until_applied("what landed in the phase", ends)
        lags = [
            lag
            for table, followed, before, last in zip(
                self._tables, self._followed, landed, ends, strict=True
            )
            for sequence, lag in followed.lags(table.landed).items()
            if before < sequence <= last and table.landed[sequence] > began + self.lasting.uncounted
        ]
        self.lags[mode] += lags
        self.say(f"maintenance {mode}: {self._words()}")

    def _had_its_turn(self, vacuums: Sequence[int]) -> bool:
        """Whether something was compacted, and every table with old files vacuumed."""
        if not any(one.operations["OPTIMIZE"] for one in self._followed):
            return False
        return not self.days.ahead or all(
            one.vacuums > before for one, before in zip(self._followed, vacuums, strict=True)
        )

    def _run_with_kills(self) -> None:
        self._set("auto")
        began = time.monotonic()
        ends, first = began + 2 * self.lasting.phase, [len(one.versions) for one in self._followed]
        until = began + self._draw.uniform(0, _LATEST)
        seen = self._begun()
        while time.monotonic() < ends:
            self._tick()
            begun = self._begun()
            fresh = [name for name, step in begun.items() if step != seen.get(name) and step]
            seen = begun
            if fresh and self._draw.random() < _AMID:
                self._go_on(self._draw.uniform(0, _LATEST_IN_A_STEP))
            elif time.monotonic() < until:
                continue
            self._kill(fresh)
            seen, until = self._begun(), time.monotonic() + self._draw.uniform(10, _LATEST)
        self._until_applied("what had landed before", self._landed())
        self._go_on(self.lasting.warm_up)
        self._sample(first)

    def _kill(self, fresh: list[str]) -> None:
        self.runner.kill(leaves_jvm=self._draw.random() < 0.5)
        amid = {step["kind"] for name, step in self._begun().items() if name in fresh and step}
        self.amid.update(amid)
        self.other_kills += not amid
        self.say(f"killed{' amid ' + ' and '.join(sorted(amid)) if amid else ''}: {self._words()}")
        self.runner.start()

    def _begun(self) -> dict[str, Any]:
        """Of each table the step that has begun and not ended, by its control document."""
        return {
            table.name: ((_document(self._control(table)).get("maintenance") or {}).get("begun"))
            for table in self._tables
        }

    def _sample(self, first: list[int]) -> None:
        self._follow()
        for followed, before in zip(self._followed, first, strict=True):
            commits = len(followed.versions) - before
            due = commits >= 3 * self.lasting.policy.pressing_commits
            self.samples.append(sample(followed, self.days, self.lasting, is_vacuum_due=due))

    def _let_days_pass(self) -> None:
        """While no runner is there."""
        self._follow()
        for table in self._tables:
            if not self.days.ahead:
                set_property(
                    table.path, "delta.logRetentionDuration", f"interval {LOG_KEPT.days} days"
                )
            age(table.path, self._control(table), PASSES)
        self.days.pass_by(PASSES)

    def _control(self, table: SoakTable) -> Path:
        folder = TableFolder(self._place.mirror, TablePath("", table.name))
        return self.root / layout.control_document(folder)

    def _set(self, maintenance: str) -> None:
        tables = {f"dbo.{one.name}": one.settings for one in self.kinds if one.settings}
        document = self.lasting.settings(tables, maintenance=maintenance)
        file = self.root / layout.mirror_settings(self._place.mirror)
        file.parent.mkdir(parents=True, exist_ok=True)
        staged = file.with_suffix(".new")
        staged.write_text(json.dumps(document))
        staged.rename(file)

    def _until_applied(self, what: str, through: Sequence[int], *, publishes: bool = True) -> None:
        """Go on until each table has come so far; raises RuntimeError when that takes minutes."""
        ends = time.monotonic() + _PATIENCE
        while any(one.position < last for one, last in zip(self._followed, through, strict=True)):
            if time.monotonic() > ends:
                raise RuntimeError(f"{what} is not applied after {_PATIENCE:.0f} s")
            self._tick(publishes=publishes)

    def _landed(self) -> list[int]:
        """The newest sequence of each table."""
        return [table.sequence for table in self._tables]

    def _go_on(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._tick()

    def _tick(self, *, publishes: bool = True) -> None:
        self.runner.check()
        if publishes and time.monotonic() >= self._due:
            self._land()
        self._follow()
        time.sleep(_POLL)

    def _land(self) -> None:
        now = time.monotonic()
        self._due = max(now, self._due + _EVERY) if self._due else now + _EVERY
        for table in self._tables:
            table.land()

    def _follow(self) -> None:
        for followed in self._followed:
            followed.follow()

    def _words(self) -> str:
        return ", ".join(
            f"{one.table.name} {len(one.versions)} versions, {len(one.live)} live files"
            for one in self._followed
        )


def _document(file: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return document
