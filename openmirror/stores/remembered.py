"""Facts of files by what they were read from, the most recently asked for first to stay."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from openmirror.plan.facts import Completeness, FileFacts


class Remembered:
    """A bounded memory of facts; safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, FileFacts] = OrderedDict()
        self._lock = threading.Lock()

    def facts(
        self, asked: Hashable, read: Callable[[], FileFacts], under: Callable[[FileFacts], Hashable]
    ) -> FileFacts:
        """What is known under `asked`, else what is read now, kept `under` its own name.

        The two differ when the file was replaced in between.
        """
        with self._lock:
            known = self._known.get(asked)
            if known is not None:
                self._known.move_to_end(asked)
                return known
        facts = read()
        # An unfinished file is read anew each time: its writer may be so quick that a store with
        # coarse clocks gives the finished content the same ETag.
        if facts.completeness is Completeness.COMPLETE:
            with self._lock:
                self._known[under(facts)] = facts
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
        return facts
