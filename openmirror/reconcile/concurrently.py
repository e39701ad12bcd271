"""Looking at many tables at the same time, where each look waits for a far store."""

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
    """What `look` finds for each item, in their order; at most `looks_at_once` at a time.

    Raises what the first of them raised that did, and begins no further one then.
    """
    if ports.concurrent_observations == 1:
        return [observe(item) for item in items]
    with ThreadPoolExecutor(ports.concurrent_observations, thread_name_prefix="look") as pool:
        underway = [pool.submit(observe, item) for item in items]
        try:
            return [one.result() for one in underway]
        finally:
            pool.shutdown(cancel_futures=True)
