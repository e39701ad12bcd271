"""`python -m bench`: openmirror beside other ways, on the same files in one run."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.alternatives import Alternative
from bench.alternatives.settings import DEFAULT, HEAP, TUNED
from bench.cases.catalogue import CASES, Case
from bench.cases.running import Running
from bench.ending import ended_cleanly
from bench.figures import Measured
from bench.measuring import load, machine
from bench.options import refuse_given
from bench.report import Report, as_values, markdown, rows_of, show
from bench.scale import FULL, QUICK, Scale
from bench.targets import TARGETS, verdicts_on

_NAMES = [case.name for case in CASES]


def chosen(text: str | None) -> list[Case]:
    """The cases that are named, with commas between them; without a text all that run unasked.

    Raises typer.BadParameter.
    """
    if text is None:
        return [case for case in CASES if not case.by_name_only]
    named = [name.strip() for name in text.split(",")]
    if unknown := [name for name in named if name not in _NAMES]:
        raise typer.BadParameter(f"there is no case {unknown[0]!r}; there are {', '.join(_NAMES)}")
    return [case for case in CASES if case.name in named]


def bench(
    ctx: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and smaller tables: five minutes.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(metavar="CASE[,CASE]", help="Only these cases."),
    ] = None,
    commits: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Counted commits of a kind in the case commit."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables in Markdown, for a document.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write the JSON to this file, whatever is printed."),
    ] = None,
) -> None:
    """Measure openmirror beside other ways to do the same, on the same files, and print ratios.

    \b
      openmirror      the product, as the command line has it
      MERGE per file  by hand: the last change of each key by a window, one MERGE for each file
      by hand         the same over all files of a drain, one MERGE; Spark's and Delta's defaults
      by hand, tuned  the same, with settings and a schema that small commits want
      delta-rs        its MERGE, of files read and reduced by pyarrow
      plain append    rows written as they come, tuned: what Spark can do at most

    \b
    Cases:
      drain           many tables with many files each, 70/20/10 updates, inserts, deletes
      commit          1,000 changes into a warm table of 100,000 rows, by kind
      large           100,000 changes of keys all over a table of 10 million rows
      inserts         a backlog of large files that only insert
      adjacent        changes of keys in a row, into tables of 1 and of 10 million rows
      adjacent-100m   the same with 100 million rows; only by --only: four minutes, 15 GB of disk
      cold            from the start of a process to its first commit
      up              a 1 MB file a second through `openmirror up`, for three minutes
      idle            50 busy tables beside 950 idle ones, and alone
      memory          the peak of `openmirror drain` over backlogs of 2,000 and of 10,000 files

    Alternatives run in processes of their own, those with the same Spark settings in one. They are
    warmed up, and then take turns commit by commit, so that whatever else the machine does hits
    all of them; medians count. Each table is checked against what its files come to before a
    figure is shown. Ratios of one run mean something on a machine that does other things; seconds
    do not. A whole run takes about 40 minutes on two cores, 12 GB of memory and 10 GB of disk
    below $TMPDIR. A run that was recorded is in docs/PERFORMANCE.md.

    \b
    Examples:
      python -m bench --quick
      python -m bench --only drain,commit --markdown
      python -m bench --save bench.json
      python -m bench soak
    """
    if ctx.invoked_subcommand is not None:
        refuse_given(ctx, f"is not for {ctx.invoked_subcommand}, whose own options follow it")
        return
    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown exclude each other")
    if save is not None and not save.parent.is_dir():
        raise typer.BadParameter(f"{save.parent} is not a folder", param_hint="--save")
    cases = chosen(only)
    scale = QUICK if quick else FULL
    if commits is not None:
        scale = replace(scale, commits=commits)
    report = _run(cases, scale, quick)
    text = json.dumps(as_values(report), indent=2)
    if save is not None:
        save.write_text(text + "\n")
    if as_json:
        print(text)
    elif as_markdown:
        print(markdown(report))
    else:
        show(report, Console(highlight=False))
    if report.failed:
        raise typer.Exit(1)


def _run(cases: Sequence[Case], scale: Scale, quick: bool) -> Report:
    about = Console(stderr=True, highlight=False)
    began, loads = time.monotonic(), [round(load(), 1)]
    measured: list[Measured] = []
    failed: dict[str, str] = {}
    with ended_cleanly(), tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:

        def say(line: str) -> None:
            about.print(f"{time.monotonic() - began:5.0f} s  {line}", soft_wrap=True)

        running = Running(Path(folder), scale, say)
        try:
            for number, case in enumerate(cases):
                started = time.monotonic()
                try:
                    running.start(case.needs)
                    found = case.run(running)
                except RuntimeError as error:  # the other cases still say something
                    failed[case.name] = str(error)
                    say(f"{case.name} FAILED: {error}")
                    running.keep(())
                else:
                    measured.append(replace(found, seconds=round(time.monotonic() - started, 1)))
                    _say_figures(say, found)
                loads.append(round(load(), 1))
                running.keep(_needed(cases[number + 1 :]))
        finally:
            running.keep(())
    return Report(
        measured=measured,
        verdicts=verdicts_on(TARGETS, (figure for one in measured for figure in one.figures)),
        machine=machine(),
        settings={
            "openmirror": {"driver_memory": HEAP},
            "spark-default": DEFAULT,
            "spark-tuned": TUNED,
        },
        loads=loads,
        failed=failed,
        quick=quick,
        seconds=round(time.monotonic() - began, 1),
    )


def _say_figures(say: Callable[[str], None], measured: Measured) -> None:
    """So that a run which is stopped has shown something."""
    headings, rows = rows_of(measured)
    for line, *cells in rows:
        values = (f"{name} {cell}" for name, cell in zip(headings[1:], cells, strict=True) if cell)
        say(f"{measured.case}, {line}: {', '.join(values)}")


def _needed(cases: Iterable[Case]) -> set[Alternative]:
    return {alternative for case in cases for alternative in case.needs}
