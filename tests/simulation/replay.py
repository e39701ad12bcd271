"""Replay one seed with a trace: `python -m tests.simulation.replay SEED [GUARD TAKEN OUT]`."""

from __future__ import annotations

import sys

from tests.simulation.mutilations import CHOSEN, mutilated
from tests.simulation.world import World


def main() -> None:
    """Print every effect of the schedule, in order, and how it ended."""
    seed, without = int(sys.argv[1]), sys.argv[2:]
    chosen = CHOSEN[without[0]] if without else None
    with mutilated(*without):
        outcome = World(seed, tell=lambda line: print(line), chosen=chosen).run()  # noqa: T201
    print(outcome)  # noqa: T201
    sys.exit(outcome.wrong is not None)


if __name__ == "__main__":
    main()
