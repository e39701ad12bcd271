"""Which version holds which files, and what is answered where none does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from openmirror.plan.as_of import AsOf, GoneWhat, at_sequence, at_time, runs_of
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.sequence import FENCED, Position
from openmirror.table.log import BatchRecord, Epoch
from openmirror.table.past import GoneFile, Past, PastCommit

FOLDER = TableFolder("m", TablePath("", "Orders"))
FIRST, SECOND = Incarnation("i1"), Incarnation("i2")
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


def at(version: int) -> datetime:
    return NOON + timedelta(hours=version)


class Log:
    """A log that grows by a commit an hour."""

    def __init__(self) -> None:
        self.commits: list[PastCommit] = []
        self.gone: list[GoneFile] = []

    def add(self, **about: object) -> Log:
        version = len(self.commits)
        self.commits.append(PastCommit(version=version, at=at(version), **about))  # type: ignore[arg-type]
        return self

    def batch(
        self,
        last: int,
        first: int | None = None,
        *,
        epoch: int = 1,
        incarnation: Incarnation = FIRST,
        kind: str = "extend",
        files: int | None = None,
    ) -> Log:
        first = last if first is None else first
        record = BatchRecord(
            operation="o",
            folder=str(FOLDER),
            kind=kind,
            first=first,
            last=last,
            files=last - first + 1 if files is None else files,
        )
        app = Epoch(FOLDER, incarnation, epoch).app_id
        return self.add(
            operation="MERGE",
            transactions={app: Position(last)},
            batch_record=record,
            changes_rows=True,
        )

    def fence(self, epoch: int = 1, incarnation: Incarnation = FIRST) -> Log:
        return self.add(transactions={Epoch(FOLDER, incarnation, epoch).app_id: FENCED})

    def goes_on(self, last: int, epoch: int, incarnation: Incarnation = FIRST) -> Log:
        return self.add(transactions={Epoch(FOLDER, incarnation, epoch).app_id: Position(last)})

    def optimize(self) -> Log:
        return self.add(operation="OPTIMIZE")

    def somebody_writes(self) -> Log:
        return self.add(operation="WRITE", changes_rows=True)

    def lacks(self, added: int, removed: int | None) -> Log:
        left = None if removed is None else at(removed)
        file = GoneFile(path=f"{added}.parquet", added=added, removed=removed, removed_at=left)
        self.gone.append(file)
        return self

    def past(self, since: int = 0) -> Past:
        kept = tuple(self.commits[since:])
        rebuilt = frozenset(commit.version for commit in kept)
        return Past(commits=kept, rebuilt=rebuilt, gone=tuple(self.gone))


def log() -> Log:
    return Log().batch(2, 1, kind="replace").batch(3).optimize().batch(6, 4)


def version(answer: AsOf) -> int | None:
    return answer.found.version if answer.found else None


def test_a_batch_is_held_by_its_version_and_by_those_before_rows_change_again() -> None:
    past = log().past()
    assert [version(at_sequence(past, FIRST, number)) for number in (2, 3, 6)] == [0, 2, 3]
    found = at_sequence(past, FIRST, 3).found
    assert found is not None
    assert (found.run.first, found.run.last, found.run.at) == (1, 2, at(1))


def test_within_a_batch_the_last_before_and_the_first_after_are_named() -> None:
    answer = at_sequence(log().past(), FIRST, 5)
    assert answer.before is not None
    assert answer.after is not None
    assert (answer.before.version, answer.after.version) == (2, 3)
    assert not answer.is_exact
    first = at_sequence(log().past(), FIRST, 1)
    assert (first.before, version(first)) == (None, None)
    assert first.after is not None
    assert (first.after.version, first.gone) == (0, None)


def test_what_is_not_applied_has_no_version() -> None:
    answer = at_sequence(log().past(), FIRST, 7)
    assert answer.found is None
    assert answer.after is None
    assert answer.before is not None
    assert answer.before.run.position == 6


def test_numbers_that_the_next_batch_passed_over_are_held_by_the_version_before() -> None:
    past = log().batch(9, 7, files=1).batch(12, 10, files=2).past()
    assert [version(at_sequence(past, FIRST, number)) for number in (7, 8, 9)] == [3, 3, 4]
    # Of two files of three numbers nobody knows which was passed over.
    assert at_sequence(past, FIRST, 10).found is None


def test_a_fence_and_an_epoch_that_goes_on_keep_the_rows() -> None:
    past = log().fence().goes_on(6, 2).batch(7, epoch=2).past()
    found = at_sequence(past, FIRST, 6).found
    assert found is not None
    assert (found.run.first, found.run.last) == (3, 5)


def test_what_somebody_else_changes_is_in_every_version_until_the_table_is_made_anew() -> None:
    changed = log().somebody_writes().batch(7)
    past = changed.past()
    assert at_sequence(past, FIRST, 6).is_exact
    later = at_sequence(past, FIRST, 7)
    assert later.found is not None
    assert later.found.run.changed == past.commits[4]
    assert not later.is_exact
    anew = changed.fence().batch(7, 1, epoch=2, kind="replace").past()
    assert at_sequence(anew, FIRST, 7).is_exact
    assert version(at_sequence(anew, FIRST, 7)) == 7


def test_rows_that_were_marked_long_ago_are_removed_by_nobody_else() -> None:
    past = log().add(operation="DELETE", changes_rows=True, removes_marked=True).batch(7).past()
    assert version(at_sequence(past, FIRST, 6)) == 3
    later = at_sequence(past, FIRST, 7)
    assert later.is_exact
    assert later.found is not None
    assert later.found.run.lacks_marked


def test_each_incarnation_has_its_own_numbers() -> None:
    past = log().fence().batch(2, 1, incarnation=SECOND, epoch=2, kind="replace").past()
    assert version(at_sequence(past, FIRST, 2)) == 0
    assert version(at_sequence(past, SECOND, 2)) == 5
    assert at_sequence(past, FIRST, 7).after is None
    assert [run.incarnation for run in runs_of(past)][-1] == SECOND


def test_of_two_loads_of_the_same_files_the_newer_one_is_named_while_it_can_be_read() -> None:
    twice = log().fence().batch(3, 1, epoch=2, kind="replace").optimize().batch(6, 4, epoch=2)
    assert version(at_sequence(twice.past(), FIRST, 3)) == 6
    assert version(at_sequence(twice.lacks(5, 7).past(), FIRST, 3)) == 2


def test_the_version_of_a_run_that_is_left_is_named() -> None:
    past = log().lacks(1, 2).past()
    assert version(at_sequence(past, FIRST, 3)) == 2
    only_before = log().lacks(2, 3).past()
    assert version(at_sequence(only_before, FIRST, 3)) == 1


def test_a_version_whose_files_are_deleted_is_gone_since_the_vacuum_that_deleted_them() -> None:
    cleaned = log().add(operation="VACUUM START", deletes_before=at(2))
    past = cleaned.add(operation="VACUUM START", deletes_before=at(3)).lacks(1, 3).past()
    answer = at_sequence(past, FIRST, 3)
    assert answer.found is not None
    gone = answer.found.gone
    assert gone is not None
    assert (gone.what, gone.since, gone.files, gone.example) == (
        *(GoneWhat.FILES, at(5), 1),
        "1.parquet",
    )
    assert answer.oldest is not None
    assert answer.oldest.version == 0


def test_where_nobody_wrote_down_the_vacuum_nobody_knows_since_when() -> None:
    answer = at_sequence(log().lacks(1, 3).past(), FIRST, 3)
    assert answer.found is not None
    assert answer.found.gone is not None
    assert answer.found.gone.since is None


def test_a_file_that_the_newest_version_needs_takes_all_since_it_came() -> None:
    past = log().lacks(1, None).past()
    assert past.readable == {0}


def test_a_log_that_was_cleaned_says_from_when_on_it_can_say_anything() -> None:
    past = log().past(since=2)
    assert version(at_sequence(past, FIRST, 6)) == 3
    early = at_sequence(past, FIRST, 2)
    assert early.gone is not None
    assert (early.gone.what, early.gone.since) == (GoneWhat.LOG, at(2))
    assert early.oldest is not None
    assert early.oldest.version == 3


def test_a_version_whose_commit_is_left_and_whose_files_are_not_known_is_gone() -> None:
    past = Past(commits=tuple(log().commits), rebuilt=frozenset({2, 3}))
    answer = at_sequence(past, FIRST, 2)
    assert answer.found is not None
    assert answer.found.gone is not None
    assert (answer.found.gone.what, answer.found.gone.since) == (GoneWhat.LOG, at(2))


def test_of_versions_behind_a_hole_in_the_log_only_what_they_say_themselves_is_known() -> None:
    whole = log().batch(7).optimize().batch(8)
    past = Past(
        commits=tuple(c for c in whole.commits if c.version != 4),
        rebuilt=frozenset({0, 1, 2, 3}),
    )
    assert at_sequence(past, FIRST, 7).found is None
    assert version(at_sequence(past, FIRST, 8)) == 6
    assert [run.position for run in runs_of(past)] == [2, 3, 6, 8]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (at(0), 0),
        (at(1) + timedelta(minutes=59), 1),
        (at(2), 2),
        (at(9), 3),
    ],
)
def test_at_a_time_the_table_was_what_was_committed_last(moment: datetime, expected: int) -> None:
    assert version(at_time(log().past(), moment)) == expected


def test_before_its_first_commit_a_table_had_nothing() -> None:
    answer = at_time(log().past(), NOON - timedelta(seconds=1))
    assert (answer.found, answer.gone) == (None, None)
    assert answer.after is not None
    assert answer.after.version == 0
    cleaned = at_time(log().past(since=2), NOON)
    assert cleaned.gone is not None
    assert cleaned.gone.what is GoneWhat.LOG


def test_a_version_counts_as_no_older_than_those_before_it() -> None:
    commits = log().commits
    slow = [
        *commits[:2],
        PastCommit(version=2, at=at(-5), operation="OPTIMIZE"),
        PastCommit(version=3, at=at(3), operation="OPTIMIZE"),
    ]
    past = Past(commits=tuple(slow), rebuilt=frozenset(range(4)))
    assert version(at_time(past, at(0))) == 0
    assert version(at_time(past, at(1))) == 2


def test_another_version_of_the_same_rows_stands_for_one_that_is_gone() -> None:
    past = log().lacks(1, 2).past()
    assert version(at_time(past, at(1))) == 2
