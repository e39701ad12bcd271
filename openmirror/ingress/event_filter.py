"""The event filter: what one landing event means for its table, before any engine is started.

The rules are the plan's own, over a partial observation instead of a full one. Every answer but a
wake-up can only cost minutes and never a change: the sweep asks the same question of every table,
with a full observation. And a wake-up too many costs only an observation.
"""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.errors import (
    AccessDenied,
    ConditionFailed,
    DocumentUnreadable,
    NotThere,
    Problem,
    Unavailable,
)
from openmirror.ingress.partial_observation import PartialObservation, observe_partially
from openmirror.ingress.plain_work import is_plain_work
from openmirror.plan import ObservedState, plan
from openmirror.plan.decisions import Apply, Held, HeldBy, Idle, Pause, Replace, Wait
from openmirror.plan.holding import held
from openmirror.plan.rules import what_changed
from openmirror.plan.wake import is_recorded, needs_reconcile
from openmirror.ports import Step, WorkItem, WorkQueue
from openmirror.ports.landing_events import Elsewhere, EventKind, Inside, LandingEvent, location_of
from openmirror.protocol.names import METADATA_FILE, TableFolder
from openmirror.protocol.naming_scheme import ANY_FILE, is_partition, read_name
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import file_stem
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.reconciliation import save_learned
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout


@dataclass(frozen=True)
class Woken:
    """A runner is asked to reconcile these tables."""

    folders: tuple[TableFolder, ...]


@dataclass(frozen=True)
class Ignored:
    """Nobody needs to do anything now, and why."""

    reason: str
    watch: TableFolder | None = None
    """The table that waits now: nothing else may show a sweep that it is not at rest any more."""


@dataclass(frozen=True)
class Found:
    """The table is paused by this problem, which its status shows from now on."""

    folder: TableFolder
    problem: Problem


Answer = Woken | Ignored | Found


def handle_event(ports: RootPorts, work: WorkQueue, event: LandingEvent) -> Answer:
    """Filter one event, and send a work item for each table that has to be woken.

    Raises what the queue raises when it takes no work item, and AccessDenied without a place: the
    event must then be delivered again.
    """
    answer = filter_event(ports, event)
    ports.steps(Step.FILTERED)
    if isinstance(answer, Woken):
        for folder in answer.folders:
            work.send(WorkItem(folder, layout.name_of(event.path), event.identity))
    return answer


def filter_event(ports: RootPorts, event: LandingEvent) -> Answer:
    """What one event means; sends nothing, but records a problem that is found."""
    if event.is_only_opened:
        return Ignored("the file was only opened for writing: it is still empty")
    if event.kind is not EventKind.FOLDER_RENAMED or event.source is None:
        return _at(ports, event, event.path)
    # Two folders may have changed: one is gone, one is new.
    answers = [_at(ports, event, path) for path in (event.path, event.source)]
    woken = [folder for answer in answers if isinstance(answer, Woken) for folder in answer.folders]
    return Woken(tuple(dict.fromkeys(woken))) if woken else answers[0]


def _at(ports: RootPorts, event: LandingEvent, path: layout.StorePath) -> Answer:
    match location_of(path):
        case Elsewhere(reason):
            return Ignored(reason)
        case Inside(folder, name):
            return _inside(ports, event, folder, name)
        case folder:
            if not event.kind.is_of_folder:
                return Ignored("it is a file beside the table folders")
            return _at_table(ports, folder, None)


def _inside(ports: RootPorts, event: LandingEvent, folder: TableFolder, name: str) -> Answer:
    if event.may_grow and _is_growing(ports, event.path):
        return Ignored("the file is still being copied", watch=folder)
    if event.kind.is_of_folder:
        return _inner_folder(ports, event, folder, name)
    if name == METADATA_FILE or event.kind is EventKind.FILE_DELETED:
        return _at_table(ports, folder, None)
    return _at_table(ports, folder, name, event.size)


def _is_growing(ports: RootPorts, path: layout.StorePath) -> bool:
    try:
        return ports.store.read(path, 0, 0).growing
    except (NotThere, ConditionFailed, Unavailable):
        return False  # the filter's own reads show what is the matter


def _inner_folder(ports: RootPorts, event: LandingEvent, folder: TableFolder, name: str) -> Answer:
    may_be_partition = all(is_partition(part) for part in name.split("/"))
    if event.kind is EventKind.FOLDER_RENAMED and may_be_partition:
        return _at_table(ports, folder, None)  # with whatever files it holds
    is_named_as_file = read_name(ANY_FILE, name) is not None and "." in name
    if is_named_as_file and event.kind is not EventKind.FOLDER_DELETED:
        return Woken((folder,))  # a folder where a file should be: an observation shows it
    return Ignored("it is a folder inside a table folder")


