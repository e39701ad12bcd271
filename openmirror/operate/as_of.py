"""What `as-of` asks and answers: which version of a table holds which files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.errors import WrongRequest
from openmirror.plan.as_of import AsOf, Run, at_sequence, at_time, runs_of
from openmirror.plan.observed import ObservedState
from openmirror.ports import PastReader
from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.protocol.naming_scheme import ParsedName, name_within, read_name
from openmirror.protocol.sequence import FENCED, Position, Sequence, file_stem
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table.layout import StorePath
from openmirror.table.ledger import effective
from openmirror.table.log import TableLog
from openmirror.table.past import Past


@dataclass(frozen=True, kw_only=True)
class UpTo:
    """The files up to a number; or up to a file, by its name."""

    sequence: Sequence | None = None
    file: str = ""
    incarnation: Incarnation | None = None
    """None: the one that the table has now."""


@dataclass(frozen=True, kw_only=True)
class PastAnswer:
    """What a table's past says."""

    table: StorePath
    """Where it lies."""
    incarnation: Incarnation
    """The one that was asked for, or that the table has now."""
    applied: Position
    """How far that one ever was applied, as far as the log goes back."""
    asked: Sequence | datetime
    as_of: AsOf


def as_of(
    ports: RootPorts, reader: PastReader, folder: TableFolder, asked: UpTo | datetime
) -> PastAnswer:
    """Which version of a table holds what was asked for, and whether it can still be read.

    Raises WrongRequest, with the remedy, for what no version can ever answer.
    """
    observed = observe(ports, folder).observed
    log = observed.log or observed.retained
    if log is None:
        raise WrongRequest(f"{observed.name} has no table yet: nothing of it was ever applied")
    if isinstance(log, TableLog) and folder not in log.owners:
        owners = ", ".join(map(str, sorted(log.owners))) or "no mirror"
        raise WrongRequest(f"the table {observed.name} is not that of {folder}: it is of {owners}")
    past = reader.past(log.path)
    runs = runs_of(past) if past is not None else ()
    if past is None or not runs:
        raise WrongRequest(
            f"the log of {observed.name} says of no version which files it has; "
            "`openmirror status` says what is wrong with it"
        )
    if isinstance(asked, datetime):
        return _at(observed, past, runs, log.path, asked)
    incarnation = _incarnation(observed, runs, asked.incarnation)
    sequence = asked.sequence or _number_of(ports, observed, incarnation, asked.file)
    return PastAnswer(
        table=log.path,
        incarnation=incarnation,
        applied=_applied(runs, incarnation),
        asked=sequence,
        as_of=at_sequence(past, incarnation, sequence),
    )


def _at(
    observed: ObservedState, past: Past, runs: tuple[Run, ...], table: StorePath, moment: datetime
) -> PastAnswer:
    if moment > observed.at:
        raise WrongRequest(
            f"{moment.isoformat()} has not come yet: what will be applied until then, nobody knows"
        )
    answer = at_time(past, moment)
    incarnation = answer.found.run.incarnation if answer.found else runs[-1].incarnation
    return PastAnswer(
        table=table,
        incarnation=incarnation,
        applied=_applied(runs, incarnation),
        asked=moment,
        as_of=answer,
    )


def _applied(runs: tuple[Run, ...], incarnation: Incarnation) -> Position:
    return max(run.position for run in runs if run.incarnation == incarnation)


def _incarnation(
    observed: ObservedState, runs: tuple[Run, ...], wanted: Incarnation | None
) -> Incarnation:
    if wanted is None:
        return runs[-1].incarnation
    known = dict.fromkeys(run.incarnation for run in reversed(runs))
    if wanted not in known:
        listed = ", ".join(f"{one} (up to {_applied(runs, one)})" for one in known)
        raise WrongRequest(
            f"the log of {observed.name} has no incarnation {wanted}. It has, newest first: "
            f"{listed}"
        )
    return wanted


def _number_of(
    ports: RootPorts, observed: ObservedState, incarnation: Incarnation, given: str
) -> Sequence:
    """The number of a file: that of its name, or the one that the ledger gave it."""
    name = name_within(given)
    parsed = read_name(observed.naming, name)
    if not isinstance(parsed, ParsedName):
        why = f": {parsed.reason}" if parsed else ""
        raise WrongRequest(f"{given} is no change file of {observed.name}{why}")
    if not observed.naming.has_ledger and parsed.number is not None:
        return parsed.number
    entries = read_entries(ports.store, observed.folder, incarnation)
    entry = effective(entries, observed.naming, FENCED).get(name)
    if entry is None:
        raise WrongRequest(
            f"the ledger of {observed.name} has no file called {name}: it was not applied, or was "
            "purged long ago; `openmirror history` has the numbers of each commit"
        )
    return entry.sequence


def unapplied(answer: PastAnswer) -> str | None:
    """What to say where the files that were asked for are not all applied yet; else None."""
    if isinstance(answer.asked, datetime) or answer.asked <= answer.applied:
        return None
    if answer.as_of.found is not None:
        return None
    return f"{file_stem(answer.asked)} is not applied; the table is at {answer.applied}"
