"""`python -m tests.publishing.program ZONE`: a source of 40 batches, which says what landed."""

from __future__ import annotations

import sys

from openmirror.publishing import BatchLimits, Publisher, PublisherOptions

BATCHES = 40
ROWS = 5


def batch(position: int) -> list[dict[str, int]]:
    return [{"id": position * ROWS + n} for n in range(ROWS)]


def main() -> None:
    options = PublisherOptions(limits=BatchLimits(rows=3, seconds=None))
    with Publisher(sys.argv[1], options=options).table("T", key=["id"], source="s") as table:
        first = -1 if table.position is None else int(table.position)
        for position in range(first + 1, BATCHES):
            table.insert(batch(position), position=position)
            table.flush()
            sys.stdout.write(f"{position}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
