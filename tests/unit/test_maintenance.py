"""Which step of maintenance is worth doing: shapes of tables in, steps out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.plan.maintenance import plan_maintenance
from openmirror.plan.maintenance_steps import (
    MIB,
    Compact,
    DeadFile,
    LiveFile,
    MaintenancePolicy,
    MaintenanceStep,
    Nothing,
    Purge,
    TableFiles,
    Vacuum,
)
from openmirror.plan.retention import KEPT, LOG_KEPT, OUR_LOG, OURS, kept_for, to_set
from openmirror.plan.transitions.maintained import (
    Survey,
    Underway,
    asked_for,
    began,
    broken_off,
    ended,
    failed,
    surveyed,
    with_compaction_unknown,
)
from openmirror.table.control import Maintenance, StepDone, StepKind

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
WEEK, DAY, HOUR = timedelta(days=7), timedelta(days=1), timedelta(hours=1)
BY = ("id",)
POLICY = MaintenancePolicy(small_files=4, step_files=100)
NEW = Maintenance()
ASKED = asked_for(None, NOW, "ann", full=False)
ASKED_FULL = asked_for(None, NOW, "ann", full=True)
VACUUMED = Maintenance(
    vacuumed=StepDone(at=NOW - DAY, seconds=1, files=0, bytes=0), vacuumed_through=NOW - 8 * DAY
)


def live(*mib: float) -> tuple[LiveFile, ...]:
    return tuple(LiveFile(int(size * MIB)) for size in mib)


def marked(size: float, deleted: int, rows: int = 100) -> LiveFile:
    return LiveFile(int(size * MIB), rows, deleted)


def dead(count: int, age: timedelta, every: timedelta = timedelta()) -> tuple[DeadFile, ...]:
    """So many files, the oldest of this age."""
    return tuple(DeadFile(MIB, NOW - age + every * number) for number in range(count))


def plan(
    files: TableFiles, known: Maintenance = NEW, policy: MaintenancePolicy = POLICY
) -> MaintenanceStep | Nothing:
    return plan_maintenance(files, known, policy, WEEK, NOW)


@pytest.mark.parametrize(
    ("sizes", "below", "count"),
    [
        pytest.param([], None, 0, id="an empty table"),
        pytest.param([0.1] * 4, None, 0, id="as many small files as may be"),
        pytest.param([0.1] * 5, 0.1, 5, id="one more"),
        pytest.param(
            [30, *[0.1] * 9], 0.1, 9, id="a large one is not written again for small ones"
        ),
        pytest.param([3, *[0.5] * 9], 3, 10, id="until they are as much as it is"),
        pytest.param([100] * 9, None, 0, id="files of a good size"),
        pytest.param([40] * 9, 40, 9, id="equal files above the bound are taken all the same"),
        pytest.param([1, 2, 4, 8, 16, 32, 60, 61, 62, 63], 62, 9, id="no more than one step takes"),
        pytest.param([0.9, 1.9, 4, 9, 19, 39], None, 0, id="each twice the one before"),
    ],
)
def test_small_files_are_put_together(sizes: list[float], below: float | None, count: int) -> None:
    step = plan(TableFiles(version=9, live=live(*sizes)))
    if below is None:
        assert step == Nothing()
        return
    assert isinstance(step, Compact)
    assert (step.below, step.files, step.share) == (int(below * MIB) + 1, count, 1.0)
    assert step.bytes == sum(file.size for file in live(*sorted(sizes)[:count]))


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        pytest.param([100] * 9, 9, id="few"),
        pytest.param([300_000] * 9, 3, id="as many as one step takes"),
        pytest.param([500_000, 500_000, *[1] * 7], 2, id="two at least"),
        pytest.param([500_001, *[1] * 8], 8, id="one with so many rows is not small"),
        pytest.param([500_001] * 9, 0, id="nor is any"),
    ],
)
def test_a_compaction_takes_no_more_rows_than_a_step_does(rows: list[int], count: int) -> None:
    files = tuple(LiveFile(1000 + at, rows=n) for at, n in enumerate(rows))
    step = plan(TableFiles(version=9, live=files), policy=replace(POLICY, step_rows=1_000_000))
    if not count:
        assert step == Nothing()
        return
    assert isinstance(step, Compact)
    assert step.files == count
    # OPTIMIZE takes what is smaller than its bound.
    small = [file for file in files if 2 * file.rows <= 1_000_000]
    assert step.bytes == sum(file.size for file in small[:count])
    assert step.below == small[count - 1].size + 1


def test_files_of_one_size_are_put_together_whatever_their_rows() -> None:
    files = TableFiles(version=9, live=tuple(LiveFile(1000, rows=400_000) for _ in range(9)))
    step = plan(files, policy=replace(POLICY, step_rows=1_000_000))
    assert isinstance(step, Compact)
    assert step.files == 9


def test_a_purge_of_many_rows_takes_the_worst_files_first() -> None:
    files = tuple(LiveFile(MIB + at, rows=600_000, deleted=200_000 + at) for at in range(4))
    policy = replace(POLICY, step_rows=1_500_000)
    step = plan(TableFiles(version=9, live=files), policy=policy)
    assert isinstance(step, Compact)
    assert (step.files, step.below) == (2, 0)


def test_an_operator_gets_two_small_files_put_together() -> None:
    files = TableFiles(version=9, live=live(5, 5))
    assert plan(files) == Nothing()
    assert isinstance(plan(files, ASKED), Compact)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param([marked(90, 20)], None, id="not more than its share"),
        pytest.param([marked(90, 21)], (Purge, 1), id="a file alone"),
        pytest.param(
            [marked(90, 21), marked(90, 1), LiveFile(90 * MIB, 100)], (Purge, 2), id="all"
        ),
        pytest.param([marked(90, 5, rows=0)], (Purge, 1), id="a file without statistics"),
        pytest.param(
            [marked(90, 50), marked(90, 40), marked(90, 30), marked(90, 5)],
            (Compact, 2),
            id="the worst of many",
        ),
        pytest.param([marked(200, 50), marked(200, 40)], (Compact, 2), id="two at least"),
    ],
)
def test_files_with_many_deleted_rows_are_written_anew(
    files: list[LiveFile], expected: tuple[type, int] | None
) -> None:
    step = plan(TableFiles(version=9, live=tuple(files)))
    if expected is None:
        assert step == Nothing()
        return
    assert isinstance(step, Compact | Purge)
    assert (type(step), step.files) == expected
    if isinstance(step, Compact):
        taken = [file for file in files if file.share > step.share]
        assert len(taken) == step.files
        assert step.below == 0
        assert sum(file.size for file in taken) <= step.written


@pytest.mark.parametrize(
    ("cubes", "expected"),
    [
        pytest.param([("a", 200)] * 9, None, id="all laid out"),
        pytest.param([("a", 300), *[(None, 1)] * 5], 5, id="new files, and a cube that is full"),
        pytest.param([("a", 20), *[(None, 1)] * 5], 6, id="new files, and one that is not"),
        pytest.param([("a", 300), (None, 1)], None, id="too few new ones"),
        pytest.param([(None, 100)] * 9, None, id="more than may be done by itself"),
    ],
)
def test_a_clustered_table_is_laid_out(
    cubes: list[tuple[str | None, int]], expected: int | None
) -> None:
    files = tuple(LiveFile(size * MIB, cube=cube, laid_out_by=BY) for cube, size in cubes)
    table = TableFiles(version=9, live=files, clustering=BY)
    step = plan(table)
    assert (step.files if isinstance(step, Compact) else None) == expected
    if sum(file.size for file in files if file.cube is None) > 2 * POLICY.step_bytes:
        assert isinstance(step, Nothing)
        assert "openmirror maintain" in step.remark
        assert isinstance(plan(table, ASKED), Compact)


def test_small_files_wait_for_a_purge_that_frees_more_than_they_have() -> None:
    """In a table that always has small files no purge would ever come."""
    large = marked(200, 300, rows=1000)
    few = tuple(LiveFile(MIB) for _ in range(20))
    step = plan(TableFiles(version=9, live=(large, *few)))
    assert isinstance(step, Purge)
    assert step.files == 1
    many = tuple(LiveFile(4 * MIB) for _ in range(20))
    assert isinstance(plan(TableFiles(version=9, live=(large, *many))), Compact)


@pytest.mark.parametrize(
    ("cubes", "deleted", "expected"),
    [
        pytest.param("ab", 300, 2, id="two groups"),
        pytest.param("ab", 100, None, id="too few rows"),
        pytest.param("a", 300, None, id="a single group, of which Delta takes nothing"),
        pytest.param("a-", 300, 2, id="a group and what is not laid out"),
    ],
)
def test_of_a_clustered_table_the_files_with_deleted_rows_are_written_anew_together(
    cubes: str, deleted: int, expected: int | None
) -> None:
    files = tuple(
        marked(200, deleted, rows=1000)._replace(cube=None if cube == "-" else cube, laid_out_by=BY)
        for cube in cubes
    )
    step = plan(
        TableFiles(
            version=9,
            live=(*files, LiveFile(300 * MIB, 9, cube="c", laid_out_by=BY)),
            clustering=BY,
        )
    )
    assert (step.files if isinstance(step, Purge) else None) == expected
    many = tuple(file._replace(size=3 * POLICY.step_bytes) for file in files)
    step = plan(TableFiles(version=9, live=many, clustering=BY))
    assert (isinstance(step, Nothing) and "openmirror maintain" in step.remark) == bool(expected)


def test_new_files_of_a_clustered_table_wait_for_a_purge_that_frees_more_than_they_have() -> None:
    groups = tuple(marked(200, 300, rows=1000)._replace(cube=cube, laid_out_by=BY) for cube in "ab")
    new = tuple(LiveFile(MIB) for _ in range(20))
    assert isinstance(plan(TableFiles(version=9, live=(*groups, *new), clustering=BY)), Purge)
    new = tuple(LiveFile(7 * MIB) for _ in range(20))
    assert isinstance(plan(TableFiles(version=9, live=(*groups, *new), clustering=BY)), Compact)


def test_rows_that_are_deleted_do_not_count_for_whether_a_group_is_full() -> None:
    """Nor do they for Delta, which lays it out anew."""
    group = marked(200, 700, rows=1000)._replace(cube="a", laid_out_by=BY)
    new = tuple(LiveFile(MIB) for _ in range(5))
    step = plan(TableFiles(version=9, live=(group, *new), clustering=BY))
    assert isinstance(step, Compact)
    assert step.files == 6
    step = plan(TableFiles(version=9, live=(group._replace(deleted=100), *new), clustering=BY))
    assert isinstance(step, Compact)
    assert step.files == 5
    other = group._replace(laid_out_by=("v",))
    step = plan(TableFiles(version=9, live=(other, *new), clustering=BY))
    assert isinstance(step, Compact)
    assert step.files == 5, "Delta leaves alone what is laid out by other columns"


@pytest.mark.parametrize(
    ("removed", "known", "hours"),
    [
        pytest.param((), NEW, None, id="nothing removed"),
        pytest.param(dead(5, WEEK - HOUR), NEW, None, id="not long enough ago"),
        pytest.param(dead(5, WEEK + HOUR), NEW, None, id="no day's worth of it"),
        pytest.param(dead(5, WEEK + HOUR), ASKED, 168, id="unless an operator asks"),
        pytest.param(dead(5, WEEK + DAY), NEW, 168, id="a day's worth"),
        pytest.param(dead(5, WEEK + 3 * DAY), NEW, 216, id="many days' worth, a day at a time"),
        pytest.param(dead(5, WEEK + 3 * DAY), VACUUMED, None, id="deleted already"),
        pytest.param(
            dead(1400, WEEK + 12 * HOUR, timedelta(minutes=7)), NEW, 168, id="a fast table: hours"
        ),
        pytest.param(
            dead(1400, WEEK + 14 * HOUR, timedelta(minutes=7)), NEW, 170, id="and no more at once"
        ),
        pytest.param((), ASKED_FULL, 168, id="for what no version names, by request alone"),
    ],
)
def test_files_that_were_removed_long_enough_ago_are_deleted(
    removed: tuple[DeadFile, ...], known: Maintenance, hours: int | None
) -> None:
    step = plan(TableFiles(version=9, live=live(100), dead=removed), known)
    if hours is None:
        assert step == Nothing()
        return
    assert isinstance(step, Vacuum)
    assert step.hours == hours
    assert step.through == NOW - hours * HOUR <= NOW - WEEK
    assert step.full is (known is ASKED_FULL)
    assert step.files == sum(file.removed_at < step.through for file in removed)


def test_a_retention_that_cannot_be_read_deletes_nothing() -> None:
    files = TableFiles(version=9, dead=dead(5, 30 * DAY))
    step = plan_maintenance(files, NEW, POLICY, None, NOW)
    assert isinstance(step, Nothing)
    assert "cannot be read" in step.remark


def test_of_an_older_log_something_is_taken_to_be_dead_until_it_was_vacuumed() -> None:
    files = TableFiles(version=900, live=live(100), since=NOW - 20 * DAY)
    first = plan(files)
    assert isinstance(first, Vacuum)
    known, steps = NEW, []
    for _ in range(30):
        step = plan(files, known)
        if not isinstance(step, Vacuum):
            break
        steps.append(step)
        known = done(known, files, step)
    assert [step.hours for step in steps] == sorted((s.hours for s in steps), reverse=True)
    assert steps[-1].hours == 168
    assert known.dead_since is None


def done(known: Maintenance, files: TableFiles, step: MaintenanceStep) -> Maintenance:
    survey = Survey(files=files, step=step, policy=POLICY, kept=WEEK, at=NOW)
    begun = began(surveyed(known, survey), step, NOW)
    return ended(begun, survey, Underway(begun.steps, known.begun), NOW)


COMPACT = Compact(below=10, written=20, files=2, bytes=12)
SMALLER = replace(COMPACT, below=5)
PURGE = Purge(files=1, bytes=9, written=20)
UNNAMED = TableFiles(version=900, since=NOW - 20 * DAY, names_all_dead=False)


def test_a_folder_is_not_listed_for_dead_files_while_a_compaction_may_be_stalled() -> None:
    """Its files are older than the retention, named by no version, and may yet be committed."""
    stalled = began(NEW, COMPACT, NOW - 9 * DAY)
    assert isinstance(plan(UNNAMED, NEW), Vacuum)
    refused = plan(UNNAMED, stalled)
    assert isinstance(refused, Nothing)
    assert "stalled" in refused.remark
    by_the_log = plan(replace(UNNAMED, names_all_dead=True), stalled)
    assert isinstance(by_the_log, Vacuum)
    assert not by_the_log.full


def test_a_table_that_is_vacuumed_every_day_is_swept_every_thirty_days() -> None:
    """Of files that no version names, as killed runners leave, only a sweep knows."""
    known, swept = NEW, []
    for day in range(70):
        now = NOW + day * DAY
        removed = tuple(DeadFile(1, now - WEEK - age * HOUR) for age in (1, 25, 49))
        files = TableFiles(version=day, live=live(100), dead=removed)
        step = plan_maintenance(files, known, POLICY, WEEK, now)
        assert isinstance(step, Vacuum)
        if step.full:
            swept.append(day)
        survey = Survey(files=files, step=step, policy=POLICY, kept=WEEK, at=now)
        begun = began(surveyed(known, survey), step, now)
        known = ended(begun, survey, Underway(begun.steps, known.begun), now)
    assert swept == [31, 62]


def test_a_table_that_no_file_ever_leaves_is_swept_as_well() -> None:
    known, swept = NEW, []
    for day in range(70):
        now = NOW + day * DAY
        files = TableFiles(version=day, live=live(100))
        step = plan_maintenance(files, known, POLICY, WEEK, now)
        survey = Survey(files=files, step=step, policy=POLICY, kept=WEEK, at=now)
        known = surveyed(known, survey)
        if isinstance(step, Vacuum):
            assert step.full
            swept.append(day)
            begun = began(known, step, now)
            known = ended(begun, survey, Underway(begun.steps, known.begun), now)
    assert swept == [31, 62]


def test_a_sweep_that_is_due_does_not_wait_for_files_to_grow_old() -> None:
    """Or the table would be surveyed again and again until they are."""
    known = replace(NEW, swept_at=NOW - 31 * DAY)
    step = plan(TableFiles(version=1, live=live(100), dead=dead(3, DAY)), known)
    assert isinstance(step, Vacuum)
    assert (step.full, step.hours, step.files) == (True, 7 * 24, 0)


def test_a_stalled_compaction_keeps_a_table_that_no_file_leaves_from_being_swept() -> None:
    files, swept = TableFiles(version=1, live=live(100)), NOW - 31 * DAY
    assert isinstance(plan(files, replace(NEW, swept_at=swept)), Vacuum)
    stalled = began(replace(NEW, swept_at=swept), COMPACT, NOW - 9 * DAY)
    assert plan(files, stalled) == Nothing()


def test_what_a_lost_document_knew_of_compactions_may_still_land() -> None:
    lost = with_compaction_unknown(NEW, NOW)
    assert isinstance(plan(UNNAMED, NEW), Vacuum)
    assert isinstance(plan(UNNAMED, lost), Nothing)
    after = done(lost, UNNAMED, COMPACT)
    assert isinstance(plan(UNNAMED, after), Nothing)
    assert isinstance(plan(replace(UNNAMED, names_all_dead=True), after), Vacuum)


@pytest.mark.parametrize(
    ("first", "second", "may_land"),
    [
        (COMPACT, COMPACT, False),
        (SMALLER, COMPACT, False),
        (COMPACT, SMALLER, True),
        (PURGE, PURGE, True),
        (PURGE, COMPACT, True),
        (COMPACT, PURGE, True),
    ],
)
def test_a_stalled_compaction_cannot_land_once_a_later_one_took_all_its_files(
    first: MaintenanceStep, second: MaintenanceStep, may_land: bool
) -> None:
    after = done(began(NEW, first, NOW), UNNAMED, second)
    assert (after.begun is not None) is may_land


def test_a_step_that_ends_is_not_stalled_however_it_ends() -> None:
    begun = began(NEW, PURGE, NOW)
    assert done(NEW, UNNAMED, PURGE).begun is None
    assert broken_off(begun, Underway(1, None)).begun is None
    assert failed(begun, StepKind.PURGE, Underway(1, None), "why", NOW).begun is None


def test_a_step_that_began_later_has_not_ended_when_an_earlier_one_does() -> None:
    survey = Survey(files=UNNAMED, step=SMALLER, policy=POLICY, kept=WEEK, at=NOW)
    both, first = began(began(NEW, SMALLER, NOW), COMPACT, NOW), Underway(1, None)
    for after in (
        ended(both, survey, first, NOW),
        broken_off(both, first),
        failed(both, StepKind.COMPACT, first, "why", NOW),
    ):
        assert after.begun == both.begun
    second = Underway(2, began(NEW, SMALLER, NOW).begun)
    assert broken_off(both, second).begun == second.before


def test_an_operator_who_has_the_folder_listed_says_that_no_compaction_is_stalled() -> None:
    stalled = began(NEW, PURGE, NOW - 9 * DAY)
    asked = asked_for(stalled, NOW, "ann", full=True)
    step = plan(UNNAMED, asked)
    assert isinstance(step, Vacuum)
    assert done(asked, UNNAMED, step).begun is None


def test_what_was_found_is_kept_and_a_request_is_over_when_nothing_is_left_to_do() -> None:
    files = TableFiles(version=9, live=live(1, 100), dead=dead(3, DAY))
    survey = Survey(files=files, step=Nothing(remark="why"), policy=POLICY, kept=WEEK, at=NOW)
    after = surveyed(ASKED, survey)
    assert after.asked is None
    assert after.dead_since == NOW - DAY
    assert after.found is not None
    found = after.found
    assert (found.files, found.small_files, found.dead_files) == (2, 1, 3)
    assert (found.bytes, found.dead_bytes) == (101 * MIB, 3 * MIB)
    assert (found.due, found.remark) == (None, "why")
    busy = surveyed(ASKED, replace(survey, step=COMPACT))
    assert busy.asked is not None
    assert busy.found is not None
    assert busy.found.due is StepKind.COMPACT


def test_a_request_to_list_the_folder_is_over_once_that_is_done() -> None:
    step = plan(TableFiles(version=9), ASKED_FULL)
    assert isinstance(step, Vacuum)
    after = done(ASKED_FULL, TableFiles(version=9), step)
    assert after.asked is not None
    assert not after.asked.full
    assert plan(TableFiles(version=9), after) == Nothing()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (None, 7),
        ("interval 30 days", 30),
        ("INTERVAL 1 WEEK", 7),
        ("interval 1 day 24 hours", 2),
        ("2 days", 2),
        ("interval 1 month", None),
        ("a while", None),
        ("interval 99999999999999 days", None),
    ],
)
def test_how_long_removed_files_are_kept_is_read_from_the_table(
    text: str | None, days: int | None
) -> None:
    found = kept_for({} if text is None else {KEPT: text})
    assert found == (None if days is None else timedelta(days=days))


@pytest.mark.parametrize(
    ("policy", "table", "ours", "expected"),
    [
        (7, None, None, None),
        (7, "interval 7 days", None, None),
        (14, None, None, 14),
        (2, None, None, 2),
        (7, "interval 2 days", None, 7),
        (7, "a while", None, 7),
        # As it was asked for before: a shorter one now follows that as well.
        (7, "interval 14 days", "interval 14 days", 7),
        (2, "interval 7 days", "interval 7 days", 2),
        # As somebody else has set it, or changed ours.
        (7, "interval 14 days", None, None),
        (2, "interval 7 days", None, None),
        (7, "interval 20 days", "interval 14 days", None),
    ],
)
def test_only_what_was_set_here_is_ever_made_shorter(
    policy: int, table: str | None, ours: str | None, expected: int | None
) -> None:
    properties = {k: v for k, v in ((KEPT, table), (OURS, ours)) if v is not None}
    found = to_set(timedelta(days=policy), properties, asked=True)
    text = f"interval {expected} days"
    assert found == ({} if expected is None else {KEPT: text, OURS: text})
    if table and ours:
        assert to_set(timedelta(days=policy), properties, asked=False) == {}, "deletes nothing"


@pytest.mark.parametrize(
    ("policy", "log", "ours", "expected"),
    [
        (23, None, None, None),
        (24, None, None, 31),
        (30, None, None, 37),
        (30, "interval 31 days", "interval 31 days", 37),
        (7, "interval 37 days", "interval 37 days", 30),
        # As somebody else has set it, or changed ours.
        (30, "interval 33 days", None, None),
        (24, "interval 60 days", "interval 37 days", None),
    ],
)
def test_a_log_is_kept_for_longer_than_the_files_that_it_names(
    policy: int, log: str | None, ours: str | None, expected: int | None
) -> None:
    """Or each VACUUM would list the folder, and none would come beside a stalled compaction."""
    properties = {k: v for k, v in ((LOG_KEPT, log), (OUR_LOG, ours)) if v is not None}
    found = to_set(timedelta(days=policy), properties, asked=True)
    text = f"interval {expected} days"
    assert found.get(LOG_KEPT) == found.get(OUR_LOG) == (None if expected is None else text)


def test_no_file_is_to_stay_for_longer_than_a_log_that_somebody_else_cuts_off() -> None:
    """Delta would refuse to make such a table anew."""
    assert to_set(timedelta(days=9), {LOG_KEPT: "interval 5 days"}, asked=True) == {}


def test_files_with_the_same_share_of_deleted_rows_are_taken_together() -> None:
    """OPTIMIZE takes all of them or none, and leaves a file alone that no other fits beside."""
    for deleted, count in (((300, 10, 10, 10), 4), ((300, 300, 10, 10), 2), ((300,) * 3, 3)):
        files = tuple(marked(200, one, rows=1000) for one in deleted)
        step = plan(TableFiles(version=1, live=files))
        assert isinstance(step, Compact)
        assert sum(file.share > step.share for file in files) == step.files == count


def test_what_left_a_table_unseen_and_is_named_no_more_is_taken_to_be_there() -> None:
    """A checkpoint names removed files only for as long as they are kept."""
    survey = Survey(
        files=TableFiles(version=1, live=live(100)),
        step=Nothing(),
        policy=POLICY,
        kept=WEEK,
        at=NOW - 9 * DAY,
    )
    known = replace(surveyed(VACUUMED, survey), vacuumed_through=NOW - 16 * DAY)
    assert plan(TableFiles(version=1, live=live(100)), known) == Nothing(), "nothing came since"
    later, through = TableFiles(version=2, live=live(100)), list[datetime]()
    while isinstance(step := plan(later, known), Vacuum):
        assert not step.full
        through.append(step.through)
        known = done(known, later, step)
    assert through == [NOW - 8 * DAY, NOW - WEEK], "a day at a time"
