"""`python -m bench soak`: does a mirror last?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.alternatives.process import clean_environment
from bench.ending import ended_cleanly
from bench.measuring import load, machine
from bench.soak.course import Course
from bench.soak.lasting import Lasting
from bench.soak.runner import Up
from bench.soak.tables import kinds


def soak(
    minutes: Annotated[
        float, typer.Option(min=0.5, max=24 * 60, help="How long, without starts and checks.")
    ] = 60.0,
    kills: Annotated[
        bool, typer.Option("--kills", help="Kill the runner again and again, most of all in steps.")
    ] = False,
    seed: Annotated[str, typer.Option(help="Chooses rows, and times to die.")] = "soak",
    save: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write claims and samples to this file.")
    ] = None,
) -> None:
    """Five tables, each with a file a second: do they stay small, quick and exact?

    A publisher inserts, updates, upserts and deletes rows of a bounded set of keys, all the time.
    `openmirror up` applies them in several runs (five in an hour) and maintains the tables. Between
    two runs two days are put behind the tables, because files are kept for a day at least: logs,
    files and control documents are dated back while no runner is there. So each run but the first
    has files that VACUUM must delete. What is not shortened: steps, batches, and what they do to
    each other. The bounds of maintenance are defaults, but for `pressingCommits`, a quarter of it.

    Each run has a phase with `maintenance: off` and one with `auto`, which change places from run
    to run; the time from landing to commit is compared between them. With --kills it is always
    `auto`, the runner dies by SIGKILL, and no time is compared.

    \b
    Claims, each met or missed; exit code 1 when one is missed:
      rows            of every table those that its files come to, by a reader that is not Spark
      live files      as few as maintenanceBounds promise
      dead files      none older than the retention and the day that VACUUM catches up with, and
                      none gone that a version within the retention needs
      the log         as long as Delta's own retention of it
      files of none   that killed writers leave: gone after `openmirror maintain --full`
      lag             p95 with maintenance at most 1.2 x that without
      kills           at least three amid OPTIMIZE or REORG, and three amid VACUUM

    \b
    Examples:
      python -m bench soak
      python -m bench soak --minutes 20 --kills --save soak.json
    """
    if save is not None and not save.parent.is_dir():
        raise typer.BadParameter(f"{save.parent} is not a folder", param_hint="--save")
    about, console = Console(stderr=True, highlight=False), Console(highlight=False)
    began, before = time.monotonic(), load()

    def say(line: str) -> None:
        about.print(f"{time.monotonic() - began:5.0f} s  {line}", soft_wrap=True)

    with ended_cleanly(), tempfile.TemporaryDirectory(prefix="openmirror-soak-") as folder:
        root, log = Path(folder) / "root", Path(folder) / "runner.log"
        lasting = Lasting.of(minutes, kills=kills)
        course = Course(
            root=root,
            lasting=lasting,
            kinds=kinds(lasting.seed_rows),
            runner=Up(root, log),
            say=say,
            maintain_fully=lambda: _maintain_fully(root, log),
            seed=seed,
        )
        try:
            claims = course.run()
        except RuntimeError as error:
            say(f"FAILED: {error}")
            raise typer.Exit(1) from error
    for claim in claims:
        met = "met   " if claim.met else "MISSED"
        line = f"{met}  {claim.words}: {claim.seen}, claimed {claim.bound}"
        console.print(line, soft_wrap=True)
    facts = {"minutes": str(minutes), "seed": seed, **machine()}
    console.print(", ".join(f"{name} {value}" for name, value in facts.items()), soft_wrap=True)
    console.print(f"load average {before:.1f} before, {load():.1f} after", soft_wrap=True)
    if save is not None:
        result = {
            **facts,
            "kills": kills,
            "claims": [asdict(claim) for claim in claims],
            "samples": [asdict(one) for one in course.samples],
            "operations": course.operations(),
        }
        save.write_text(json.dumps(result, indent=2) + "\n")
    if not all(claim.met for claim in claims):
        raise typer.Exit(1)


def _maintain_fully(root: Path, log: Path) -> None:
    with log.open("ab") as output:
        code = subprocess.run(
            [sys.executable, "-m", "openmirror.cli", "maintain", "--full", "--root", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=clean_environment(),
            check=False,
        ).returncode
    if code:
        raise RuntimeError(f"maintain ended with {code}:\n{log.read_text()[-3000:]}")
