"""The runner as a process: argv → settings → wiring → service → exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from spark_jobs.arguments import Arguments, parse

_SERVE_SECONDS = 0.2


def main() -> None:
    """Run with the process's own arguments; ends it with 1 when something could not be done.

    Returns when all is well: a wheel task takes any exit, even one with 0, for a failure.
    """
    code = run(sys.argv[1:], os.environ)
    if code:
        sys.exit(code)


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """The exit code of one run: 0, or 1 when something could not be done."""
    arguments = parse(argv, env)
    # After --help and wrong arguments, which need neither these nor what they import.
    from openmirror.errors import OpenmirrorError, shown
    from spark_jobs.lines import say

    try:
        return _work(arguments)
    except OpenmirrorError as error:
        say(shown(error, arguments.env))
        return 1


def _work(arguments: Arguments) -> int:
    from openmirror import wiring
    from openmirror.errors import CannotStart
    from openmirror.runtime.stop_signals import stop_signals
    from openmirror.settings import Settings, refuse_unknown
    from spark_jobs.lines import log_event, say

    refuse_unknown(arguments.given)
    settings = Settings.load(arguments.env, {"root": arguments.root, "relay": arguments.relay})
    if settings.relay and not arguments.continuous:
        raise CannotStart(
            "--relay (OPENMIRROR_RELAY) goes with --continuous: a stream of a database has no end, "
            "and a runner that waits for one would never be idle"
        )
    with (
        wiring.runner(
            settings, arguments.env, arguments.mirrors, emit=log_event, say=say
        ) as working,
        stop_signals() as stop,
    ):
        say(f"at work on {settings.root}, {'for good' if arguments.continuous else 'until idle'}")
        try:
            while not stop.is_set() and (arguments.continuous or not working.is_idle()):
                working.serve(_SERVE_SECONDS)
        finally:
            run_result = working.stop()
    for what, reason in run_result.failed.items():
        say(f"{what} failed: {reason}")
    for folder in run_result.abandoned:
        say(f"abandoned {folder} midway; whoever comes next goes on there, exactly once")
    say("stopped" if stop.is_set() else "nothing more to do")
    return 1 if run_result.failed else 0


if __name__ == "__main__":
    main()
