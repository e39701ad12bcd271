"""Clocks that tests turn forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Stands still at `start` but for what a test turns; without a start it goes, as the system's.

    `ahead` is how far it was turned.
    """

    def __init__(self, start: datetime | None = START) -> None:
        self._start = start
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return (self._start or datetime.now(UTC)) + self.ahead

    def turn(self, duration: timedelta) -> None:
        self.ahead += duration

    def turn_to(self, moment: datetime) -> None:
        """Also backwards, as the clock of another machine may be."""
        self.ahead += moment - self()


class Seconds:
    """A clock of this process alone: stands still at what a test says."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
