"""Replay one seed with a trace: `python -m tests.simulation.replay SEED`."""

from __future__ import annotations

import sys

from tests.simulation.world import World


def main() -> None:
    """Print every effect of the schedule, in order, and how it ended."""
    outcome = World(int(sys.argv[1]), tell=lambda line: print(line)).run()  # noqa: T201
    print(outcome)  # noqa: T201
    sys.exit(outcome.wrong is not None)


if __name__ == "__main__":
    main()
