"""Mutations of the product, each of which takes one rule of the design out from outside.

The simulation must notice every one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from openmirror.plan import (
    Batch,
    ObservedState,
    batching,
    cleanup,
    cut,
    needs,
    ordering,
    overwrites,
    rules,
    soft_deletes,
    table,
)
from openmirror.plan.decisions import Continue
from openmirror.plan.opening import Opening, opening_of
from openmirror.plan.transitions import observed as observed_rules
from openmirror.plan.transitions import rebuilt
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.sequence import Position
from openmirror.reconcile import (
    apply,
    clean,
    drop,
    epochs,
    ledger_files,
    ledger_order,
    observing,
    reading_ahead,
    reads,
    reconciliation,
)
from openmirror.reconcile.documents import Documents, Stored
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.control import BatchKind, IncarnationRecord
from openmirror.table.layout import StorePath
from tests.simulation.delta_model import ModelDelta
from tests.simulation.ledgers import NAMINGS, of_a_ledger
from tests.simulation.schedule import REBUILT

Patch = tuple[object, str, Any]


_NO_CHECKSUMS: Patch = (apply, "checksums_of", lambda *_: {})
"""To take them reads every small file again under its ETag, which hides that nobody else does."""


def without_decided_batches() -> list[Patch]:
    """The plan cuts anew, whatever was decided."""

    def forgetful(observed: ObservedState) -> Any:
        return opening_of(replace(observed, control=replace(observed.control, decided=None)))

    return [(where, "opening_of", forgetful) for where in (table, needs)]


def without_fences() -> list[Patch]:
    """An epoch opens beside the others."""
    return [(where, "fence_others", lambda *_: True) for where in (apply, drop, epochs)]


def without_fences_of_epochs_that_never_committed() -> list[Patch]:
    """Only what is live in the log is fenced."""
    fence = epochs.fence_others

    def only_live(ports: Any, engine: Any, path: Any, control: Any, own: Any, create: Any) -> bool:
        return fence(ports, engine, path, replace(control, epochs=()), own, create)

    return [(where, "fence_others", only_live) for where in (apply, drop, epochs)]


def without_the_fence_before_a_drop() -> list[Patch]:
    """A table is moved away while a runner may still add to it."""
    return [(drop, "fence_others", lambda *_: True)]


def without_the_second_observation() -> list[Patch]:
    """What was read counts for what was planned."""
    return [(apply, "is_as_planned", lambda *_: True), _NO_CHECKSUMS]


def without_rows_held_before_the_second_observation() -> list[Patch]:
    """The second observation comes first, and the files are read after it."""
    apply_batch, is_as_planned = apply.apply_batch, apply.is_as_planned

    def check_first(ports: RootPorts, engine: Any, seen: Any, batch: Any, laps: Any) -> Any:
        as_planned = is_as_planned(ports, batch)
        return apply_batch(ports, engine, seen, batch, laps) if as_planned else None

    return [
        (reconciliation, "apply_batch", check_first),
        (apply, "is_as_planned", lambda *_: True),
        _NO_CHECKSUMS,
    ]


def without_the_etag_of_the_document() -> list[Patch]:
    """Whoever writes the control document last wins."""
    save = Documents.save_table

    def blindly(documents: Documents, folder: Any, value: Any, _: object) -> Stored[Any]:
        return save(documents, folder, value, documents.table(folder).etag)

    return [(Documents, "save_table", blindly)]


def without_observing_again_after_a_conflict() -> list[Patch]:
    """A lost race is a failure like any other."""

    class Never(Exception):
        pass

    return [(reconciliation, "ConditionFailed", Never)]


def without_manifests_in_cleanup() -> list[Patch]:
    """Any applied number is moved, whatever its content is now."""

    def applied(observed: ObservedState, _: object, file: Any) -> bool:
        return file.sequence <= observed.applied

    return [(cleanup, "_applied_as", applied), (cleanup, "overwrites", lambda _: ())]


def without_the_etag_of_a_move() -> list[Patch]:
    """A file is moved even when it is no longer the one that was seen."""
    move = MemoryStore.move_file

    def blindly(store: MemoryStore, source: StorePath, to: StorePath, etag: ETag) -> None:
        parent, _, name = source.rpartition("/")
        there = store._known.get(parent)
        now = there.files.get(name) if there else None
        move(store, source, to, now.entry.etag if now else etag)

    return [(MemoryStore, "move_file", blindly)]


def without_the_incarnation_again() -> list[Patch]:
    """An observation trusts the incarnation that it saw first."""
    observe_once = observing._observe_once

    class FirstIncarnation:
        def __init__(self, store: Any) -> None:
            self._store = store
            self._first: dict[str, Incarnation | None] = {}

        def incarnation(self, folder: StorePath) -> Incarnation | None:
            if folder not in self._first:
                self._first[folder] = self._store.incarnation(folder)
            return self._first[folder]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

    def once(ports: RootPorts, folder: Any, laps: Any, listing_last: bool) -> Any:
        blind: Any = FirstIncarnation(ports.store)
        return observe_once(replace(ports, store=blind), folder, laps, listing_last)

    return [(observing, "_observe_once", once)]


def without_the_order_of_an_observation() -> list[Patch]:
    """Runners list the folder after they read what is applied."""
    observed = observing.observe
    return [
        (
            reconciliation,
            "observe",
            lambda ports, folder, laps=None: observed(ports, folder, laps, listing_last=True),
        )
    ]


def without_the_order_of_a_cleaning_observation() -> list[Patch]:
    """The cleaner lists the folder before it reads what is applied."""
    observed = observing.observe
    return [(clean, "observe", lambda ports, folder, **_: observed(ports, folder))]


def without_the_newest_epoch_rule() -> list[Patch]:
    """A live epoch goes on although a newer one was decided."""

    def stays(observed: ObservedState) -> Any:
        found = opening_of(observed)
        decided = observed.control.decided
        given_up = decided and observed.live and decided.app_id == observed.live[0].app_id
        if isinstance(found, Continue) and not found.is_decided and observed.live and not given_up:
            return Opening(BatchKind.EXTEND, observed.live[0])
        return found

    return [(where, "opening_of", stays) for where in (table, needs)]


def without_comparing_what_was_read_ahead() -> list[Patch]:
    """Whatever was read while a batch was committed is taken for the one behind it."""
    return [(reading_ahead._Ahead, "_is_of", lambda *_: True)]


def without_the_archive() -> list[Patch]:
    """A number that is missing in the folder is a gap."""
    return [(observing, "with_archive", lambda _, observed: observed)]


def without_the_stop_of_a_rebuilt_table() -> list[Patch]:
    """What is rebuilt through a file is held once a batch has come so far, and read beyond it."""
    real = cut.pending

    def endless(observed: ObservedState, record: IncarnationRecord, after: Position) -> Any:
        return real(observed, replace(record, stops_after=None), after)

    return [(cut, "pending", endless), (observing, "pending", endless)]


def without_the_ledger() -> list[Patch]:
    """A batch is committed and its order written down nowhere."""
    return [(apply, "write_entry", lambda *_: None)]


def without_writing_down_before_the_commit() -> list[Patch]:
    """The order is written down once the batch is in the log, if its runner survives until then."""
    commit = ModelDelta.commit

    def commit_first(delta: Any, batch: Any, *rest: Any) -> Any:
        result = commit(delta, batch, *rest)
        delta.stall("late", batch.last)
        ledger_files.write_entry(delta.store, batch, batch.manifest)
        return result

    return [(apply, "write_entry", lambda *_: None), (ModelDelta, "commit", commit_first)]


def without_places_by_name() -> list[Patch]:
    """Files that were applied get a place like any other."""
    return [(ordering, "_known", lambda *_, **__: {})]


def without_names_used_before() -> list[Patch]:
    """Nobody asks the archive for a name."""
    return [(ledger_order, "_in_archive", lambda *_: frozenset())]


def without_the_ledger_when_files_are_read_again() -> list[Patch]:
    """A reseed, or an incarnation that came back, orders its files anew."""
    return [(ledger_order, "effective", lambda *_: {})]


def without_restoring() -> list[Patch]:
    """A control document that is lost is not made anew from the ledger."""
    return [(reads, "has_forgotten", lambda _: False)]


def without_a_new_epoch_after_a_loss() -> list[Patch]:
    """The live epoch goes on, although what was decided last is forgotten."""

    rebuild = rebuilt.rebuilt_from_log

    def goes_on(control: Any, epochs: Any, _: Any, now: Any) -> Any:
        return rebuild(control, epochs, None, now)

    return [(rebuilt, "rebuilt_from_log", goes_on)]


def without_the_first_observation() -> list[Patch]:
    """Waits count from the time that a file has."""
    own = lambda _, file: file.modified  # noqa: E731
    return [(where, "counted_from", own) for where in (batching, cut, rules)]


def without_writing_down_the_first_observation() -> list[Patch]:
    """Each observation of a file of the future is the first one."""
    return [(observed_rules, "first_seen", lambda observed: observed.control.first_seen)]


def without_checksums() -> list[Patch]:
    """Only an ETag says whether a file is the one that was applied."""
    return [_NO_CHECKSUMS]


def without_comparing_checksums() -> list[Patch]:
    """Whatever lies there under an applied file's name is taken for the same bytes."""
    return [(overwrites.Overwrite, "is_same", True)]


