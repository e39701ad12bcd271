"""When a timer goes off: the six fields of a schedule, as far as the app uses them."""

from __future__ import annotations

from datetime import datetime


def goes_off(schedule: str, at: datetime) -> bool:
    """Whether a timer goes off in this second.

    Each field is a list with commas of `*`, `*/n` and numbers; ValueError for anything else.
    """
    second, minute, hour, day, month, weekday = schedule.split()
    fields = (
        (second, at.second),
        (minute, at.minute),
        (hour, at.hour),
        (day, at.day),
        (month, at.month),
        (weekday, at.isoweekday() % 7),
    )
    return all(any(_fits(one, now) for one in field.split(",")) for field, now in fields)


def _fits(part: str, now: int) -> bool:
    if part.startswith("*/"):
        return now % int(part[2:]) == 0
    return part == "*" or int(part) == now
