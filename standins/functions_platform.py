"""What the Functions platform does around an app: its queues are listened to, its timers go off."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from standins.functions_host import FunctionsHost
from standins.functions_pump import Pump
from standins.ncrontab import goes_off

_POLL_SECONDS = 0.1
_SECOND = timedelta(seconds=1)


class Platform:
    """A context manager: an app is at work in a thread, from when it is entered until it is left.

    Timers keep to the clock, as in Azure.
    """

    def __init__(self, host: FunctionsHost, pump: Pump) -> None:
        self._host = host
        self._pump = pump
        self._timers = {
            name: trigger["schedule"]
            for name in host.functions
            if (trigger := host.trigger(name))["type"] == "timerTrigger"
        }
        self._at_start = [name for name in self._timers if host.trigger(name).get("runOnStartup")]
        self._heard = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="functions", daemon=True)
        self.ended: BaseException | None = None
        """What ended it, if something did."""
        self.invoked: Counter[str] = Counter()
        """How often each function ran so far."""
        self.failed: list[tuple[str, str]] = []
        """Each invocation that failed: the function and why."""

    def check(self) -> None:
        """Raise what ended it."""
        if self.ended is not None:
            raise self.ended

    def stop(self) -> None:
        """Hand over what lies in the queues already, and then nothing more."""
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            for name in self._at_start:
                self._timer(name)
            clock = _seconds()
            stopping = False
            while not stopping:
                stopping = self._stop.wait(_POLL_SECONDS)
                self._pump.until_idle() if stopping else self._pump.turn()
                self._count()
                passed = next(clock)
                for name, schedule in self._timers.items():
                    if any(goes_off(schedule, second) for second in passed):
                        self._timer(name)
        except Exception as error:  # noqa: BLE001 - raised by check, in the thread that asks
            self.ended = error

    def _timer(self, name: str) -> None:
        self._pump.results.append((name, self._host.timer(name)))
        self._count()

    def _count(self) -> None:
        for name, result in self._pump.results[self._heard :]:
            self._heard += 1
            self.invoked[name] += 1
            if result.error is not None:
                self.failed.append((name, result.error))


def _seconds() -> Iterator[list[datetime]]:
    """At each step the whole seconds that began since the step before."""
    last = datetime.now(UTC)
    while True:
        now = datetime.now(UTC)
        first = last.replace(microsecond=0) + _SECOND
        count = max(0, (now - first) // _SECOND + 1)
        yield [first + number * _SECOND for number in range(count)]
        last = now
