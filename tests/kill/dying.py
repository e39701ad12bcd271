"""Runners of this process that die at a step, without the cost of a process and its JVM.

A runner that is killed does nothing more: it releases nothing, gives nothing back and writes
nothing down. So from its death on none of its ports works for it any more, and whatever still runs
of it (`finally`, timers, other workers) ends at the next thing that it asks of the outside.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from openmirror.ports import Lease, Leases, Step
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.root_ports import RootPorts

_PATIENCE = 120.0
"""Seconds; only a test that hangs ever waits so long."""


class Killed(SystemExit):
    """Nothing of the product catches it, and a thread that it ends says nothing of it."""


class Death:
    """Steps at which a runner dies, once it has come to one of them `count` times.

    Whoever comes earlier stands still there, so that it dies with that many tables at the very
    same step.
    """

    def __init__(self, at: Step, count: int) -> None:
        self._at = at
        self._left = count
        self._lock = threading.Lock()
        self._came = threading.Event()

    @property
    def came(self) -> bool:
        """Whether the runner is dead."""
        return self._came.is_set()

    def __call__(self, step: Step) -> None:
        self.check()
        if step is not self._at:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._came.set()
        assert self._came.wait(_PATIENCE), f"too few tables came to {step}"
        raise Killed(step)

    def check(self) -> None:
        """Go no further when the runner is dead."""
        if self.came:
            raise Killed(self._at)

    def ports(self, ports: RootPorts) -> RootPorts:
        """The parts of the runner that is to die."""
        return replace(
            ports,
            store=self.port(ports.store),
            inspector=self.port(ports.inspector),
            logs=self.port(ports.logs),
            steps=self,
        )

    def port(self, port: Any) -> Any:
        """A port of the runner that is to die."""
        return _Port(port, self)

    def leases(self, leases: Leases) -> Leases:
        """Its leases: nobody gives them back."""
        return _Leases(leases, self)


class _Port:
    """Another port until a death."""

    def __init__(self, port: Any, death: Death) -> None:
        self._port = port
        self._death = death

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._until_death(found) if callable(found) else found

    def _until_death(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def asked(*words: Any, **more: Any) -> Any:
            self._death.check()
            return method(*words, **more)

        return asked


class _Leases:
    def __init__(self, leases: Leases, death: Death) -> None:
        self._leases = leases
        self._death = death

    def take(self, folder: TableFolder) -> Lease | None:
        self._death.check()
        lease = self._leases.take(folder)
        return lease and self._death.port(lease)
