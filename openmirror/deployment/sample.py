"""The sample: a row is landed, waited for, taken away again, and waited for once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from openmirror.deployment.rules.findings import Finding
from openmirror.deployment.rules.sample import (
    FOLDER,
    MIRROR,
    SampleStep,
    Stuck,
    check_arrival,
    check_stuck,
)
from openmirror.errors import AccessDenied, ConditionFailed, NotThere, Unavailable
from openmirror.operate.report import heartbeat, statuses
from openmirror.ports import ABSENT
from openmirror.ports.sampling import KEY, QueueLengths, SampleRow
from openmirror.ports.work_items import EVENTS_QUEUE, WORK_QUEUE
from openmirror.ports.workspace import ObservedJob
from openmirror.protocol.names import METADATA_FILE, TableFolder, TablePath, table_name
from openmirror.protocol.sequence import PARQUET, ChangeFileName, Sequence, parse_change_file
from openmirror.reconcile.mirrors import default_schema
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import StageWord, TableStatus
from openmirror.table import layout

POLL = timedelta(seconds=2)
_GIVEN_UP = timedelta(days=1)
"""Nobody waits so long for a row."""
_OBSERVATIONS = 5
"""So many polls for one observation of queues and table status."""
_METADATA = {"keyColumns": [KEY]}


@dataclass(kw_only=True)
class Sample:
    """One run of it; `sleep` waits, `emit` gets lines about what is waited for."""

    ports: RootPorts
    row: SampleRow
    queues: QueueLengths
    job: Callable[[], ObservedJob | None]
    sleep: Callable[[timedelta], None]
    emit: Callable[[str], None]
    timeout: timedelta
    identity: str = field(default_factory=lambda: uuid4().hex)
    _woken: bool = False

    def finding(self) -> Finding:
        """That it came and went, or where it is stuck."""
        self._describe()
        took = self._sent(self.row.insert(self.identity, self.ports.clock()), SampleStep.APPEAR)
        if isinstance(took, Stuck):
            return check_stuck(took)
        gone = [self.identity, *self._left_over()]
        back = self._sent(self.row.delete(gone), SampleStep.DISAPPEAR)
        return check_stuck(back) if isinstance(back, Stuck) else check_arrival(took, back)

    def _describe(self) -> None:
        """Write the table's `_metadata.json`, once."""
        path = layout.join(layout.table_folder(FOLDER), METADATA_FILE)
        with suppress(ConditionFailed):
            self.ports.store.write(path, json.dumps(_METADATA).encode(), ABSENT)

    def _sent(self, data: bytes, step: SampleStep) -> timedelta | Stuck:
        """Land a change file, and wait for what it does: how long it took, or why it did not."""
        beat = heartbeat(self.ports.store, MIRROR)
        name = self._land(data)
        self.emit(f"{name} has landed; waiting for the row to {step}")
        began, observations = self.ports.clock(), 0
        while not self._is_done(step):
            waited = self.ports.clock() - began
            paused = observations % _OBSERVATIONS == 0 and self._seen(waited)
            if paused or waited >= self.timeout:
                return self._stuck(step, waited, beat)
            observations += 1
            self.sleep(POLL)
        return self.ports.clock() - began

    def _land(self, data: bytes) -> ChangeFileName:
        """Write the next change file; another verification may take a number first."""
        store, folder = self.ports.store, layout.table_folder(FOLDER)
        while True:
            names = (parse_change_file(entry.name) for entry in store.list_folder(folder).entries)
            last = max(
                (one.sequence for one in names if isinstance(one, ChangeFileName)), default=0
            )
            name = ChangeFileName(Sequence(last + 1), PARQUET)
            try:
                store.write(layout.join(folder, str(name)), data, ABSENT)
            except ConditionFailed:
                continue
            return name

    def _is_done(self, step: SampleStep) -> bool:
        try:
            is_there = self.identity in self._rows()
        except (NotThere, ConditionFailed, Unavailable):
            return False  # it is written just now, or the account is too busy to say
        return is_there is (step is SampleStep.APPEAR)

    def _left_over(self) -> list[str]:
        """Rows of verifications that gave up waiting, before they came after all."""
        try:
            known = self._rows()
        except (NotThere, ConditionFailed, Unavailable):
            return []  # the next verification sees them
        return [one for one, at in known.items() if self.ports.clock() - at > _GIVEN_UP]

    def _rows(self) -> Mapping[str, datetime]:
        schema = default_schema(self.ports.store, MIRROR)
        return self.row.present(layout.delta_table(MIRROR, table_name(FOLDER.path, schema)))

    def _seen(self, waited: timedelta) -> bool:
        """Say how it stands; whether there is no use in waiting."""
        events, work = self._length(EVENTS_QUEUE), self._length(WORK_QUEUE)
        self._woken = self._woken or bool(work)
        waiting = ", ".join(
            f"{length} in {queue}"
            for queue, length in ((EVENTS_QUEUE, events), (WORK_QUEUE, work))
            if length is not None
        )
        self.emit(f"{waited.total_seconds():.0f} s: {waiting or 'the queues cannot be asked'}")
        try:
            table = self._status()
        except Unavailable:
            return False
        return table is not None and (table.problem is not None or table.word is StageWord.HELD)

    def _length(self, queue: str) -> int | None:
        try:
            return self.queues.length(queue)
        except (AccessDenied, Unavailable):
            return None

    def _status(self) -> TableStatus | None:
        return next((one for one in statuses(self.ports, [MIRROR]) if one.folder in _OURS), None)

    def _stuck(self, step: SampleStep, waited: timedelta, beat: datetime | None) -> Stuck:
        table, now = self._status(), heartbeat(self.ports.store, MIRROR)
        return Stuck(
            step=step,
            waited=waited,
            problem=table.problem if table else None,
            is_held=table is not None and table.word is StageWord.HELD,
            waits_for=table.waiting_for.waiting.detail if table and table.waiting_for else "",
            events=self._length(EVENTS_QUEUE),
            work=self._length(WORK_QUEUE),
            was_swept=now is not None and now != beat,
            job=self.job(),
            wake_ups_seen=self._woken,
        )


_OURS = (FOLDER, TableFolder(MIRROR, TablePath("", "")))
"""The table, or the entry that says that the mirror cannot be read."""