def without_writing_down_the_new_etag() -> list[Patch]:
    """What has the same bytes stops nothing, and keeps its old ETag in the manifest."""
    return [(observed_rules, "accepted", lambda _: ())]


def without_the_time_of_the_decision() -> list[Patch]:
    """Each attempt at a batch writes a time of its own."""
    seconds = itertools.count()

    def as_of(batch: Batch, _: object) -> Batch:
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))
        return replace(batch, decided_at=now)

    return [(Batch, "as_of", as_of)]


def without_the_property_of_soft_deletes() -> list[Patch]:
    """Rows are marked in a table whose log does not say so."""
    return [(batching, "with_properties", lambda features, *_: features)]


def without_going_on_to_mark_rows() -> list[Patch]:
    """What mirroring.json says now is how deletes are, whatever rows the table has."""
    return [(soft_deletes, "marks", lambda _: False)]


MUTATIONS: dict[str, Callable[[], list[Patch]]] = {
    name.removeprefix("without_"): made
    for name, made in list(globals().items())
    if name.startswith("without_")
}


@contextmanager
def mutated(*names: str) -> Iterator[None]:
    """The product with these mutations."""
    with ExitStack() as stack:
        for name in names:
            for owner, attribute, instead in MUTATIONS[name]():
                stack.enter_context(mock.patch.object(owner, attribute, instead))
        yield


