"""The runner's command line, which wins over the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PREFIX = "OPENMIRROR_"

_EPILOG = """\
Every setting is an environment variable, such as OPENMIRROR_ROOT; --set wins over it. Where a job
has no environment of its own, all of them can be given so:

  openmirror-runner --root https://contoso.dfs.core.windows.net \\
      --set queues__queueServiceUri=https://contosowork.queue.core.windows.net --set workers=8

Exit code: 0, also when tables wait or are paused; 1 when something could not be done.
"""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """One run of the runner."""

    root: str | None
    mirrors: tuple[str, ...]
    continuous: bool
    """Whether it goes on until it is stopped."""
    relay: bool | None
    """Whether it lands declared streams; None leaves that to the environment."""
    env: Mapping[str, str]
    """The environment, with what `--set` says over it."""
    given: Sequence[str]
    """The names of settings that `--set` has."""


def parse(argv: Sequence[str], env: Mapping[str, str]) -> Arguments:
    """Read a command line; ends the process with 2 and a message when it is wrong."""
    parser = argparse.ArgumentParser(
        prog="openmirror-runner",
        description="Apply change files to their Delta tables, by the work items of `table-work`.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--root", help="the storage account's URL, or a folder: OPENMIRROR_ROOT")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="NAME",
        help="sweep this mirror and write its status; may be repeated; default: all",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--until-idle",
        action="store_true",
        help="end when the queue has stayed empty for OPENMIRROR_RUNNER_IDLE (the default)",
    )
    mode.add_argument("--continuous", action="store_true", help="go on until stopped")
    parser.add_argument(
        "--relay",
        action="store_true",
        default=None,
        help="also land the streams of databases that mirroring.json declares, which takes "
        "--continuous: OPENMIRROR_RELAY (docs/SOURCES.md)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting, as its environment variable without OPENMIRROR_",
    )
    found = parser.parse_args(argv)
    names, options = list[str](), dict[str, str]()
    for text in found.set:
        name, equals, value = text.partition("=")
        if not name or not equals:
            parser.error(f"--set {text!r} is not NAME=VALUE")
        names.append(name)
        options[_variable(name)] = value
    return Arguments(
        root=found.root,
        mirrors=tuple(found.mirror),
        continuous=found.continuous,
        relay=found.relay,
        env={**env, **options},
        given=names,
    )


def _variable(name: str) -> str:
    """`workers` is OPENMIRROR_WORKERS; what follows two underscores keeps its case."""
    first, underscores, rest = name.partition("__")
    return PREFIX + first.upper() + underscores + rest
