"""Observing many tables at the same time, where each observation waits for a remote store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
