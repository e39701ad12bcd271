"""What every custom event of Application Insights has in common: properties are texts of a size."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

MOST_CHARACTERS = 8192
"""Of one property; Application Insights cuts the rest away, without a word."""
_CUT = " …"

PropertyValue = str | int | float | datetime | None


def properties(values: Mapping[str, PropertyValue]) -> dict[str, str]:
    """Values as properties: times in UTC, long texts cut where one sees it, nothing for no value.

    An empty text is no value either.
    """
    texts = {name: _text(value) for name, value in values.items() if value is not None}
    return {name: text for name, text in texts.items() if text}


def _text(value: str | float | datetime) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
    text = str(value)
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[: MOST_CHARACTERS - len(_CUT)] + _CUT
