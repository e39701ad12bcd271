"""Replay one seed with a trace: `python -m tests.simulation.replay SEED [MUTATION ...]`.

`--ledger` before the seed replays the schedule of a table with a ledger.
"""

from __future__ import annotations

import sys

from tests.simulation.mutations import chosen_for, mutated
from tests.simulation.schedule import Schedule


def main() -> None:
    """Print every effect of the schedule, in order, and how it ended."""
    has_ledger = sys.argv[1] == "--ledger"
    seed, *without = sys.argv[2:] if has_ledger else sys.argv[1:]
    chosen = chosen_for(int(seed), *without, has_ledger=has_ledger)
    with mutated(*without):
        outcome = Schedule(int(seed), emit=lambda line: print(line), chosen=chosen).run()  # noqa: T201
    print(outcome)  # noqa: T201
    sys.exit(outcome.wrong is not None)


if __name__ == "__main__":
    main()
