"""What only older versions of a log say: positions before a fence, and our batch records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from openmirror.deltalog.actions import Damaged
from openmirror.deltalog.listed import ListedLog
from openmirror.errors import ConditionFailed, NotThere
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.table.log import AppId, BatchRecord, TableLog


def knows_all(log: TableLog) -> bool:
    """Whether nothing of an older version is needed to complete it."""
    return log.live is not None and log.batch_record is not None


def with_history(listed: ListedLog, log: TableLog) -> TableLog:
    """The log, completed by what its newest state lacks; a stranger's is left as it is.

    All versions that there are must be listed, unless the log `knows_all`.
    """
    if not log.epochs:
        return log
    fenced = {epoch.app_id for epoch in log.epochs}
    before_fence = {} if log.live else _before_fence(listed, fenced)
    return replace(
        log,
        before_fence=before_fence,
        batch_record=log.batch_record or newest(listed),
    )


def batch_records(listed: ListedLog, limit: int) -> list[BatchRecord]:
    """Our newest commits, newest first; damaged ones are left out."""
    found: list[BatchRecord] = []
    for version in _newest_first(listed):
        if len(found) >= limit:
            break
        try:
            batch_record = listed.commit(version).log.batch_record
        except (Damaged, NotThere, ConditionFailed):
            continue
        if batch_record:
            found.append(batch_record)
    return found


def newest(listed: ListedLog) -> BatchRecord | None:
    """Our newest commit among those listed; None also where a damaged one may have been ours."""
    try:
        found = (listed.commit(version).log.batch_record for version in _newest_first(listed))
        return next((batch_record for batch_record in found if batch_record), None)
    except Damaged:
        # It may have been ours: an older batch record would have totals that are too low.
        return None


def _before_fence(listed: ListedLog, fenced: set[AppId]) -> dict[AppId, Position]:
    """Where these epochs were before their fence.

    A damaged file is not passed over: behind it may be the position, and a position that is too
    low applies changes twice.
    """
    found: dict[AppId, Position] = {}
    for log in _older(listed):
        for app in fenced - found.keys():
            position = log.transactions.get(app, FENCED)
            if position < FENCED:
                found[app] = position
        if fenced == found.keys():
            break
    return {app: found.get(app, START) for app in fenced}


def _older(listed: ListedLog) -> Iterator[TableLog]:
    for version in _newest_first(listed):
        yield listed.commit(version).log
    for checkpoint in listed.files.checkpoints:
        yield listed.checkpoint(checkpoint).log


def _newest_first(listed: ListedLog) -> list[int]:
    return sorted(listed.files.commits, reverse=True)
