"""What a runner does, as lines of a log: time, event, table, and what belongs to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from openmirror.ports import Progress


def watch(progress: Progress) -> None:
    """One line on standard error for everything that happens."""
    where = str(progress.folder) if progress.folder else "-"
    _write(f"{progress.event:<12} {where}{_told(progress.detail)}")


def say(text: str) -> None:
    """One line of its own."""
    _write(f"{'runner':<12} - {text}")


def _told(detail: Mapping[str, object]) -> str:
    given = {key: value for key, value in detail.items() if value not in (None, "")}
    return "".join(f" {key}={_value(value)}" for key, value in given.items())


def _value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(value, default=str, ensure_ascii=False)
    plain = text.strip('"')
    return plain if isinstance(value, str) and " " not in plain and "=" not in plain else text


def _write(text: str) -> None:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # One write: several lanes tell at the same time.
    sys.stderr.write(f"{at}  {text}\n")
    sys.stderr.flush()
