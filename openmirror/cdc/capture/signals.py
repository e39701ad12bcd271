"""Asking a connector that runs for a new snapshot of one table."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Resnapshot

SIGNALS = "_signals"
"""The file in a spool's folder that the connector reads, and empties, every second."""
_AGAIN = 60.0
"""Seconds after which one that has not begun is asked for again: a connector that was killed has
forgotten what it had read."""


class SnapshotSignals:
    """Asks for each snapshot once, and again while it does not begin."""

    def __init__(self, spool: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._file = spool / SIGNALS
        self._monotonic = monotonic
        self._asked: dict[str, float] = {}
        self._connector = 0

    def ask(self, wanted: Mapping[TablePath, Resnapshot], connector: int) -> tuple[TablePath, ...]:
        """Ask for those that have not begun; the tables that were asked for now.

        `connector` is another number for one that was started anew: it may have forgotten those
        that had begun as well. Where it has not, rows come twice, which does no harm. Raises
        OSError where the file cannot be written.
        """
        asked = []
        if connector != self._connector:
            self._asked.clear()
            self._connector = connector
        for path, one in wanted.items():
            now, before = self._monotonic(), self._asked.get(one.number)
            if before is None or (one.since is None and now - before >= _AGAIN):
                self._write(path, one)
                self._asked[one.number] = now
                asked.append(path)
        return tuple(asked)

    def _write(self, path: TablePath, one: Resnapshot) -> None:
        signal = {
            "id": one.number,
            "type": "execute-snapshot",
            "data": {
                "data-collections": [re.escape(f"{path.schema}.{path.table}")],
                "type": "INCREMENTAL",
            },
        }
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(signal) + "\n")
