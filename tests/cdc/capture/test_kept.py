"""What passes by itself ends no capture for good, and what does not is raised at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot
from openmirror.cdc.capture.kept import KeptCapture
from openmirror.cdc.capture.process import CaptureFailed, CaptureInterrupted, CaptureProcess
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Resnapshot


class Ending(CaptureProcess):
    """A process that has not ended until it is given its end."""

    def __init__(self) -> None:
        self.how: CaptureFailed | None = None

    def check(self) -> None:
        if self.how is not None:
            raise self.how

    def kill(self) -> None:
        """There is nothing to kill."""

    def stop(self, seconds: float = 15.0) -> None:
        """Nor to stop."""


class Scene:
    def __init__(self, fails: Callable[[int], bool] = lambda start: False) -> None:
        self.now = 0.0
        self.made: list[Ending] = []
        self.lines: list[str] = []
        self.wanted: dict[TablePath, Resnapshot] = {}
        self.may_take = True
        self.taken: list[str | None] = []
        self._starts = 0
        self._fails = fails
        self.kept = KeptCapture(
            self._begin, lambda: self.may_take, self.lines.append, lambda: self.now
        )

    def _begin(self, asked: AskedSnapshot | None) -> CaptureProcess:
        self._starts += 1
        self.taken.append(asked and asked.number)
        if self._fails(self._starts):
            raise CaptureInterrupted("the server is away")
        self.made.append(Ending())
        return self.made[-1]

    def after(self, seconds: float) -> int:
        """How often it has begun by then."""
        self.now += seconds
        self.kept.check(self.wanted)
        return len(self.made)


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


def test_new_snapshots_are_taken_one_after_another() -> None:
    scene = Scene()
    orders, lines = TablePath("public", "orders"), TablePath("public", "lines")
    scene.wanted = {orders: Resnapshot("1"), lines: Resnapshot("2")}
    for _ in range(3):
        scene.after(1)
    assert scene.taken == [None, "2"]
    del scene.wanted[lines]
    for _ in range(3):
        scene.after(1)
    assert scene.taken == [None, "2", "1"]
    assert scene.lines == [f"{path}: a new snapshot of it is taken" for path in (lines, orders)]


def test_one_that_has_ended_amid_a_snapshot_is_asked_for_it_again() -> None:
    scene = Scene()
    orders = TablePath("public", "orders")
    scene.wanted = {orders: Resnapshot("1")}
    scene.after(0)
    scene.made[-1].how = CaptureInterrupted("a snapshot of a table failed")
    scene.after(0)
    scene.wanted = {orders: Resnapshot("another", attempts=2)}
    scene.after(1)
    assert scene.taken == [None, "1", "another"]


def test_the_first_snapshot_is_not_given_up_for_one_of_a_table() -> None:
    scene = Scene()
    scene.may_take = False
    scene.wanted = {TablePath("public", "orders"): Resnapshot("1")}
    scene.after(1)
    assert scene.taken == [None]
    scene.may_take = True
    scene.after(1)
    assert scene.taken == [None, "1"]
