"""What the names in a `_delta_log` say: commits, checkpoints, and traces of a log that was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openmirror.ports import Entry

_COMMIT = re.compile(r"(\d{20})\.json\Z")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint"
    r"(?:\.\d{10}\.(?P<parts>\d{10})|\.[0-9a-fA-F-]{36}(?=\.))?\.(?:parquet|json)\Z"
)
_TRACE = re.compile(r"\d{20}\.(checkpoint|crc|\d{20}\.compacted)|_last_checkpoint\Z")


@dataclass(frozen=True)
class Checkpoint:
    """All actions that still count at one version, in one file or in parts."""

    version: int
    parts: tuple[Entry, ...]


@dataclass(frozen=True)
class LogFiles:
    """The files of one log."""

    commits: Mapping[int, Entry]
    checkpoints: tuple[Checkpoint, ...]
    """Complete ones, newest first."""
    traces: tuple[str, ...]
    """What a log leaves beside its commits: where it lies, there was a table."""

    @property
    def newest(self) -> int:
        """The newest version; -1 when there is none."""
        return max([*self.commits, *(c.version for c in self.checkpoints)], default=-1)

    @property
    def entries(self) -> set[Entry]:
        """Every file that a state can have been read from."""
        return {*self.commits.values(), *(part for c in self.checkpoints for part in c.parts)}


def sort_out(entries: Iterable[Entry]) -> LogFiles:
    """Sort the files of a log into commits, checkpoints and traces, by their names."""
    files = sorted((e for e in entries if not e.is_folder), key=lambda entry: entry.name)
    commits = {int(match[1]): e for e in files if (match := _COMMIT.match(e.name))}
    traces = tuple(e.name for e in files if _TRACE.match(e.name))
    return LogFiles(commits, _checkpoints(files), traces)


def _checkpoints(files: Iterable[Entry]) -> tuple[Checkpoint, ...]:
    whole: list[Checkpoint] = []
    in_parts: dict[tuple[int, int], list[Entry]] = {}
    for entry in files:
        match = _CHECKPOINT.match(entry.name)
        if match and match["parts"]:
            in_parts.setdefault((int(match["version"]), int(match["parts"])), []).append(entry)
        elif match:
            whole.append(Checkpoint(int(match["version"]), (entry,)))
    complete = (
        Checkpoint(version, tuple(parts))
        for (version, number), parts in in_parts.items()
        if len(parts) == number
    )
    return tuple(sorted([*whole, *complete], key=lambda c: c.version, reverse=True))
