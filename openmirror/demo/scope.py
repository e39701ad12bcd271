"""How much of the year a demo shows, and when in it something special happens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

WEATHER_EVERY = 3
"""Days of weather in a change file."""


@dataclass(frozen=True)
class Scope:
    """From `history_from` flights are an initial load, from `days_from` they come day by day."""

    history_from: date
    days_from: date
    until: date
    """The last day."""
    seconds_per_day: float
    """How fast the publisher lets the days pass."""

    @property
    def days(self) -> list[date]:
        """Every day that is published as it happens."""
        count = (self.until - self.days_from).days + 1
        return [self.days_from + timedelta(days=number) for number in range(count)]

    @property
    def spread_from(self) -> date:
        """From this day on weather has one column more."""
        third = len(self.days) // 3
        return self.days[third - third % WEATHER_EVERY]  # where a file begins

    @property
    def airports_again(self) -> date:
        """On this day the folder of airports is deleted and made anew."""
        return self.days[len(self.days) * 2 // 3]


# Airline 9E was renamed on the first of August 2013, so that is where the days begin.
FULL = Scope(date(2013, 1, 1), date(2013, 8, 1), date(2013, 12, 31), seconds_per_day=0.5)
FAST = Scope(date(2013, 7, 1), date(2013, 8, 1), date(2013, 8, 10), seconds_per_day=1.0)

RENAMED_AIRLINE = "9E"
NAME_BEFORE = "Pinnacle Airlines Inc."
METRES_IN_A_FOOT = 0.3048