_PLAIN: dict[str, Any] = {"text": False, "ahead": 0.0, "rewriting": 0.0}
"""Files whose times are right, and that nobody writes again: unless a mutation is about those."""
_RESTLESS: dict[str, Any] = {
    "habits": {
        "write": 70,
        "overwrite": 15,
        "change": 0,
        "reuse": 0,
        "delete": 20,
        "re-create": 20,
    },
    "publishing": 0.05,
    "jumps": 0.02,
}
"""Folders come and go."""
_CHANGING: dict[str, Any] = {
    "habits": {"write": 70, "overwrite": 0, "change": 20, "reuse": 0, "delete": 0, "re-create": 0},
    "publishing": 0.05,
}
"""Files are overwritten after they were applied."""
_EMPTYING: dict[str, Any] = {
    "habits": {"write": 70, "empty": 70},
    "publishing": 0.1,
    "operating": 0.0,
    "failing": 0.0,
    "days": 0.0,
}
"""The publisher empties the archive, so that no number can be found there. No operator: a reseed
would rightly miss what is gone."""
_RETURNING: dict[str, Any] = {
    "habits": {"write": 70, "delete": 0, "re-create": 10},
    "publishing": 0.03,
    "returns_old": 0.0,
    "operating": 0.0,
    "failing": 0.0,
    "kills": 0.0,
    "jumps": 0.0,
    "taking_back": 1.0,
}
"""An incarnation comes back while a runner sleeps that has decided to replace it by another."""

_AHEAD: dict[str, Any] = {"ahead": 0.5, "text": True}
"""Text whose time often lies in the future."""
_REWRITING: dict[str, Any] = {
    "habits": {"write": 70, "overwrite": 0},
    "rewriting": 0.3,
    "publishing": 0.05,
    "kills": 0.0,
}
"""Files are written again with the bytes that they have."""

