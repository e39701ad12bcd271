"""Looking at many tables at the same time, where each look waits for a far store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from openmirror.services.parts import Parts

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def side_by_side(
    parts: Parts, items: Iterable[_Item], look: Callable[[_Item], _Found]
) -> list[_Found]:
    """What `look` finds for each item, in their order; at most `looks_at_once` at a time.

    Raises what the first of them raised that did, and begins no further one then.
    """
    if parts.looks_at_once == 1:
        return [look(item) for item in items]
    with ThreadPoolExecutor(parts.looks_at_once, thread_name_prefix="look") as pool:
        underway = [pool.submit(look, item) for item in items]
        try:
            return [one.result() for one in underway]
        finally:
            pool.shutdown(cancel_futures=True)
