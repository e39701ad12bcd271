"""Which files of each partition follow each other, and in which order (PROTOCOL §3.2)."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import PartitionView
from openmirror.protocol.sequence import Sequence
from openmirror.table.control import IncarnationRecord

NONE_YET = Sequence(0)


def runs_of(
    record: IncarnationRecord,
    rest: Iterable[LandedFile],
    counted: Mapping[str, Sequence],
    skipped: Iterable[LandedFile],
    applied: Mapping[str, Sequence],
) -> tuple[list[list[LandedFile]], list[PartitionView]]:
    """For each partition the files that follow each other, and how it stands.

    `counted` says how far its own numbers have their place already, `applied` how far they are in
    the table. `skipped` files are there, and an operator passed over them.
    """
    by_partition: dict[str, dict[Sequence, LandedFile]] = {
        name: {} for name in (*counted, *applied)
    }
    for file in rest:
        numbers = by_partition.setdefault(file.partition, {})
        assert file.number is not None
        twin = numbers.get(file.number)
        numbers[file.number] = replace(file, twin=twin.name) if twin else file
    passed = {(file.partition, file.number) for file in skipped}
    runs: list[list[LandedFile]] = []
    views: list[PartitionView] = []
    for name, numbers in sorted(by_partition.items()):
        there = {number for partition, number in passed if partition == name}
        run, missing = _run(record, name, numbers, counted.get(name, NONE_YET), there)
        runs.append(run)
        behind = tuple(f for n, f in sorted(numbers.items()) if missing and n > missing)
        views.append(PartitionView(name, applied.get(name, NONE_YET), missing, behind))
    return runs, views


def _run(
    record: IncarnationRecord,
    partition: str,
    numbers: Mapping[Sequence, LandedFile],
    counted: Sequence,
    passed: Container[Sequence | None],
) -> tuple[list[LandedFile], Sequence | None]:
    run: list[LandedFile] = []
    following = Sequence(counted + 1)
    for number in sorted(numbers):
        while following < number:
            if following in passed:  # its file is there, and an operator passed over it
                following = Sequence(following + 1)
                continue
            skip = record.skipped(following, None, partition)
            if skip is None:
                return run, following
            following = Sequence(skip.last + 1)
        run.append(numbers[number])
        following = Sequence(max(following, number + 1))
    return run, None


def merged(runs: list[list[LandedFile]]) -> Iterator[LandedFile]:
    """Partitions side by side, the one whose next file is the oldest first."""
    heads = [(run[0].modified, run[0].partition, 0, run) for run in runs if run]
    heapq.heapify(heads)
    while heads:
        _, partition, at, run = heapq.heappop(heads)
        yield run[at]
        if at + 1 < len(run):
            heapq.heappush(heads, (run[at + 1].modified, partition, at + 1, run))
