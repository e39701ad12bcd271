"""Observing many tables, or many files, at the same time, where each waits for a remote store."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from openmirror.reconcile.root_ports import RootPorts

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def side_by_side(
    ports: RootPorts, items: Iterable[_Item], observe: Callable[[_Item], _Found]
) -> list[_Found]:
    """What `observe` returns for each item, in their order; `concurrent_observations` at a time.

    Raises the error of the first item that failed, in their order, and begins no further one then.
    """
    if ports.concurrent_observations == 1:
        return [observe(item) for item in items]
    with ThreadPoolExecutor(ports.concurrent_observations, thread_name_prefix="observe") as pool:
        underway = [pool.submit(observe, item) for item in items]
        try:
            return [one.result() for one in underway]
        finally:
            pool.shutdown(cancel_futures=True)


def ahead(
    ports: RootPorts, items: Iterable[_Item], observe: Callable[[_Item], _Found]
) -> Generator[tuple[_Item, _Found], None, None]:
    """Each item with what `observe` returns for it, one after the other, while later ones go on.

    For a caller that may stop: `concurrent_observations` are underway at most, and what one of
    them raises is raised when it is its turn. Close it to leave the rest.
    """
    if ports.concurrent_observations == 1:
        yield from ((item, observe(item)) for item in items)
        return
    underway: deque[tuple[_Item, Future[_Found]]] = deque()
    with ThreadPoolExecutor(ports.concurrent_observations, thread_name_prefix="inspect") as pool:
        try:
            for item in items:
                underway.append((item, pool.submit(observe, item)))
                if len(underway) == ports.concurrent_observations:
                    first, found = underway.popleft()
                    yield first, found.result()
            while underway:
                first, found = underway.popleft()
                yield first, found.result()
        finally:
            pool.shutdown(cancel_futures=True)