def _at_table(
    ports: RootPorts, folder: TableFolder, announced: str | None, size: int | None = None
) -> Answer:
    try:
        if announced is not None and is_plain_work(ports, folder, announced, size):
            return Woken((folder,))
        partial = observe_partially(ports, folder, announced)
        return _filtered(ports, partial, announced)
    except DocumentUnreadable as error:
        return Ignored(str(error))
    except AccessDenied as error:
        if error.place is None:
            raise
        # One table's path must not keep the other events of a message from being handled.
        return _refused(ports, folder)
    except (NotThere, ConditionFailed, Unavailable):
        # It changes while it is observed, or cannot be read now: the next observation shows more.
        return Woken((folder,))


def _refused(ports: RootPorts, folder: TableFolder) -> Answer:
    """Something of this table is refused to us; a runner, as whom it is, may be let in.

    Unless one was refused as well: else each event of the table would start one.
    """
    try:
        recorded = Documents(ports.store).table(folder).value.problem
    except (AccessDenied, DocumentUnreadable):
        recorded = None
    if recorded is not None and recorded.code is Code.ACCESS_DENIED:
        return Ignored(f"the table is paused: {recorded.code.value}")
    return Woken((folder,))


def _filtered(ports: RootPorts, partial: PartialObservation, announced: str | None) -> Answer:
    observed = partial.observed
    if partial.not_a_change_file:
        return Ignored(partial.not_a_change_file)
    if announced and observed.incarnation and not partial.shows(announced):
        return Ignored(f"{announced} is not there any more")
    recorded = observed.control.problem
    if recorded and _still_stops(observed, recorded):
        return Ignored(f"the table is paused: {recorded.code.value}")
    if observed.incarnation and observed.naming.has_ledger:
        return _in_a_ledger(partial, announced)
    decision = plan(observed, ports.limits, observed.at)
    match decision:
        case Held() as hold:
            return Ignored(_held(hold))
        case _ if observed.control.request:
            return Woken((observed.folder,))  # what was asked for may depend on every file
        case Pause(problem) if is_recorded(observed, problem):
            return Ignored(f"the table is paused: {problem.code.value}")
        case Pause(problem) if problem.code is Code.APPLIED_FILE_CHANGED:
            return Woken((observed.folder,))  # only the archive shows whether it was overwritten
        case Pause(problem) if problem.code is Code.ACCESS_DENIED:
            return Woken((observed.folder,))  # the runner, as whom it is, may be let in
        case Pause(problem):
            if (
                ports.store.incarnation(layout.table_folder(observed.folder))
                != observed.incarnation
            ):
                return Woken((observed.folder,))
            save_learned(ports, partial.seen, decision)
            return Found(observed.folder, problem)
        case Idle() if not needs_reconcile(observed, decision):
            return Ignored("there is nothing that is not applied")
        case Wait(waiting) if not needs_reconcile(observed, decision):
            return Ignored(f"the table waits: {waiting.detail}", watch=observed.folder)
        case Apply() | Replace() if partial.missing:
            reason = f"the table will wait: {file_stem(partial.missing)} is missing"
            return Ignored(reason, watch=observed.folder)
        case _:
            return Woken((observed.folder,))


def _still_stops(observed: ObservedState, problem: Problem) -> bool:
    """Whether a recorded problem holds without observing anew what it was found in."""
    # Access is granted without any file's change.
    return problem.code is not Code.ACCESS_DENIED and what_changed(observed, problem) is None


def _held(hold: Held) -> str:
    what = "mirror" if hold.scope is HeldBy.MIRROR else "table"
    return f"the {what} is held by {hold.hold.by if hold.hold else 'mountedTables'}"


def _in_a_ledger(partial: PartialObservation, announced: str | None) -> Answer:
    """What can be decided without the order of all files; the rest takes a full observation."""
    observed = partial.observed
    if hold := held(observed):
        return Ignored(_held(hold))
    if observed.control.request:
        return Woken((observed.folder,))
    if partial.missing:
        reason = f"its partition will wait: {file_stem(partial.missing)} is missing"
        return Ignored(reason, watch=observed.folder)
    if announced is not None and _is_applied(observed, announced):
        return Ignored("it is applied already")
    return Woken((observed.folder,))


def _is_applied(observed: ObservedState, name: str) -> bool:
    """Whether the very content that lies there under this name was applied."""
    etags = {file.etag for file in observed.files.values() if file.name == name}
    applied = observed.record.applied_files(observed.applied) if observed.record else ()
    return any(manifest.name == name and manifest.etag in etags for manifest in applied)
