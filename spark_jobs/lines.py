"""What a runner does, as lines of a log: time, severity, event, table, and what belongs to it."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from openmirror.progress.base import Severity
from openmirror.progress.context import detail_of, subject_of
from openmirror.progress.union import ProgressEvent


def log_event(event: ProgressEvent) -> None:
    """One line on standard error for everything that happens."""
    fields = "".join(f" {key}={_value(value)}" for key, value in detail_of(event).items())
    _write(event.severity, event.name, f"{subject_of(event)}{fields}")


def say(text: str) -> None:
    """One line of its own."""
    _write(Severity.INFO, "runner", f"- {text}")


def _value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    plain = text.strip('"')
    return plain if isinstance(value, str) and " " not in plain and "=" not in plain else text


def _write(severity: Severity, name: str, text: str) -> None:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # One write: several workers log at the same time.
    sys.stderr.write(f"{at}  {severity.name:<7}  {name:<24} {text}\n")
    sys.stderr.flush()
