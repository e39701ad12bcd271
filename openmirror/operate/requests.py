"""What operators ask for: written into control documents, carried out by the runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from openmirror.errors import ConditionFailed, WrongRequest
from openmirror.plan import Decision, plan
from openmirror.plan.decisions import Held, Pause, Wait, WaitKind
from openmirror.plan.facts import LandedFile
from openmirror.plan.missing import first_missing
from openmirror.plan.observed import DeletePolicy, ObservedState, TablePolicy
from openmirror.plan.soft_deletes import marks
from openmirror.plan.stopping import first_unread, hold_of_stop, rebuilt_through
from openmirror.plan.transitions.confirmed import confirmed
from openmirror.plan.transitions.maintained import asked_for, with_maintenance
from openmirror.plan.transitions.mirror_held import mirror_held, mirror_resumed
from openmirror.plan.transitions.requested import (
    acted,
    asked,
    given_up,
    hard_deletes_confirmed,
    held,
    resumed,
    retried,
    skipped,
    with_stop,
)
from openmirror.ports import ABSENT
from openmirror.protocol.names import TableFolder
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.sequence import START, Position, Sequence, file_stem
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirrors import bulk_drop_guard, open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reads import with_archive
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.control import Act, ControlDocument, MirrorDocument, RequestKind, StopAfter
from openmirror.table.log import TableLog


@dataclass(frozen=True)
class Operator:
    """Who asks, and why, as it will stand in the table's history."""

    name: str
    why: str = ""


MOST_TRIES = 20


