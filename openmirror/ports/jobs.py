"""The job that is the runner, where one has to be started for work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Started:
    """A run was asked for and will take the work."""

    run: str
    page: str = field(default="", compare=False)
    """The address of the run's page, for a person."""


@dataclass(frozen=True)
class AlreadyActive:
    """A run is there, or waits for its turn: it will take the work."""

    run: str


@dataclass(frozen=True)
class Skipped:
    """The platform took the request and did not run it: another time, by itself."""

    reason: str
    run: str = field(default="", compare=False)
    page: str = field(default="", compare=False)


@dataclass(frozen=True)
class Refused:
    """The identity may not start the job; a person has to grant it what the reason names."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """Asking again would not help by itself: a setting is wrong, or runs end in errors."""

    reason: str
    run: str = field(default="", compare=False)
    """The run that ended in an error, where it was one."""
    page: str = field(default="", compare=False)


@dataclass(frozen=True)
class Unreachable:
    """The platform could not be asked, or is too busy: another time, by itself."""

    reason: str


@dataclass(frozen=True)
class NotNeeded:
    """Nothing is to be started, and why."""

    reason: str


StartOutcome = Started | AlreadyActive | Skipped | Refused | Failed | Unreachable | NotNeeded


class RunnerJob(Protocol):
    """Starts runs of the one job that is the runner; never makes a job."""

    @property
    def identity(self) -> str:
        """What the platform calls the job."""
        ...

    def start(self) -> StartOutcome:
        """See that a run is active. Whatever goes wrong is a value."""
        ...
