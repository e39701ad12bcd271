"""Event Grid at its worst: events that are lost, sent twice, and out of order."""

from __future__ import annotations

import base64
import json
import random
import threading
from collections import Counter
from typing import Any

from azure.storage.queue import QueueClient


class Mangled:
    """Puts events on the queue as Event Grid does; which of them suffer is drawn from a seed."""

    def __init__(
        self, queue: QueueClient, draw: random.Random, lost: float = 0.3, twice: float = 0.3
    ) -> None:
        self._queue = queue
        self._draw = draw
        self._lost = lost
        self._twice = twice
        self._held: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in one event, in the thread of the request that raised it."""
        with self._lock:
            self.counts["raised"] += 1
            if self._draw.random() < self._lost:
                self.counts["lost"] += 1
                return
            self._held.append(event)
            if self._draw.random() < self._twice:
                self.counts["twice"] += 1
                self._held.append(event)
            if len(self._held) >= 6:
                self._send()

    def flush(self) -> None:
        """Deliver what is still held back."""
        with self._lock:
            self._send()

    def _send(self) -> None:
        self._draw.shuffle(self._held)
        for event in self._held:
            self._queue.send_message(base64.b64encode(json.dumps(event).encode()).decode())
        self._held.clear()
