"""A runner's processes are killed inside every commit, as soon as the kernel shows that they are
there: twice for each way of a batch into its table.

The first one dies with a file that no version names; whoever comes next does the same again, and
dies with its first entry in the log, and where that is a fence, or brings properties, whoever comes
then dies with the entry of the batch. The next one goes on with the next batch.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import PurePath, PurePosixPath

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from openmirror.plan.decisions import Idle
from openmirror.table.log import TableLog
from tests.kill.commit_driver import FORMS
from tests.kill.commit_forms import Form
from tests.kill.commit_paths import INSERT, OF_A_HISTORY, OF_A_TABLE, CommitPath, Sent
from tests.kill.driver import SURVIVED
from tests.kill.effects import Effect, Kind, effects_below
from tests.kill.runners import ENVIRONMENT, kill_group, output_of, run_to_end, runner
from tests.property.histories import version_with_decided
from tests.zone import Mirror, Paths, bag

_PATIENCE = 480.0


def _is_named(path: PurePath) -> bool:
    """Whether a version may name what has this path below its table; some lie in folders there."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def _is_data(effect: Effect, place: PurePosixPath) -> bool:
    """A data file, or a deletion vector, has begun to be written."""
    is_own = effect.path.is_relative_to(place) and _is_named(effect.path.relative_to(place))
    return is_own and effect.kind is Kind.CREATED and not effect.is_folder


def _is_entry(effect: Effect, place: PurePosixPath) -> bool:
    """A version has come into the log."""
    is_own = effect.path.parent == place / "_delta_log" and effect.path.suffix == ".json"
    return is_own and effect.kind is Kind.MOVED_TO


class Dying:
    """One table whose runners are processes that are killed."""

    def __init__(self, mirror: Mirror, sent: Sent, key: str) -> None:
        self.mirror, self.sent, self.key = mirror, sent, key
        self._place = PurePosixPath(mirror.observed(key).table).relative_to("lake")

    @property
    def applied(self) -> int:
        """How far the log says that it is."""
        return self.mirror.observed(self.key).applied

    def killed_when(
        self, path: CommitPath, comes: Callable[[Effect, PurePosixPath], bool]
    ) -> list[str]:
        """A runner goes this way, and is killed as soon as this has come; the commits that it noted
        by then."""
        zone = self.mirror.zone
        (zone.root / FORMS).write_text("")
        words = ("tests.kill.commit_driver", str(zone.root), self.key)
        with runner(zone, *words, env=ENVIRONMENT | _settings(path.paths)) as process:

            def seen(effect: Effect) -> None:
                if comes(effect, self._place):
                    kill_group(process)

            with effects_below(zone.root / "lake", seen):
                process.wait(_PATIENCE)
        assert process.returncode == -signal.SIGKILL, (path.name, output_of(zone))
        return (zone.root / FORMS).read_text().split()

    def ends_well(self, key: int) -> None:
        """A runner comes to its end, and adds a row."""
        zone = self.mirror.zone
        self.sent.send([(INSERT, key, "by the living")])
        words = ("tests.kill.commit_driver", str(zone.root), self.key)
        assert run_to_end(zone, *words) == SURVIVED, output_of(zone)
        self.assert_right()

    @property
    def is_noted(self) -> bool:
        """Whether somebody has come behind the commit, and has written down that it is there."""
        log, known = self.mirror.observed(self.key).log, self.mirror.control(self.key).applied
        assert isinstance(log, TableLog)
        assert log.live is not None
        return known is not None and (known.app_id, known.position) == (
            log.live[0].app_id,
            log.live[1],
        )

    def is_of_batch(self, effect: Effect, place: PurePosixPath) -> bool:
        """The version by which the newest file is applied has come into the log."""
        if not _is_entry(effect, place):
            return False
        entry = (self.mirror.zone.root / "lake" / effect.path).read_text()
        applied = (json.loads(action).get("txn") for action in entry.splitlines())
        return any(txn and txn["version"] == self.sent.last for txn in applied)

    def unnamed(self) -> set[str]:
        """Data files, whole or not, that no version up to now names."""
        own = self.mirror.zone.root / "lake" / self._place
        lying = {
            file.name
            for file in own.rglob("*")
            if file.is_file() and _is_named(file.relative_to(own))
        }
        try:
            table = DeltaTable(str(own))
        except TableNotFoundError:
            return lying
        return lying - {PurePosixPath(uri).name for uri in table.file_uris()}

    def assert_right(self) -> None:
        assert self.applied == self.sent.last
        is_history = self.key != self.sent.name
        expected = self.sent.versions if is_history else self.sent.rows
        assert bag(map(version_with_decided, self.mirror.rows(self.key))) == bag(expected)


def _settings(paths: Paths) -> dict[str, str]:
    return {
        "OPENMIRROR_SMALL_BATCH": str(paths.small_batch),
        "OPENMIRROR_SMALL_TABLE": str(paths.small_table),
        **({} if paths.direct else {"OPENMIRROR_DIRECT_BATCH": "0"}),
    }


def _assert_right_after_kills(table: Dying, paths: Sequence[CommitPath]) -> None:
    for path in paths:
        if path.instead is not None:
            continue  # it is two fences, and no file of its own
        if path.by_checksum:
            table.ends_well(98)  # the dead have left none
        path.first(table.mirror.zone, table.sent)
        for rows in path.files:
            table.sent.send(rows)
        unnamed = table.unnamed()
        forms = table.killed_when(path, _is_data)
        noted = [form for form in path.forms if form not in (Form.DIRECT, Form.PROPERTIES)]
        assert forms == noted, (path.name, "it noted other commits before it died")
        assert table.unnamed() - unnamed, (path.name, "it had not begun, or was done")
        table.killed_when(path, _is_entry)
        if table.applied < table.sent.last:  # it was a fence, or properties that come before
            table.killed_when(path, table.is_of_batch)
        table.assert_right()
        assert not table.is_noted, path.name
    table.ends_well(99)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_table_is_right_after_processes_were_killed_inside_each_of_its_commits(
    mirror: Mirror,
) -> None:
    table = Dying(mirror, Sent(mirror.zone, "t"), "t")
    _assert_right_after_kills(table, OF_A_TABLE)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_history_is_right_after_processes_were_killed_inside_each_of_its_commits(
    mirror: Mirror,
) -> None:
    sent = Sent(mirror.zone, "h")
    sent.send([(INSERT, 1, "a"), (INSERT, 2, "b")])
    assert isinstance(mirror.reconcile_until_idle("h"), Idle)
    _assert_right_after_kills(Dying(mirror, sent, "_history/h"), OF_A_HISTORY)
