"""What operators ask for: written into control documents, carried out by the runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from openmirror import layout
from openmirror.control import Act, ControlDocument, RequestKind
from openmirror.errors import ConditionFailed, WrongRequest
from openmirror.plan import Decision, plan
from openmirror.plan.decisions import Held, Pause, Wait, WaitKind
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Look
from openmirror.plan.table import first_missing
from openmirror.plan.transitions.confirmed import confirmed
from openmirror.plan.transitions.requested import (
    acted,
    asked,
    given_up,
    held,
    resumed,
    retried,
    skipped,
)
from openmirror.ports import ABSENT
from openmirror.protocol.filing import Through
from openmirror.protocol.names import TableFolder
from openmirror.protocol.sequence import file_stem
from openmirror.services.documents import Documents
from openmirror.services.looking import look_at, with_archive
from openmirror.services.mirrors import brake
from openmirror.services.parts import Parts
from openmirror.tablelog import TableLog


@dataclass(frozen=True)
class Operator:
    """Who asks, and why, as it will stand in the table's history."""

    name: str
    why: str = ""


MOST_TRIES = 20


def hold(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Hold a table: nothing happens to it until it is resumed."""

    def change(look: Look, act: Act) -> ControlDocument:
        if look.control.hold:
            raise WrongRequest(f"{look.name} is already held, by {look.control.hold.by}")
        return held(look.control, act)

    _change(parts, folder, operator, "pause", change)


def resume(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Let a held table go on."""

    def change(look: Look, _: Act) -> ControlDocument:
        if not look.control.hold:
            raise WrongRequest(
                f"{look.name} is not held; `openmirror retry` looks again at a problem"
            )
        return resumed(look.control)

    _change(parts, folder, operator, "resume", change)


def retry(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Forget a recorded problem and its failures, so that the table is judged anew."""

    _change(parts, folder, operator, "retry", lambda look, _: retried(look.control))


def skip_file(parts: Parts, folder: TableFolder, name: str, operator: Operator) -> None:
    """Pass over a bad file as it is now, or accept what was applied of an overwritten one.

    A file that is replaced later is no longer the one that was skipped, and is read. Raises
    WrongRequest for a file that stops nothing: a good one would be lost by it.
    """

    def change(look: Look, act: Act) -> ControlDocument:
        there = (f for f in look.files.values() if f.name == name and not f.archived)
        file = next(there, None)
        if file is None or look.life is None:
            raise WrongRequest(f"{look.folder} has no change file called {name}")
        if not _stops_at(look, plan(look, parts.limits, look.at), file):
            raise WrongRequest(
                f"nothing stops at {name}: only a file that its table is paused over, or waits "
                "for, can be skipped; `openmirror status` shows where it stands"
            )
        return skipped(look, look.life, file, act)

    _change(parts, folder, operator, f"skip --file {name}", change)


def _stops_at(look: Look, decision: Decision, file: LandedFile) -> bool:
    match decision:
        case Pause(problem):
            return problem.file == file.name and problem.etag == file.etag
        case Wait(waiting):
            # What only settles is a good file: passed over, it would be lost.
            return waiting.kind is not WaitKind.SETTLE and waiting.file == file.name
        case Held():
            known = look.control.problem
            return known is not None and (known.file, known.etag) == (file.name, file.etag)
    return False


def skip_through(parts: Parts, folder: TableFolder, through: Through, operator: Operator) -> None:
    """Give up numbers that are missing; files that are there are still applied.

    Raises WrongRequest for a partition in a table whose partitions have no numbers of their own.
    """

    def change(look: Look, act: Act) -> ControlDocument:
        if look.life is None:
            raise WrongRequest(f"{look.folder} has no landing folder")
        has_own = look.filing.partitioned and look.filing.is_numbered
        if through.partition is not None and not has_own:
            raise WrongRequest(f"{look.name} has no partitions with numbers of their own")
        return given_up(look.control, look.life, through, act)

    _change(parts, folder, operator, f"skip --through {through}", change)


def reseed(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Ask for a rebuild from the folder and its archive.

    Raises WrongRequest, naming the first missing file, unless all files are there or skipped.
    """

    def change(look: Look, act: Act) -> ControlDocument:
        if look.incarnation is None:
            raise WrongRequest(f"{look.folder} has no landing folder to reseed from")
        control = asked(look.control, RequestKind.RESEED, act)
        missing = first_missing(with_archive(parts, replace(look, control=control)))
        if missing is not None:
            raise WrongRequest(
                f"{look.name} cannot be reseeded: {file_stem(missing)} is neither in the folder "
                "nor in its archive. Put it back, or `openmirror skip --through` it first"
            )
        return retried(control)

    _change(parts, folder, operator, "reseed", change)


def undrop(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Ask for a dropped table back; it comes back held."""

    def change(look: Look, act: Act) -> ControlDocument:
        if look.log is not None:
            raise WrongRequest(f"{look.name} is in its place; nothing to bring back")
        if look.aside is None:
            raise WrongRequest(f"{look.name} has no dropped life whose retention still runs")
        return asked(look.control, RequestKind.UNDROP, act)

    _change(parts, folder, operator, "undrop", change)


def adopt(parts: Parts, folder: TableFolder, operator: Operator) -> None:
    """Ask for a copied, renamed or restored table to be continued as this folder's own."""

    def change(look: Look, act: Act) -> ControlDocument:
        if not isinstance(look.log, TableLog) or not look.log.epochs:
            raise WrongRequest(f"{look.name} has no table of a mirror to adopt")
        owner = min(look.log.owners)
        elsewhere = owner != look.folder and owner.mirror == look.folder.mirror
        if elsewhere and parts.store.incarnation(layout.table_folder(owner)) is not None:
            raise WrongRequest(f"{look.name} belongs to {owner}, which is still there")
        return asked(look.control, RequestKind.ADOPT, act)

    _change(parts, folder, operator, "adopt", change)


def confirm_drops(parts: Parts, mirror: str, operator: Operator) -> list[TableFolder]:
    """Allow the drops that the brake asks about; answers which tables they are."""
    held_back = sorted(brake(parts, mirror))
    if not held_back:
        return []
    documents = Documents(parts.store)
    for _ in range(MOST_TRIES):
        stored = documents.mirror(mirror)
        zone = parts.store.incarnation(layout.landing_zone(mirror))
        try:
            documents.save_mirror(mirror, confirmed(stored.value, held_back, zone), stored.etag)
        except ConditionFailed:
            continue
        for folder in held_back:
            _change(parts, folder, operator, "confirm-drops", lambda look, _: look.control)
        return held_back
    raise ConditionFailed(f"the document of mirror {mirror} changed {MOST_TRIES} times in a row")


def _change(
    parts: Parts,
    folder: TableFolder,
    operator: Operator,
    what: str,
    change: Callable[[Look, Act], ControlDocument],
) -> None:
    """Change a control document under its ETag, deciding anew after every lost race."""
    act = Act(parts.clock(), operator.name, what, operator.why)
    for _ in range(MOST_TRIES):
        seen = look_at(parts, folder)
        if seen.etag is ABSENT and seen.look.incarnation is None and seen.look.log is None:
            raise WrongRequest(f"there is no table {seen.look.name}: no folder, no Delta table")
        control = acted(seen.look.control, change(seen.look, act), act)
        try:
            Documents(parts.store).save_table(folder, control, seen.etag)
        except ConditionFailed:
            continue
        return
    raise ConditionFailed(f"{folder} changed under {MOST_TRIES} tries in a row")
