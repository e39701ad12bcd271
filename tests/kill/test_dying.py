"""A runner that dies in this process is as dead as one whose process was killed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from openmirror.ports import Lease, Step
from openmirror.protocol.names import TableFolder, TablePath
from tests.kill.dying import Death, Killed

FOLDER = TableFolder("m", TablePath("", "t"))


class Outside:
    """A port that remembers what it was asked; its leases as well."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def write(self) -> None:
        self.asked.append("write")

    def release(self) -> None:
        self.asked.append("release")

    def renew(self) -> bool:
        self.asked.append("renew")
        return True

    def take(self, folder: TableFolder) -> Lease:
        return self


@contextmanager
def _tidying(port: Outside) -> Iterator[None]:
    try:
        yield
    finally:
        port.write()


def test_nothing_that_still_runs_of_the_dead_reaches_the_outside() -> None:
    outside, death = Outside(), Death(Step.DECIDED, 1)
    port = death.port(outside)
    lease = death.leases(outside).take(FOLDER)
    assert lease is not None
    port.write()
    assert lease.renew()
    with pytest.raises(Killed), _tidying(port):
        death(Step.DECIDED)
    assert death.came
    for deed in (port.write, lease.renew, lease.release, lambda: death(Step.OBSERVED)):
        with pytest.raises(Killed):
            deed()
    assert outside.asked == ["write", "renew"]


def test_whoever_comes_earlier_stands_still_and_dies_with_the_last() -> None:
    death, passed = Death(Step.FOLDED, 2), []

    def first() -> None:
        death(Step.OBSERVED)
        with suppress(Killed):
            death(Step.FOLDED)
            passed.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    assert not death.came
    with pytest.raises(Killed):
        death(Step.FOLDED)
    thread.join(10)
    assert not thread.is_alive()
    assert passed == []