def hold(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Hold a table: nothing happens to it until it is resumed."""

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if observed.control.hold:
            raise WrongRequest(f"{observed.name} is already held, by {observed.control.hold.by}")
        return held(observed.control, act)

    _change(ports, folder, operator, "pause", change)


def resume(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Let a held table go on."""

    def change(observed: ObservedState, _: Act) -> ControlDocument:
        if observed.record and not observed.control.hold and hold_of_stop(observed):
            # Its runner has not written the hold down yet.
            return with_stop(observed.control, observed.record, None)
        if not observed.control.hold and observed.mirror_hold:
            raise WrongRequest(
                f"{observed.name} is held with its whole mirror: "
                f"`openmirror resume --mirror {folder.mirror}`"
            )
        if not observed.control.hold:
            raise WrongRequest(
                f"{observed.name} is not held; `openmirror retry` checks a problem again"
            )
        return resumed(observed.control)

    _change(ports, folder, operator, "resume", change)


def hold_mirror(ports: RootPorts, mirror: str, operator: Operator) -> None:
    """Hold every table of a mirror, also those that come later, until it is resumed."""

    act = Act(ports.clock(), operator.name, "pause", operator.why)

    def change(document: MirrorDocument) -> MirrorDocument:
        if document.hold:
            raise WrongRequest(f"mirror {mirror} is already held, by {document.hold.by}")
        return mirror_held(document, act)

    _change_mirror(ports, mirror, change)


def resume_mirror(ports: RootPorts, mirror: str, operator: Operator) -> None:
    """Let a held mirror go on; tables that are held by themselves stay so."""

    act = Act(ports.clock(), operator.name, "resume", operator.why)

    def change(document: MirrorDocument) -> MirrorDocument:
        if not document.hold:
            raise WrongRequest(f"mirror {mirror} is not held; name the tables that are")
        return mirror_resumed(document, act)

    _change_mirror(ports, mirror, change)


def retry(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Forget a recorded problem and its failures, so that the table is checked anew."""

    _change(ports, folder, operator, "retry", lambda observed, _: retried(observed.control))


def skip_file(ports: RootPorts, folder: TableFolder, name: str, operator: Operator) -> None:
    """Pass over a bad file as it is now, or accept what was applied of an overwritten one.

    A file that is replaced later is no longer the one that was skipped, and is read. Raises
    WrongRequest for a file that stops nothing: a good one would be lost by it.
    """

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        there = (f for f in observed.files.values() if f.name == name and not f.archived)
        file = next(there, None)
        if file is None or observed.record is None:
            raise WrongRequest(f"{observed.folder} has no change file called {name}")
        if not _stops_at(observed, plan(observed, ports.limits, observed.at), file):
            raise WrongRequest(
                f"nothing stops at {name}: only a file that its table is paused over, or waits "
                "for, can be skipped; `openmirror status` shows where it stands"
            )
        return skipped(observed, observed.record, file, act)

    _change(ports, folder, operator, f"skip --file {name}", change)


def _stops_at(observed: ObservedState, decision: Decision, file: LandedFile) -> bool:
    match decision:
        case Pause(problem):
            return problem.file == file.name and problem.etag == file.etag
        case Wait(waiting):
            # A file in its quiet period is a good one: passed over, it would be lost.
            return waiting.kind is not WaitKind.QUIET_PERIOD and waiting.file == file.name
        case Held():
            known = observed.control.problem
            return known is not None and (known.file, known.etag) == (file.name, file.etag)
    return False


def skip_through(
    ports: RootPorts, folder: TableFolder, through: Through, operator: Operator
) -> None:
    """Give up numbers that are missing; files that are there are still applied.

    Raises WrongRequest for a partition in a table whose partitions have no numbers of their own.
    """

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if observed.record is None:
            raise WrongRequest(f"{observed.folder} has no landing folder")
        has_own = observed.naming.partitioned and observed.naming.is_numbered
        if through.partition is not None and not has_own:
            raise WrongRequest(f"{observed.name} has no partitions with numbers of their own")
        return given_up(observed.control, observed.record, through, act)

    _change(ports, folder, operator, f"skip --through {through}", change)


def reseed(
    ports: RootPorts, folder: TableFolder, operator: Operator, through: Sequence | None = None
) -> None:
    """Ask for a rebuild from the folder and its archive, as a whole or as it was after a file.

    With `through` the table is held once it has come there. Raises WrongRequest, naming the first
    missing file, unless all files that it needs are there or skipped; and for a file that the table
    never had. A history begins anew from now, so that it can have no such file.
    """

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if observed.incarnation is None or observed.record is None:
            raise WrongRequest(f"{observed.folder} has no landing folder to reseed from")
        if folder.is_history and through is not None:
            raise WrongRequest(
                f"{observed.name} is a history: it begins anew from now, and at no earlier file"
            )
        stop = None if through is None else StopAfter(through, act.by, act.at, act.why)
        if stop is not None:
            _had(observed, stop.sequence)
        control = asked(observed.control, RequestKind.RESEED, act)
        if folder.is_history:
            return retried(control)  # it begins anew with the rows that are there
        control = with_stop(control, observed.record, stop)
        rebuilt = with_archive(ports, replace(observed, control=control))
        missing = first_missing(rebuilt, rebuilt_through(rebuilt))
        if missing is not None:
            raise WrongRequest(
                f"{observed.name} cannot be reseeded: {file_stem(missing)} is neither in "
                "the folder nor in its archive. Put it back, or `openmirror skip --through` it "
                "first"
            )
        if stop is not None and first_unread(rebuilt, START, Position(stop.sequence)) is None:
            raise WrongRequest(
                f"{observed.name} cannot be rebuilt through {stop.sequence}: all of it was skipped"
            )
        return retried(control)

    what = "reseed" if through is None else f"reseed --through {through}"
    _change(ports, folder, operator, what, change)


def _had(observed: ObservedState, sequence: Sequence) -> None:
    """Raises WrongRequest unless the table has ever been applied so far."""
    assert observed.record is not None
    applied = max(observed.applied, observed.record.reseeding_until)
    if sequence > applied:
        where = f"it is applied up to {applied}" if applied else "nothing of its folder is applied"
        raise WrongRequest(
            f"{observed.name} was never as it is after {file_stem(sequence)}: {where}. Name a file "
            "that was applied; `openmirror history` has the numbers of each commit"
        )


def maintain(ports: RootPorts, folder: TableFolder, operator: Operator, *, full: bool) -> None:
    """Ask for what maintenance is worth doing, whatever the table's policy says of when.

    `full` asks for a VACUUM that lists the folder, for files that no version of the table names.
    Raises WrongRequest where there is no table of this folder.
    """

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if observed.live is None:
            raise WrongRequest(f"{observed.name} has no table of its folder to maintain")
        return with_maintenance(
            observed.control, lambda known: asked_for(known, act.at, act.by, full=full)
        )

    _change(ports, folder, operator, "maintain --full" if full else "maintain", change)


def confirm_hard_deletes(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Allow that the rows of a table go which are marked as deleted, as its policy asks.

    Raises WrongRequest unless there are such rows, or may be, and the policy says `delete: hard`.
    """

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if not isinstance(observed.log, TableLog) or not marks(observed.log):
            raise WrongRequest(f"no row of {observed.name} is marked as deleted")
        if not isinstance(observed.policy, TablePolicy):
            raise WrongRequest(f"{observed.policy.detail}: correct it first")
        if observed.policy.delete is not DeletePolicy.HARD:
            raise WrongRequest(
                f"{observed.name} has delete: soft; set it to hard in mirroring.json first"
            )
        return hard_deletes_confirmed(observed.control, act)

    _change(ports, folder, operator, "confirm-hard-deletes", change)


def undrop(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Ask for a dropped table back; it comes back held."""

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if observed.log is not None:
            raise WrongRequest(f"{observed.name} is in its place; nothing to bring back")
        if observed.retained is None:
            raise WrongRequest(f"{observed.name} has no dropped table whose retention still runs")
        return asked(observed.control, RequestKind.UNDROP, act)

    _change(ports, folder, operator, "undrop", change)


def adopt(ports: RootPorts, folder: TableFolder, operator: Operator) -> None:
    """Ask for a copied, renamed or restored table to be continued as this folder's own."""

    def change(observed: ObservedState, act: Act) -> ControlDocument:
        if not isinstance(observed.log, TableLog) or not observed.log.epochs:
            raise WrongRequest(f"{observed.name} has no table of a mirror to adopt")
        owner = min(observed.log.owners)
        elsewhere = owner != observed.folder and owner.mirror == observed.folder.mirror
        if elsewhere and ports.store.incarnation(layout.table_folder(owner)) is not None:
            raise WrongRequest(f"{observed.name} belongs to {owner}, which is still there")
        return asked(observed.control, RequestKind.ADOPT, act)

    _change(ports, folder, operator, "adopt", change)


def confirm_drops(ports: RootPorts, mirror: str, operator: Operator) -> list[TableFolder]:
    """Allow the drops that the bulk-drop guard holds back; returns which tables they are."""
    held_back = sorted(bulk_drop_guard(ports, mirror))
    if not held_back:
        return []

    def change(document: MirrorDocument) -> MirrorDocument:
        zone = ports.store.incarnation(layout.landing_zone(mirror))
        return confirmed(document, held_back, zone)

    _change_mirror(ports, mirror, change)
    for folder in held_back:
        _change(ports, folder, operator, "confirm-drops", lambda observed, _: observed.control)
    return held_back


def _change_mirror(
    ports: RootPorts, mirror: str, change: Callable[[MirrorDocument], MirrorDocument]
) -> None:
    """Change a mirror's document under its ETag, deciding anew after every lost race.

    Raises WrongRequest for a mirror that has none, as its mirroring.json cannot be read.
    """
    documents = Documents(ports.store)
    open_mirror(ports.store, mirror)
    for _ in range(MOST_TRIES):
        stored = documents.mirror(mirror)
        if stored.etag is ABSENT:
            raise WrongRequest(f"mirror {mirror} never began: correct its mirroring.json first")
        try:
            documents.save_mirror(mirror, change(stored.value), stored.etag)
        except ConditionFailed:
            continue
        return
    raise ConditionFailed(f"the document of mirror {mirror} changed {MOST_TRIES} times in a row")


def _change(
    ports: RootPorts,
    folder: TableFolder,
    operator: Operator,
    what: str,
    change: Callable[[ObservedState, Act], ControlDocument],
) -> None:
    """Change a control document under its ETag, deciding anew after every lost race."""
    act = Act(ports.clock(), operator.name, what, operator.why)
    for _ in range(MOST_TRIES):
        seen = observe(ports, folder)
        if seen.etag is ABSENT and seen.observed.incarnation is None and seen.observed.log is None:
            raise WrongRequest(f"there is no table {seen.observed.name}: no folder, no Delta table")
        control = acted(seen.observed.control, change(seen.observed, act), act)
        try:
            Documents(ports.store).save_table(folder, control, seen.etag)
        except ConditionFailed:
            continue
        return
    raise ConditionFailed(f"{folder} changed under {MOST_TRIES} tries in a row")
