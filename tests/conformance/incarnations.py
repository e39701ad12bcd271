"""The incarnations of table folders, by what publishers did to a landing zone."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.conformance.vectors import Step


class Incarnation:
    """One incarnation of a folder: renamed with it, and gone with it."""


@dataclass
class Incarnations:
    """The incarnation of each folder of a landing zone, by its path."""

    _by_path: dict[str, Incarnation] = field(default_factory=dict)

    def take(self, step: Step) -> None:
        """Learn what became of the folders that are known so far."""
        for path, to in step.renamed.items():
            self._by_path[to] = self._by_path.pop(path, None) or Incarnation()
        for path in step.deleted:
            self._by_path.pop(path, None)

    def of(self, path: str) -> Incarnation:
        """The present incarnation of a folder that is there."""
        return self._by_path.setdefault(path, Incarnation())
