"""What passes by itself ends no capture for good, and what does not is raised at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmirror.cdc.capture.kept import KeptCapture
from openmirror.cdc.capture.process import CaptureFailed, CaptureInterrupted, CaptureProcess


class Ending(CaptureProcess):
    """A process that has not ended until it is given its end."""

    def __init__(self) -> None:
        self.how: CaptureFailed | None = None

    def check(self) -> None:
        if self.how is not None:
            raise self.how

    def kill(self) -> None:
        """There is nothing to kill."""


class Scene:
    def __init__(self, fails: Callable[[int], bool] = lambda start: False) -> None:
        self.now = 0.0
        self.made: list[Ending] = []
        self.lines: list[str] = []
        self._starts = 0
        self._fails = fails
        self.kept = KeptCapture(self._begin, self.lines.append, lambda: self.now)

    def _begin(self) -> CaptureProcess:
        self._starts += 1
        if self._fails(self._starts):
            raise CaptureInterrupted("the server is away")
        self.made.append(Ending())
        return self.made[-1]

    def after(self, seconds: float) -> int:
        """How often it has begun by then."""
        self.now += seconds
        self.kept.check()
        return self.kept.starts


def test_one_that_was_interrupted_is_begun_again_after_a_while() -> None:
    scene = Scene()
    scene.made[0].how = CaptureInterrupted("the server went away")
    assert [scene.after(s) for s in (0.1, 0.5, 0.6)] == [1, 1, 2]
    assert "tried again in 1 s: the server went away" in scene.lines[0]
    assert scene.lines[1:] == ["capturing again"]


def test_a_server_that_stays_away_is_asked_less_and_less_often() -> None:
    scene = Scene(lambda start: 1 < start < 6)
    scene.made[0].how = CaptureInterrupted("the server went away")
    scene.after(0)
    for wait in (1, 5, 15, 60):
        assert scene.after(wait - 0.1) == 1
        assert scene.after(0.2) == 1
    assert scene.after(60.1) == 2


def test_what_does_not_pass_is_raised() -> None:
    scene = Scene()
    scene.made[0].how = CaptureFailed("the slot is gone")
    with pytest.raises(CaptureFailed, match="gone"):
        scene.after(1)


def test_one_that_cannot_even_begin_once_says_so() -> None:
    with pytest.raises(CaptureInterrupted, match="away"):
        Scene(lambda start: True)
