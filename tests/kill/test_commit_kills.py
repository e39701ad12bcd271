"""A runner may be killed inside any commit: the table is the one before or the one after, and
whoever comes next ends with every change once and in order.

Each way of a batch into its table is gone once, by a runner that then dies, with the kernel's notes
of what it did there. Of these the states are made that a kill would have left, one for each effect.
test_commit_process_kills kills processes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any

import pytest
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import SparkSession

from openmirror.columnar import large_inserts
from openmirror.deltalog import LogReplay
from openmirror.plan.decisions import Idle
from openmirror.ports import Step, no_steps
from openmirror.spark.choosing import Commit
from openmirror.spark.state_ahead import StateAhead
from openmirror.stores.local.store import LocalStore
from openmirror.table.log import AppId, BrokenLog
from tests.harness.dying import Killed, dies_at
from tests.kill.commit_forms import Form, Forms, noted
from tests.kill.commit_paths import INSERT, OF_A_HISTORY, OF_A_TABLE, CommitPath, Sent
from tests.kill.effects import Effect, effects_below
from tests.kill.partway import Files, State, files_below, put, states
from tests.property.histories import version_with_decided
from tests.zone import NO_WAITS, Mirror, Zone, bag, forget_logs, read_delta

_LAKE = "lake"
_AS_IN_PRODUCTION = {
    # Each file that Hadoop writes on this machine has another one with its checksum.
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    # But checkpoints come more often.
    "spark.databricks.delta.properties.defaults.checkpointInterval": "4",
}
Seen = tuple[list[Any] | None, tuple[AppId, int] | None]
"""The rows that a reader finds, and what is applied by our replay of the log; None for none."""


@dataclass(frozen=True)
class Death:
    """What a runner left that died right behind a commit, and what it would have left before."""

    before: Seen
    after: Seen
    documents: Files
    """All that is beside the table."""
    states: list[State]
    """The table behind each effect of the commit."""


class Table:
    """One table of a root, whose runners die inside its commits."""

    def __init__(self, zone: Zone, spark: SparkSession, sent: Sent, key: str) -> None:
        self._zone, self._spark, self._sent, self._key = zone, spark, sent, key
        self._path = Mirror(zone, spark).observed(key).table
        self._place = PurePosixPath(self._path).relative_to(_LAKE)
        self._store, self._lake = LocalStore(zone.root), zone.root / _LAKE
        self._own = zone.root / self._path

    def dies_behind(self, path: CommitPath) -> Death:
        """A runner goes this way, and dies when it has gone it."""
        path.first(self._zone, self._sent)
        for rows in path.files:
            self._sent.send(rows)
        if path.instead is not None:
            with pytest.raises(Killed):
                self._runner(path, Step.BEFORE_COMMIT).reconcile_until_idle(self._key)
            self._sent.send_again(path.instead)
        before, was = files_below(self._own), self._seen()
        effects, forms = list[Effect](), Forms()
        runner = self._runner(path, Step.COMMITTED)
        with effects_below(self._lake, effects.append), noted(forms.append), pytest.raises(Killed):
            runner.reconcile_until_idle(self._key)
        assert forms == path.forms, path.name
        own = [
            replace(effect, path=effect.path.relative_to(self._place))
            for effect in effects
            if effect.path.is_relative_to(self._place) and effect.path != self._place
        ]
        documents = {
            path: data
            for path, data in files_below(self._lake).items()
            if not path.is_relative_to(self._place)
        }
        left = states(before, files_below(self._own), own)
        return Death(was, self._seen(), documents, left)

    def parted(self, death: Death) -> tuple[list[State], list[State]]:
        """The states in which the table is the one before, and those in which it is the one after;
        it is never another, nor broken, nor ever the one before again."""
        parts: tuple[list[State], list[State]] = ([], [])
        fenced = (death.before[0], None)
        for state in death.states:
            put(self._own, state.files)
            seen = self._seen()
            is_after = seen == death.after
            assert is_after or (seen in (death.before, fenced) and not parts[1]), state.behind
            parts[is_after].append(state)
        return parts

    def left_at(self, death: Death, state: State) -> None:
        """The root is as a runner left it that died there."""
        own = {self._place / path: data for path, data in state.files.items()}
        put(self._lake, {**death.documents, **own})

    def finished(self, path: CommitPath) -> Forms:
        """How another runner, which does it by the same ways, finishes what is there."""
        forms, runner = Forms(), self._runner(path)
        with noted(forms.append):
            assert isinstance(runner.reconcile_until_idle(self._key), Idle)
        assert runner.observed(self._key).applied == self._sent.last
        assert bag(map(version_with_decided, read_delta(self._own))) == bag(self._expected), (
            path.name
        )
        self._assert_records()
        return forms

    @property
    def _expected(self) -> list[dict[str, Any]]:
        return self._sent.rows if self._key == self._sent.name else self._sent.versions

    def _runner(self, path: CommitPath, dies: Step | None = None) -> Mirror:
        """A process of its own, as far as anything that it knows goes."""
        forget_logs(self._spark)
        paths = replace(path.paths, checksums=True, sessions=_AS_IN_PRODUCTION)
        steps = no_steps if dies is None else dies_at(dies)
        return Mirror(self._zone, self._spark, NO_WAITS, steps, paths=paths)

    def _seen(self) -> Seen:
        try:
            rows = bag(read_delta(self._own))
        except TableNotFoundError:
            rows = None
        log = LogReplay(self._store).read(self._path)
        assert not isinstance(log, BrokenLog), log
        live = log.live if log is not None else None
        return rows, (live[0].app_id, live[1]) if live else None

    def _assert_records(self) -> None:
        """Each file is in one batch record, and each record in the totals of the next."""
        last, operations = 0, 0
        for record in reversed(LogReplay(self._store).history(self._path, 1000)):
            if record.kind == "replace":
                last, operations = 0, 0
            operations += sum(record.rows.values())
            assert (record.first, record.totals.operations) == (last + 1, operations), record
            last = record.last
        assert last == self._sent.last


@pytest.fixture(autouse=True)
def _exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    # Or a runner that is dead still reads what is put in place for the next.
    monkeypatch.setattr(StateAhead, "want", lambda ahead, table: None)
    # Two files of a batch are two data files, of which a kill leaves one.
    monkeypatch.setattr(large_inserts, "_LEAST", 1)


Parts = tuple[list[State], list[State]]


def _in_short(path: CommitPath, parts: Parts) -> list[State]:
    """Around the entry of the log; where nothing was before, and where most is, also before it."""
    before, after = parts
    return [*([before[-1]] if path.redone else []), after[0]]


def _throughout(path: CommitPath, parts: Parts) -> list[State]:
    """Also behind the first file and somewhere amid, and behind all that comes after the entry.

    The next way goes on from the entry alone, as in short.
    """
    before, after = parts
    amid = {0, len(before) // 2, len(before) - 1}
    return [*(before[at] for at in sorted(amid)), *reversed(after)]


def _assert_finished_wherever_it_died(
    table: Table, paths: Sequence[CommitPath], chosen: Callable[[CommitPath, Parts], list[State]]
) -> list[str]:
    """The ways on which a checkpoint was written."""
    found = []
    if chosen is _in_short:
        paths = [path for path in paths if not path.seldom]
    for path, following in zip_longest(paths, paths[1:]):
        death = table.dies_behind(path)
        parts = before, after = table.parted(death)
        assert before, "nothing is written before what makes it true"
        left = chosen(path, parts)
        if following is not None and following.by_checksum:
            left = left[::-1]  # whoever finds nothing done does all of it, also the checksum
        for state in left:
            table.left_at(death, state)
            forms = table.finished(path)
            if path.instead is None:
                assert bool(forms) is (state in before), state.behind
        if any("checkpoint" in state.behind.path.name for state in after):
            found.append(path.name)
    return found


_CHOSEN = [
    pytest.param(_in_short, id="in-short"),
    pytest.param(_throughout, id="throughout", marks=pytest.mark.soak),
]


@pytest.mark.parametrize("chosen", _CHOSEN)
def test_a_table_has_every_change_once_wherever_in_its_commits_runners_died(
    zone: Zone, spark: SparkSession, chosen: Callable[..., list[State]]
) -> None:
    table = Table(zone, spark, Sent(zone, "t"), "t")
    with_checkpoints = _assert_finished_wherever_it_died(table, OF_A_TABLE, chosen)
    assert "a small table is written whole by this process" in with_checkpoints
    assert len(with_checkpoints) > 1, "none by Spark"


@pytest.mark.parametrize("chosen", _CHOSEN)
def test_a_history_has_every_version_once_wherever_in_its_commits_runners_died(
    zone: Zone, spark: SparkSession, chosen: Callable[..., list[State]]
) -> None:
    sent = Sent(zone, "h")
    sent.send([(INSERT, 1, "a"), (INSERT, 2, "b")])
    assert isinstance(Mirror(zone, spark).reconcile_until_idle("h"), Idle)
    table = Table(zone, spark, sent, "_history/h")
    _assert_finished_wherever_it_died(table, OF_A_HISTORY, chosen)


def test_every_commit_that_there_is_has_a_way_on_which_runners_die() -> None:
    gone = {form for path in (*OF_A_TABLE, *OF_A_HISTORY) for form in path.forms}
    # Types that grow in place come with a MERGE, and before it what properties come by.
    assert gone >= {*Commit, *Form} - {Form.WIDENING, Form.MERGED_AFTER_ALL}
    in_short = {form for path in OF_A_TABLE if not path.seldom for form in path.forms}
    assert in_short >= {*Commit} - {Commit.REWRITE}
