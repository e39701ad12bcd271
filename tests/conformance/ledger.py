"""What is next in a table whose file names do not give the order, in the plainest way.

Nothing is numbered ahead and nothing written down: each time the folder is read anew, and what was
applied is known by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openmirror.protocol.metadata import Detection, TableMetadata


def has_ledger(rules: TableMetadata) -> bool:
    return rules.partitioned or rules.detection is Detection.LAST_UPDATE_TIME


@dataclass(frozen=True)
class Filed:
    """One change file that lies in the folder."""

    path: Path
    name: str
    """From the table folder on."""
    number: int | None
    """None where files are found by their time."""

    @property
    def partition(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def worker(self) -> str:
        """What it holds up while it is not ready: its partition, or nobody but itself."""
        return self.name if self.number is None else self.partition

    @property
    def age(self) -> int:
        return self.path.stat().st_mtime_ns

    @property
    def content(self) -> bytes:
        return self.path.read_bytes() if self.path.is_file() else b""


@dataclass
class Done:
    """What one incarnation of such a table has applied."""

    contents: dict[str, bytes] = field(default_factory=dict)
    """Of each file that was applied, in that order."""
    ages: dict[str, int] = field(default_factory=dict)
    """Of each file that was applied, when it had been written."""
    written_over: dict[str, None] = field(default_factory=dict)
    """Warnings of files that were written over and stop nothing."""
    archived: set[str] = field(default_factory=set)
    given_up: dict[str, int] = field(default_factory=dict)
    """By partition: up to which number those that are missing are passed over."""
    to_reread: list[str] = field(default_factory=list)
    """What a reseed applies once more, in the order of the first time."""

    def last(self, partition: str) -> int:
        """How far a partition's own numbers went."""
        names = [name for name in self.contents if name.rpartition("/")[0] == partition]
        return max((_number(name) for name in names), default=0)

    def overwritten(self, parsed: list[Filed]) -> Iterator[str]:
        """Applied files that have another content by now, the first that was applied first."""
        there = {one.name: one for one in parsed if one.name not in self.archived}
        for name, content in self.contents.items():
            if name in there and there[name].content != content:
                yield name

    def written_again(self, parsed: list[Filed]) -> Iterator[Filed]:
        """Applied files that were written since, and have the bytes that they had."""
        for one in (one for one in parsed if one.name in self.ages):
            same = self.contents[one.name] == one.content and one.name not in self.archived
            if same and self.ages[one.name] != one.age:
                yield one

    def archive(self, parsed: list[Filed], skipped: set[str], to: Path) -> None:
        """Move away what was applied, but for the newest file of each partition."""
        if any(self.overwritten(parsed)):
            return
        passed = {*skipped, *(one.name for one in self.again(parsed, skipped))}
        counted = [one for one in parsed if one.name not in passed]
        newest = {one.partition: one for one in sorted(counted, key=self._counts)}
        for one in counted:
            if one.name in self.contents and one is not newest[one.partition]:
                self.archived.add(one.name)
                (to / one.name).parent.mkdir(parents=True, exist_ok=True)
                one.path.rename(to / one.name)

    def _counts(self, one: Filed) -> tuple[int, int]:
        if one.number is not None:
            return one.number, 0
        order = list(self.contents)
        return 0, order.index(one.name) if one.name in order else len(order)

    def again(self, parsed: list[Filed], skipped: set[str]) -> Iterator[Filed]:
        """Files whose name, or number, was used before."""
        for one in (one for one in parsed if one.name not in skipped):
            is_behind = one.number is not None and one.number <= self.last(one.partition)
            if one.name in self.archived or (is_behind and one.name not in self.contents):
                yield one


@dataclass(frozen=True)
class Gap:
    """A number that is missing in a partition before files that are there."""

    partition: str
    number: int
    behind: tuple[Filed, ...]

    @property
    def since(self) -> int:
        return min(one.age for one in self.behind)


def heads(parsed: list[Filed], done: Done, skipped: set[str]) -> Iterator[Filed | Gap]:
    """What each partition, or each file found by its time, would have applied next."""
    old = {*done.contents, *skipped, *(one.name for one in done.again(parsed, skipped))}
    passed = {(one.partition, one.number) for one in parsed if one.name in skipped}
    new = [one for one in parsed if one.name not in old]
    yield from (one for one in new if one.number is None)
    numbered = [one for one in new if one.number is not None]
    for partition in sorted({one.partition for one in numbered}):
        by_number = {one.number or 0: one for one in numbered if one.partition == partition}
        given_up = done.given_up.get(partition, 0)
        number = done.last(partition) + 1
        while number not in by_number and (number <= given_up or (partition, number) in passed):
            number += 1
        if number in by_number:
            yield by_number[number]
        else:
            yield Gap(partition, number, tuple(by_number.values()))


def in_order(files: list[Filed]) -> list[Filed]:
    """The one that was last modified first comes first; equal times go by partition, or name."""
    return sorted(files, key=lambda one: (one.age, one.worker))


def _number(name: str) -> int:
    digits = name.rpartition("/")[2].partition(".")[0]
    return int(digits) if digits.isdigit() else 0
