"""Publishers side by side in one thread: before each call of the store another may go first."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from greenlet import getcurrent, greenlet

from openmirror.ports import FileStore
from tests.harness.stores import Call, WatchedStore

_MOST_TURNS = 20_000


class Turns:
    """Actors over one store, and whose turn it is; one seed is one schedule."""

    def __init__(self, store: FileStore, seed: int) -> None:
        self._store = store
        self._rng = Random(seed)
        self._main = getcurrent()
        self._actors: list[greenlet] = []

    def store(self) -> WatchedStore:
        """The store as one actor has it: before each of its calls the others may act."""
        return WatchedStore(self._store, before=self._pause)

    def add(self, act: Callable[[], None]) -> None:
        """Somebody who acts."""
        self._actors.append(greenlet(act, self._main))

    def run(self) -> None:
        """Let all of them act until each has ended."""
        for _ in range(_MOST_TURNS):
            alive = [actor for actor in self._actors if not actor.dead]
            if not alive:
                return
            # Long stalls of one actor, while others do much, are what makes numbers old.
            chosen = self._rng.choice(alive)
            for _ in range(self._rng.choice([1, 1, 3, 12, 40])):
                if not chosen.dead:
                    chosen.switch()
        raise AssertionError("the schedule does not end")

    def _pause(self, call: Call) -> None:
        if getcurrent() is not self._main:
            self._main.switch()
