"""The memory that a process and its children had at most, where Linux says so."""

from __future__ import annotations

from pathlib import Path


class Peak:
    """What `update` has seen last of each process: the kernel itself keeps the peak."""

    def __init__(self, pid: int, proc: Path) -> None:
        self._pid = pid
        self._proc = proc
        self._kibibytes: dict[int, int] = {}

    def update(self) -> None:
        """Ask for the process and all that it started."""
        parents: dict[int, int] = {}
        peaks: dict[int, int] = {}
        for status in self._proc.glob("[0-9]*/status"):
            try:
                fields = dict(line.partition(":")[::2] for line in status.read_text().splitlines())
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            pid = int(fields["Pid"])
            parents[pid] = int(fields["PPid"])
            if "VmHWM" in fields:  # threads of the kernel have no memory of their own
                peaks[pid] = int(fields["VmHWM"].split()[0])
        for pid, peak in peaks.items():
            if self._pid in _ancestry(pid, parents):
                self._kibibytes[pid] = peak

    @property
    def mebibytes(self) -> float | None:
        """Of all of them, each at its own peak; None when nothing was seen."""
        return sum(self._kibibytes.values()) / 1024 or None


def _ancestry(pid: int, parents: dict[int, int]) -> set[int]:
    found = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found
