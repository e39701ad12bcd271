"""A process that may die anywhere: nothing of it goes on, and nothing is given back."""

from __future__ import annotations

from openmirror.ports import Step, Steps


class Killed(BaseException):
    """The process has died here; nothing of the product catches it."""


def dies_at(place: Step) -> Steps:
    """Steps of a process that dies when it gets there."""

    def steps(step: Step) -> None:
        if step is place:
            raise Killed(step)

    return steps
