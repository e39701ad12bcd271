"""Publishers that die at a call of their store, before it has its effect or after."""

from __future__ import annotations

from openmirror.ports import FileStore
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore


class DyingStore(WatchedStore):
    """A store whose process dies at its n-th call; after its death nothing is asked any more."""

    def __init__(self, inner: FileStore, at: int, *, after: bool) -> None:
        super().__init__(inner, self._come, self._done)
        self._left = at
        self._after = after
        self._is_dead = False

    def _come(self, call: Call) -> None:
        assert not self._is_dead, f"a dead publisher calls {call.method}"
        self._left -= 1
        if self._left < 0 and not self._after:
            self._die(call)

    def _done(self, call: Call) -> None:
        if self._left < 0 and self._after:
            self._die(call)

    def _die(self, call: Call) -> None:
        self._is_dead = True
        raise Killed(call)
