"""The door: what one landing event means for its table, before any engine is started.

The rules are the plan's own, over a glance instead of a look. Every answer but a ring can only
cost seconds and never a change: the sweep asks the same question of every table, with the full
look. And a ring too many costs only a look.
"""

from __future__ import annotations

from dataclasses import dataclass

from openmirror import layout
from openmirror.errors import (
    ConditionFailed,
    DocumentUnreadable,
    NotThere,
    Problem,
    Unavailable,
)
from openmirror.events import Elsewhere, EventKind, Inside, LandingEvent, place_of
from openmirror.plan import Look, plan
from openmirror.plan.decisions import Apply, Held, Idle, Pause, Reset, Wait
from openmirror.plan.rules import is_unchanged
from openmirror.ports import Ring, Step, WorkQueue
from openmirror.protocol.filing import ANY_FILE, is_partition, read_name
from openmirror.protocol.names import METADATA_FILE, TableFolder
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import file_stem
from openmirror.services.glancing import Glance, glance_at
from openmirror.services.parts import Parts
from openmirror.services.sweeping import is_for_a_visit
from openmirror.services.visiting import record


@dataclass(frozen=True)
class Rung:
    """A runner is asked to look at these tables."""

    folders: tuple[TableFolder, ...]


@dataclass(frozen=True)
class Ignored:
    """Nobody needs to do anything now, and why."""

    reason: str


@dataclass(frozen=True)
class Found:
    """The table is paused by this problem, which its status shows from now on."""

    folder: TableFolder
    problem: Problem


Answer = Rung | Ignored | Found


def admit(parts: Parts, work: WorkQueue, event: LandingEvent) -> Answer:
    """Answer one event, and ring where the answer says so.

    Raises what the queue raises when it takes no ring, and AccessDenied: the event must then be
    handed in again.
    """
    answer = judge(parts, event)
    parts.steps(Step.JUDGED)
    if isinstance(answer, Rung):
        for folder in answer.folders:
            work.send(Ring(folder, layout.name_of(event.path), event.identity))
    return answer


def judge(parts: Parts, event: LandingEvent) -> Answer:
    """What one event means, without ringing; a problem that is found is written down."""
    if event.may_grow:
        return Ignored("the file was only opened for writing: it is still empty")
    if event.kind is not EventKind.FOLDER_RENAMED or event.source is None:
        return _at(parts, event, event.path)
    # Two folders may have changed: one is gone, one is new.
    answers = [_at(parts, event, path) for path in (event.path, event.source)]
    rung = [folder for answer in answers if isinstance(answer, Rung) for folder in answer.folders]
    return Rung(tuple(dict.fromkeys(rung))) if rung else answers[0]


def _at(parts: Parts, event: LandingEvent, path: layout.StorePath) -> Answer:
    match place_of(path):
        case Elsewhere(reason):
            return Ignored(reason)
        case Inside(folder, name):
            return _inside(parts, event, folder, name)
        case folder:
            if not event.kind.is_of_folder:
                return Ignored("it is a file beside the table folders")
            return _at_table(parts, folder, None)


def _inside(parts: Parts, event: LandingEvent, folder: TableFolder, name: str) -> Answer:
    if event.kind.is_of_folder:
        return _inner_folder(parts, event, folder, name)
    if name == METADATA_FILE or event.kind is EventKind.FILE_DELETED:
        return _at_table(parts, folder, None)
    return _at_table(parts, folder, name)


def _inner_folder(parts: Parts, event: LandingEvent, folder: TableFolder, name: str) -> Answer:
    may_be_partition = all(is_partition(part) for part in name.split("/"))
    if event.kind is EventKind.FOLDER_RENAMED and may_be_partition:
        return _at_table(parts, folder, None)  # with whatever files it holds
    is_named_as_file = read_name(ANY_FILE, name) is not None and "." in name
    if is_named_as_file and event.kind is not EventKind.FOLDER_DELETED:
        return Rung((folder,))  # a folder where a file should be: a look says so
    return Ignored("it is a folder inside a table folder")


def _at_table(parts: Parts, folder: TableFolder, announced: str | None) -> Answer:
    try:
        glance = glance_at(parts, folder, announced)
        return _judged(parts, glance, announced)
    except DocumentUnreadable as error:
        return Ignored(str(error))
    except (NotThere, ConditionFailed, Unavailable):
        # It changes while it is judged, or cannot be read now: whoever looks next knows more.
        return Rung((folder,))


def _judged(parts: Parts, glance: Glance, announced: str | None) -> Answer:
    look = glance.look
    if glance.not_a_change_file:
        return Ignored(glance.not_a_change_file)
    if announced and look.incarnation and not glance.shows(announced):
        return Ignored(f"{announced} is not there any more")
    standing = look.control.problem
    if standing and is_unchanged(look, standing):
        return Ignored(f"the table is paused: {standing.code.value}")
    if look.incarnation and look.filing.has_ledger:
        return _in_a_ledger(glance, announced)
    decision = plan(look, parts.limits, look.at)
    match decision:
        case Held(hold):
            return Ignored(f"the table is held by {hold.by}")
        case _ if look.control.request:
            return Rung((look.folder,))  # what was asked for may depend on every file
        case Pause(problem) if problem.same_as(standing):
            return Ignored(f"the table is paused: {problem.code.value}")
        case Pause(problem) if problem.code is Code.APPLIED_FILE_CHANGED:
            return Rung((look.folder,))  # only the archive tells whether it was overwritten
        case Pause(problem):
            if parts.store.incarnation(layout.table_folder(look.folder)) != look.incarnation:
                return Rung((look.folder,))
            record(parts, glance.seen, decision)
            return Found(look.folder, problem)
        case Idle():
            return Ignored("there is nothing that is not applied")
        case Wait(waiting) if not is_for_a_visit(look, decision):
            return Ignored(f"the table waits: {waiting.detail}")
        case Apply() | Reset() if glance.missing:
            return Ignored(f"the table will wait: {file_stem(glance.missing)} is missing")
        case _:
            return Rung((look.folder,))


def _in_a_ledger(glance: Glance, announced: str | None) -> Answer:
    """What can be told without the order of all files; the rest takes a whole look."""
    look = glance.look
    if look.control.hold:
        return Ignored(f"the table is held by {look.control.hold.by}")
    if look.control.request:
        return Rung((look.folder,))
    if glance.missing:
        return Ignored(f"its partition will wait: {file_stem(glance.missing)} is missing")
    if announced is not None and _is_applied(look, announced):
        return Ignored("it is applied already")
    return Rung((look.folder,))


def _is_applied(look: Look, name: str) -> bool:
    """Whether the very content that lies there under this name was applied."""
    etags = {file.etag for file in look.files.values() if file.name == name}
    applied = look.life.applied_files(look.applied) if look.life else ()
    return any(digest.name == name and digest.etag in etags for digest in applied)
