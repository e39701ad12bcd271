"""An attempt ended in an error: it is counted, and the third in a row pauses the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from openmirror.errors import Disposition, Problem, disposition_of, words_of
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import problem_of
from openmirror.plan.transitions.refused import refused
from openmirror.protocol.rules import Broken, Code
from openmirror.table.control import ControlDocument, Failures, ManifestEntry

MOST_KEPT = 2000
"""Characters of an error that the document keeps."""


@dataclass(frozen=True)
class FailedAttempt:
    """One attempt that ended in an error."""

    files: tuple[ManifestEntry, ...]
    """The files of the batch that was attempted; none where it was something else."""
    error: Exception
    at: datetime


@dataclass(frozen=True)
class Counted:
    """The document after a failure, and what follows from how many there were."""

    control: ControlDocument
    attempt: int
    """How many in a row there were on the same files, this one included."""
    disposition: Disposition
    """FAIL leaves the document as it is: the error is not one of this table."""


def failed(observed: ObservedState, failure: FailedAttempt) -> Counted:
    """Count a failure on the document of an observation that was made after it.

    Failures on other files start the count anew. Only a batch can pause its table, at its first
    file: whatever else fails is tried again, since no file could be changed to end the pause.
    """
    earlier = observed.control.failures
    attempt = earlier.count + 1 if earlier and earlier.files == failure.files else 1
    disposition = disposition_of(failure.error, attempt)
    if disposition is Disposition.FAIL:
        return Counted(observed.control, attempt, disposition)
    text = words_of(failure.error)
    failures = Failures(attempt, failure.files, failure.at, text[:MOST_KEPT])
    control = observed.control
    if disposition is Disposition.PAUSE and failure.files:
        problem = _problem(observed, failure.files[0], attempt, text)
        control = refused(observed, problem, failure.at)
    return Counted(replace(control, failures=failures), attempt, disposition)


def _problem(observed: ObservedState, first: ManifestEntry, attempt: int, text: str) -> Problem:
    broken = Broken(Code.APPLY_FAILED, f"failed {attempt} times in a row: {text[:1000]}")
    return problem_of(
        observed, broken, next((f for f in observed.files.values() if f.name == first.name), None)
    )
