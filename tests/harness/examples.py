"""How many examples a random test draws: few in `./dev test`, since every run draws others."""

from __future__ import annotations

import os

TIMES = "OPENMIRROR_EXAMPLES"
"""So many times as many; the soak asks for it."""


def examples(count: int) -> int:
    return count * int(os.environ.get(TIMES, "1"))