_MARKING: dict[str, Any] = {"marking": True, "failing": 0.01, "kills": 0.01}
"""Deletes are soft, now and then."""

CHOSEN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(MUTATIONS, _RESTLESS),
    "manifests_in_cleanup": _CHANGING,
    "the_etag_of_a_move": _CHANGING,
    "the_order_of_an_observation": _EMPTYING,
    "the_newest_epoch_rule": _RETURNING,
    "the_first_observation": _AHEAD,
    "writing_down_the_first_observation": _AHEAD,
    "checksums": _REWRITING,
    "comparing_checksums": _CHANGING,
    "writing_down_the_new_etag": _REWRITING,
    "comparing_what_was_read_ahead": _RESTLESS | {"reading_ahead": True},
    "the_stop_of_a_rebuilt_table": REBUILT,
    "the_time_of_the_decision": _MARKING,
    "the_property_of_soft_deletes": _MARKING,
    "going_on_to_mark_rows": _MARKING,
}
"""The kind of schedule in which each mutation matters most."""
_LOSING: dict[str, Any] = {"losing": 0.005, "operating": 0.0}
OF_THE_LEDGER: dict[str, dict[str, Any]] = {
    "the_incarnation_again": {},
    "the_ledger": _LOSING,
    "writing_down_before_the_commit": {**_LOSING, "kills": 0.05},
    "places_by_name": {},
    "names_used_before": {"habits": {"write": 70, "reuse": 20}, "days": 0.0, "losing": 0.0},
    "the_ledger_when_files_are_read_again": {
        "naming": NAMINGS[0],
        "habits": {"write": 70, "delete": 6},
        "late": 0.5,
        "returning": 1.0,
        "returns_old": 0.5,
        "publishing": 0.1,
        "operating": 0.0,
        "jumps": 0.0,
        "kills": 0.0,
        "dozing": 0.0,
        "days": 0.0,
        "losing": 0.0,
    },
    "restoring": _LOSING,
    "a_new_epoch_after_a_loss": {**_LOSING, "dozing": 0.2},
}
"""Mutations that tables with a ledger show best or alone, and what else of their schedules is
chosen."""

NOTICED_BY: dict[str, int] = {
    "decided_batches": 72,
    "fences": 1,
    "fences_of_epochs_that_never_committed": 60,
    "the_fence_before_a_drop": 50,
    "the_second_observation": 2,
    "rows_held_before_the_second_observation": 144,
    "the_etag_of_the_document": 3,
    "observing_again_after_a_conflict": 0,
    "manifests_in_cleanup": 0,
    "the_etag_of_a_move": 6,
    "the_incarnation_again": 32,
    "the_order_of_an_observation": 76,
    "the_newest_epoch_rule": 1,
    "the_archive": 32,
    "the_ledger": 2,
    "writing_down_before_the_commit": 43,
    "places_by_name": 0,
    "names_used_before": 9,
    "the_ledger_when_files_are_read_again": 101,
    "restoring": 5,
    "a_new_epoch_after_a_loss": 594,
    "the_first_observation": 3,
    "writing_down_the_first_observation": 1,
    "checksums": 0,
    "comparing_checksums": 1,
    "writing_down_the_new_etag": 1,
    "comparing_what_was_read_ahead": 10,
    "the_time_of_the_decision": 1,
    "the_property_of_soft_deletes": 1,
    "going_on_to_mark_rows": 2,
    "the_stop_of_a_rebuilt_table": 9,
}
"""The seed whose schedule goes wrong by the mutation, of the kind chosen for it: run alone
as long as it does. Any change of the product or of the simulation may shift what a seed does."""


def chosen_for(seed: int, name: str = "", *, has_ledger: bool = False) -> dict[str, Any]:
    """What is chosen of a schedule that shows this mutation; else nothing is."""
    chosen = _PLAIN if name else {}
    if has_ledger or name in OF_THE_LEDGER:
        return {**chosen, **of_a_ledger(seed), **OF_THE_LEDGER.get(name, {})}
    return {**chosen, **CHOSEN.get(name, {})}
