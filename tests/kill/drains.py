"""Drains that die at a step, in this process or as processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from openmirror.ports import Step
from openmirror.runtime.draining import drain
from tests.kill.driver import MOST_WORKERS, OBSERVATIONS_OF_A_DROP
from tests.kill.dying import Death, Killed
from tests.kill.runners import killed_at
from tests.zone import MIRROR, Mirror


def runners_that_die(mirror: Mirror, processes: Collection[Step]) -> Callable[[Step, int], None]:
    """What makes a runner die at a step with so many tables; at these steps it is a process."""

    def dies(step: Step, count: int) -> None:
        if step in processes:
            killed_at(mirror.zone, step, count)
        else:
            _dies_at(mirror, step, count)

    return dies


def _dies_at(mirror: Mirror, step: Step, count: int) -> None:
    """Another runner of this process works like one of its own, and dies at this step."""
    death = Death(step, count)
    another = mirror.with_steps(death)
    ports, engine = death.ports(another.ports), death.port(another.engine)
    with suppress(Killed):
        for _ in range(OBSERVATIONS_OF_A_DROP):
            drain(ports, engine, [MIRROR], MOST_WORKERS)
    assert death.came, f"too few tables came to {step}"
