"""The sample: a row is landed, waited for, taken away again, and waited for once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from openmirror import layout
from openmirror.deployment.findings import Finding
from openmirror.deployment.sample import (
    FOLDER,
    MIRROR,
    SampleStep,
    Stuck,
    judge_arrival,
    judge_stuck,
)
from openmirror.doorbells import EVENTS_QUEUE, WORK_QUEUE
from openmirror.errors import AccessDenied, ConditionFailed, NotThere, Unavailable
from openmirror.lifecycle import StageWord, TableStatus
from openmirror.ports import ABSENT
from openmirror.ports.sampling import KEY, QueueLengths, SampleRow
from openmirror.ports.workspace import JobLook
from openmirror.protocol.names import METADATA_FILE, TableFolder, TablePath, table_name
from openmirror.protocol.sequence import PARQUET, ChangeFileName, Sequence, parse_change_file
from openmirror.services.mirrors import default_schema
from openmirror.services.parts import Parts
from openmirror.services.reporting import heartbeat, statuses

POLL = timedelta(seconds=2)
_GIVEN_UP = timedelta(days=1)
"""Nobody waits so long for a row."""
_LOOKS = 5
"""So many polls for one look at how things stand."""
_METADATA = {"keyColumns": [KEY]}


@dataclass(kw_only=True)
class Sample:
    """One run of it; `sleep` waits, `tell` hears what is waited for."""

    parts: Parts
    row: SampleRow
    queues: QueueLengths
    job: Callable[[], JobLook | None]
    sleep: Callable[[timedelta], None]
    tell: Callable[[str], None]
    timeout: timedelta
    identity: str = field(default_factory=lambda: uuid4().hex)
    _rung: bool = False

    def finding(self) -> Finding:
        """That it came and went, or where it is stuck."""
        self._describe()
        took = self._sent(self.row.insert(self.identity, self.parts.clock()), SampleStep.APPEAR)
        if isinstance(took, Stuck):
            return judge_stuck(took)
        gone = [self.identity, *self._left_over()]
        back = self._sent(self.row.delete(gone), SampleStep.DISAPPEAR)
        return judge_stuck(back) if isinstance(back, Stuck) else judge_arrival(took, back)

    def _describe(self) -> None:
        """What the table is; said once."""
        path = layout.join(layout.table_folder(FOLDER), METADATA_FILE)
        with suppress(ConditionFailed):
            self.parts.store.write(path, json.dumps(_METADATA).encode(), ABSENT)

    def _sent(self, data: bytes, step: SampleStep) -> timedelta | Stuck:
        """Land a change file, and wait for what it does: how long it took, or why it did not."""
        beat = heartbeat(self.parts.store, MIRROR)
        name = self._land(data)
        self.tell(f"{name} has landed; waiting for the row to {step}")
        began, looks = self.parts.clock(), 0
        while not self._is_done(step):
            waited = self.parts.clock() - began
            paused = looks % _LOOKS == 0 and self._seen(waited)
            if paused or waited >= self.timeout:
                return self._stuck(step, waited, beat)
            looks += 1
            self.sleep(POLL)
        return self.parts.clock() - began

    def _land(self, data: bytes) -> ChangeFileName:
        """Write the next change file; another verification may take a number first."""
        store, folder = self.parts.store, layout.table_folder(FOLDER)
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
        return [one for one, at in known.items() if self.parts.clock() - at > _GIVEN_UP]

    def _rows(self) -> Mapping[str, datetime]:
        schema = default_schema(self.parts.store, MIRROR)
        return self.row.present(layout.delta_table(MIRROR, table_name(FOLDER.path, schema)))

    def _seen(self, waited: timedelta) -> bool:
        """Say how it stands; whether there is no use in waiting."""
        events, work = self._length(EVENTS_QUEUE), self._length(WORK_QUEUE)
        self._rung = self._rung or bool(work)
        told = ", ".join(
            f"{length} in {queue}"
            for queue, length in ((EVENTS_QUEUE, events), (WORK_QUEUE, work))
            if length is not None
        )
        self.tell(f"{waited.total_seconds():.0f} s: {told or 'the queues cannot be asked'}")
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
        return next((one for one in statuses(self.parts, [MIRROR]) if one.folder in _OURS), None)

    def _stuck(self, step: SampleStep, waited: timedelta, beat: datetime | None) -> Stuck:
        table, now = self._status(), heartbeat(self.parts.store, MIRROR)
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
            rings_seen=self._rung,
        )


_OURS = (FOLDER, TableFolder(MIRROR, TablePath("", "")))
"""The table, or the entry that says that the mirror cannot be read."""
