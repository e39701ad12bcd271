"""Every rule of ARCHITECTURE, the mistake that breaks it, and what notices the mistake.

A mutation is patched into the product from outside, by object and name: a name that is gone fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from openmirror.columnar import small_batches, soft_folding
from openmirror.errors import NotThere
from openmirror.ingress import event_filter, partial_observation, plain_work
from openmirror.plan import ObservedState, batching, maintenance, needs, own_columns
from openmirror.plan import maintaining as plan_maintaining
from openmirror.plan.decisions import Pause
from openmirror.plan.observed import Limits
from openmirror.plan.transitions import maintained, rebuilt
from openmirror.ports import Listing
from openmirror.ports.merge_rows import MergeKind
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.rules import Code
from openmirror.reconcile import (
    apply,
    drop,
    epochs,
    ledger_order,
    maintaining,
    observing,
    purge,
    reads,
    reconciliation,
)
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime import sweeping
from openmirror.runtime.messages import Messages
from openmirror.runtime.runner import Runner
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.control import BatchKind
from openmirror.table.layout import StorePath
from openmirror.table.log import BrokenLog, TableLog
from tests.mutations import witnesses
from tests.simulation.delta_model import ModelDelta, ModelLogs
from tests.simulation.mutations import Patch
from tests.unit import (
    test_event_filter,
    test_ledger,
    test_lineage_tables,
    test_lost_moves,
    test_maintaining,
    test_maintenance,
    test_soft_tables,
    test_working,
)
from tests.unit.columnar import test_small_batches
from tests.unit.transitions import test_rebuilt_and_adopted


@dataclass(frozen=True)
class Mutation:
    """One mistake, and a directed schedule that fails under it."""

    made: Callable[[], list[Patch]]
    witness: Callable[[], None]


@contextmanager
def patched(patches: list[Patch]) -> Iterator[None]:
    """The product with these mistakes in it; AttributeError where a name is no longer there."""
    with ExitStack() as stack:
        for owner, attribute, instead in patches:
            stack.enter_context(mock.patch.object(owner, attribute, instead))
        yield


# Observe


def _a_missing_folder_is_an_empty_list() -> list[Patch]:
    list_folder = MemoryStore.list_folder

    def lists(store: MemoryStore, folder: StorePath) -> Listing:
        try:
            return list_folder(store, folder)
        except NotThere:
            return Listing(entries=(), at=store._clock())

    return [(MemoryStore, "list_folder", lists)]


def _the_archive_only_for_gaps() -> list[Patch]:
    def only_gaps(observed: ObservedState) -> bool:
        return observed.record is not None and any(needs._missing(observed))

    return [(reads, "needs_archive", only_gaps)]


def _every_footer() -> list[Patch]:
    inspect = observing._with_facts

    def all_of_them(ports: RootPorts, observed: ObservedState) -> ObservedState:
        return inspect(
            replace(ports, limits=Limits(batch_files=10**9, batch_rows=10**9, batch_bytes=10**18)),
            observed,
        )

    return [(observing, "_with_facts", all_of_them)]


def _facts_of_whatever_lies_there() -> list[Patch]:
    inspected = reads.inspected

    def trusting(ports: RootPorts, file: Any, observed: ObservedState) -> Any:
        class Inspector:
            def inspect(self, *asked: Any) -> Any:
                return replace(ports.inspector.inspect(*asked), etag=file.etag)

        found = inspected(replace(ports, inspector=Inspector()), file, observed)
        there = ports.store.read(file.path).etag
        return replace(found, facts=replace(found.facts, etag=there))

    return [(observing, "inspected", trusting)]


# Apply


def _no_batch_above_a_limit() -> list[Patch]:
    cut_batch = batching.cut_batch

    def strict(
        observed: Any, rules: Any, after: Any, table: Any, limits: Limits, *more: Any
    ) -> Any:
        cut = cut_batch(observed, rules, after, table, limits, *more)
        rows = sum(file.facts.rows for file in cut.files if file.facts)
        return replace(cut, files=()) if rows > limits.batch_rows else cut

    return [(batching, "cut_batch", strict)]


def _an_append_that_creates() -> list[Patch]:
    """An engine that appends as Spark's own writer does: it makes a table where there is none."""
    commit = ModelDelta.commit

    def creating(delta: ModelDelta, batch: Any, *rest: Any) -> Any:
        may_create = delta.log_at(batch.table) is None
        kind = BatchKind.REPLACE if may_create else batch.kind
        return commit(delta, replace(batch, kind=kind, may_create=may_create), *rest)

    return [(ModelDelta, "commit", creating)]


# Epochs


class _NothingLive(TableLog):
    live = None  # type: ignore[assignment]


def _the_live_epoch_is_not_fenced() -> list[Patch]:
    fence = epochs.fence_others

    class Logs:
        def __init__(self, logs: Any) -> None:
            self._logs = logs

        def read(self, table: StorePath) -> Any:
            log = self._logs.read(table)
            if not isinstance(log, TableLog):
                return log
            return _NothingLive(
                path=log.path,
                table_id=log.table_id,
                version=log.version,
                transactions=log.transactions,
            )

    def as_remembered(ports: RootPorts, *rest: Any) -> bool:
        return fence(replace(ports, logs=Logs(ports.logs)), *rest)

    return [(where, "fence_others", as_remembered) for where in (apply, drop, epochs)]


def _decided_beside_no_document() -> list[Patch]:
    return [(reconciliation, "ACTED_UPON", ())]


def _what_was_given_up_counts_as_well() -> list[Patch]:
    def everything(entries: Any, naming: Any, through: int) -> Any:
        ordered = sorted(entries, key=lambda entry: (-entry.epoch, entry.last))
        numbers = {file.sequence: file for entry in ordered for file in entry.files}
        return {f.name: f for n, f in sorted(numbers.items()) if n <= through}

    return [(where, "effective", everything) for where in (ledger_order, rebuilt, purge)]


def _any_log_is_the_same() -> list[Patch]:
    read = ModelLogs.read

    def without_identity(logs: ModelLogs, table: StorePath) -> TableLog | BrokenLog | None:
        log = read(logs, table)
        return replace(log, table_id="any") if isinstance(log, TableLog) else log

    return [(ModelLogs, "read", without_identity)]


def _fence_before_deciding() -> list[Patch]:
    decide_and_commit, fence = apply._decide_and_commit, epochs.fence_others

    def fence_first(ports: RootPorts, engine: Any, seen: Any, batch: Any, *rest: Any) -> None:
        if batch.kind is BatchKind.REPLACE:
            create = batch.union.schema if batch.may_create else None
            own = batch.epoch.app_id
            if not fence(ports, engine, batch.table, seen.observed.control, own, create):
                return
        decide_and_commit(ports, engine, seen, batch, *rest)

    return [
        (apply, "_decide_and_commit", fence_first),
        (apply, "fence_others", lambda *_: True),
    ]


# The runner


def _quiet_with_whatever_has_come() -> list[Patch]:
    idle = Runner._idle

    def with_all(working: Runner, folder: Any, _: object) -> None:
        idle(working, folder, working._messages.of(folder))

    return [(Runner, "_idle", with_all)]


def _nothing_is_renewed() -> list[Patch]:
    return [(Messages, "renew", lambda _: None)]


def _nothing_is_quiet() -> list[Patch]:
    return [(Runner, "_idle", lambda *_: None)]


def _nothing_is_dead_lettered_for_its_failures() -> list[Patch]:
    give_back = Messages.give_back

    def for_ever(messages: Messages, which: Any, delay: Any, _: int, why: str) -> None:
        give_back(messages, which, delay, 10**9, why)

    return [(Messages, "give_back", for_ever)]


def _what_others_do_counts_as_failure() -> list[Patch]:
    def give_back(messages: Messages, _: object, which: Any, delay: timedelta) -> None:
        messages.give_back(which, delay, test_working.BRISK.most_takes, "given back as it was")

    return [(Messages, "hand_over", give_back)]


def _what_is_no_message_is_left() -> list[Patch]:
    accept = Runner._accept

    def only_work_items(working: Runner, taken: Any) -> None:
        if taken.work_item is not None:
            accept(working, taken)

    return [(Runner, "_accept", only_work_items)]


def _a_table_of_others_is_work() -> list[Patch]:
    leave = Runner._leave_to_others

    def as_work(working: Runner, folder: Any, messages: Any) -> None:
        leave(working, folder, messages)
        working._active = test_working.time.monotonic()

    return [(Runner, "_leave_to_others", as_work)]


def _no_first_sweep() -> list[Patch]:
    return [(Runner, "_sweep", lambda working: working._swept.set())]


# The event filter


def _a_sweep_that_asks_nothing() -> list[Patch]:
    return [(sweeping, "needs_reconcile", lambda *_: False)]


def _the_announced_file_is_checked() -> list[Patch]:
    inspect = partial_observation._with_facts

    def announced_one(ports: Any, observed: Any, announced: Any) -> Any:
        return inspect(ports, observed, announced.sequence) if announced else observed

    return [(where, "with_next", announced_one) for where in (partial_observation, plain_work)]


def _old_reads_decide() -> list[Patch]:
    first_reads = reads.first_reads

    def from_before(ports: RootPorts, folder: Any) -> Any:
        known = ports.mirrors.recent(ports.store, folder.mirror, ports.seconds())
        return first_reads(ports, folder, known)

    return [(partial_observation, "first_reads", from_before)]


def _the_event_filter_pauses_for_what_appears_overwritten() -> list[Patch]:
    codes = {**Code.__members__, "APPLIED_FILE_CHANGED": None}
    return [(event_filter, "Code", SimpleNamespace(**codes))]


def _what_was_found_first_stays() -> list[Patch]:
    asks = sweeping.needs_reconcile

    def unless_paused(observed: Any, decision: Any) -> bool:
        is_known = isinstance(decision, Pause) and observed.control.problem is not None
        return not is_known and asks(observed, decision)

    return [(sweeping, "needs_reconcile", unless_paused)]


def _files_are_old_at_the_event_filter() -> list[Patch]:
    at = partial_observation.file_at

    def old(*asked: Any) -> Any:
        file = at(*asked)
        return file and replace(file, modified=datetime(2000, 1, 1, tzinfo=UTC))

    return [(partial_observation, "file_at", old)]


# Maintenance


def _maintained_whatever_is_decided() -> list[Patch]:
    return [(maintaining, "may_maintain", lambda *_: True)]


def _a_step_begins_whoever_wrote() -> list[Patch]:
    class Blind(Documents):
        def save_table(self, folder: Any, value: Any, only_if: object) -> Any:
            return super().save_table(folder, value, self.table(folder).etag)

    return [(maintaining, "Documents", Blind)]


def _a_folder_is_listed_whatever_has_begun() -> list[Patch]:
    vacuum = maintenance._vacuum

    def forgetful(files: Any, known: Any, *rest: Any) -> Any:
        return vacuum(files, replace(known, begun=None), *rest)

    return [(maintenance, "_vacuum", forgetful)]


def _any_step_ends_what_began_before() -> list[Patch]:
    return [(maintained, "_still_begun", lambda *_: None)]


def _only_the_last_step_is_known() -> list[Patch]:
    began = maintained.began

    def alone(known: Any, step: Any, at: Any) -> Any:
        return began(replace(known, begun=None), step, at)

    return [(maintained, "began", alone)]


def _whoever_ends_takes_all_away() -> list[Patch]:
    return [(maintained, "_begun_after", lambda known, underway, left: left)]


def _only_the_policy_keeps_files() -> list[Patch]:
    return [(maintaining, "how_long_kept", lambda observed: observed.policy.retention)]


def _compaction_comes_first() -> list[Patch]:
    return [(maintenance, "_has_the_turn", lambda _: False)]


# Soft deletes and lineage


def _every_delete_is_late() -> list[Patch]:
    never = lambda keys, *_: np.full(len(keys), -1)  # noqa: E731
    return [(soft_folding, "last_of_key", never)]


def _what_unmarks_meets_live_rows() -> list[Patch]:
    all_of = soft_folding._all

    def marking(kind: MergeKind, places: Any) -> Any:
        return all_of(MergeKind.MARK if kind is MergeKind.UNMARK else kind, places)

    return [(soft_folding, "_all", marking)]


def _removed_whatever_is_decided() -> list[Patch]:
    return [(plan_maintaining, "is_safe", lambda *_: True)]


def _a_mark_leaves_the_place_of_what_was_before() -> list[Patch]:
    return [(small_batches, "lineage_places", lambda _: frozenset())]


def _off_is_as_if_it_had_never_been() -> list[Patch]:
    lineage_of = own_columns.lineage_of

    def never(*asked: Any) -> Lineage:
        found = lineage_of(*asked)
        return Lineage.NONE if found is Lineage.EMPTY else found

    return [(own_columns, "lineage_of", never)]


def in_a_landing_zone(test: Callable[[Any], None]) -> Callable[[], None]:
    """A test of small batches, in a folder of its own."""

    def witness() -> None:
        with TemporaryDirectory() as root:
            test(test_small_batches.Landing(Path(root)))

    return witness


def at_the_filter(test: Callable[[test_event_filter.Published], None]) -> Callable[[], None]:
    """A test of the event filter, in a world of its own."""
    return lambda: test(test_event_filter.Published())


RULES: Mapping[str, str | Mutation] = {
    # §4 Observe
    "Applied is read **after** the listing": "the_order_of_an_observation",
    "Incarnation first and last": "the_incarnation_again",
    "A missing folder is an error of the store, never an empty list": Mutation(
        _a_missing_folder_is_an_empty_list, witnesses.an_unreadable_zone_is_no_deleted_table
    ),
    "A number missing in the folder is searched in the archive": "the_archive",
    "The archive is also listed for a replace, until a reseed has come as far as "
    "before, and when an applied file seems overwritten": Mutation(
        _the_archive_only_for_gaps,
        lambda: test_lost_moves.test_a_reseed_reads_what_was_applied_and_not_what_came_again(
            (1, 2, 3)
        ),
    ),
    "Footers are inspected only as far as the next batch can reach": Mutation(
        _every_footer, witnesses.an_observation_inspects_no_more_than_the_next_batch_can_hold
    ),
    "Each file's facts carry the ETag they were read from": Mutation(
        _facts_of_whatever_lies_there, witnesses.facts_are_of_the_content_that_was_listed
    ),
    # §4 Apply
    "Rows are held, or their files copied, before the second observation": (
        "rows_held_before_the_second_observation"
    ),
    "A decided batch is applied exactly so before any other of its epoch": "decided_batches",
    "The document is written under its ETag": "the_etag_of_the_document",
    'A conflict is "observe again", never an error': "observing_again_after_a_conflict",
    "Only a replace may create a table, and only where the observation found none": Mutation(
        _an_append_that_creates, witnesses.an_append_makes_no_table_where_one_was_dropped
    ),
    "A file above a batch limit is a batch of its own": Mutation(
        _no_batch_above_a_limit, witnesses.a_file_above_every_limit_is_applied_alone
    ),
    # §4 Epochs and fences
    "Epochs that never committed are fenced too": "fences_of_epochs_that_never_committed",
    "A live epoch that only the log knows is fenced too": Mutation(
        _the_live_epoch_is_not_fenced, witnesses.an_epoch_that_only_the_log_knows_is_fenced
    ),
    "A table is decided upon only beside a document that was there when it was observed": Mutation(
        _decided_beside_no_document,
        witnesses.a_batch_planned_without_a_document_is_not_decided_under_a_second_one,
    ),
    "Decide before fence": Mutation(
        _fence_before_deciding,
        witnesses.a_runner_that_loses_the_race_for_the_document_fences_nothing,
    ),
    "The log's identity is compared between fences": Mutation(
        _any_log_is_the_same, witnesses.fences_that_began_in_one_log_do_not_end_in_another
    ),
    # §10 The runner
    "A message is deleted only by a reconciliation that began after it was taken, and"
    " that left nothing to do": Mutation(
        _quiet_with_whatever_has_come,
        test_working.test_a_message_taken_during_a_reconcile_causes_one_more_and_is_deleted_only_after_that,
    ),
    "Messages are renewed by a thread of their own while their table is at work": Mutation(
        _nothing_is_renewed,
        test_working.test_messages_of_a_table_at_work_are_renewed_until_it_is_quiet,
    ),
    "A table that waits, is paused or held is idle: its messages are deleted, and its"
    " lease is released": Mutation(
        _nothing_is_quiet,
        test_working.test_waiting_paused_and_held_tables_are_left_and_the_run_ends_well,
    ),
    "A failure gives the messages back with a delay; the fifth take dead-letters them": Mutation(
        _nothing_is_dead_lettered_for_its_failures,
        test_working.test_a_table_that_cannot_be_observed_gives_its_message_back_and_is_dead_lettered_at_last,
    ),
    "A service that is away, a lease that is taken and a stop send a new work item "
    "and delete the old message": Mutation(
        _what_others_do_counts_as_failure,
        test_working.test_a_service_that_is_away_is_asked_until_it_is_back_and_dead_letters_nothing,
    ),
    "A text that is no message is dead-lettered at once, with why": Mutation(
        _what_is_no_message_is_left,
        test_working.test_a_text_that_is_no_wake_up_is_dead_lettered_at_once_and_says_why,
    ),
    "A wake-up for a table that another runner has does not count as work": Mutation(
        _a_table_of_others_is_work,
        test_working.test_a_runner_does_not_wait_for_a_table_that_another_one_has,
    ),
    "The runner sweeps once at its start": Mutation(
        _no_first_sweep, test_working.test_the_first_sweep_applies_what_no_wake_up_announced
    ),
    # §12 Events and the event filter
    "Silence can only cost minutes": Mutation(
        _a_sweep_that_asks_nothing,
        at_the_filter(test_event_filter.test_every_silence_costs_only_until_the_sweep),
    ),
    "The event filter checks the next file, not the announced one": Mutation(
        _the_announced_file_is_checked,
        at_the_filter(
            test_event_filter.test_a_bad_file_behind_pending_ones_wakes_so_that_those_are_applied
        ),
    ),
    "An applied file that seems overwritten is enqueued, not paused": Mutation(
        _the_event_filter_pauses_for_what_appears_overwritten,
        at_the_filter(
            test_event_filter.test_a_file_that_was_overwritten_after_it_was_applied_wakes
        ),
    ),
    "What the event filter writes down is true, if not always the first thing that a "
    "full observation would find: an overwritten applied file comes before it": Mutation(
        _what_was_found_first_stays,
        witnesses.the_sweep_puts_an_overwritten_applied_file_before_what_the_event_filter_found,
    ),
    "Nothing but a wake-up comes of a read from before": Mutation(
        _old_reads_decide,
        at_the_filter(
            test_event_filter.test_a_mirror_that_goes_on_wakes_at_once_and_problems_are_found_by_fresh_reads
        ),
    ),
    "How old a file is, only a listing shows: the event filter takes it as just written": Mutation(
        _files_are_old_at_the_event_filter,
        at_the_filter(
            test_event_filter.test_files_behind_one_that_is_still_being_written_stay_silent
        ),
    ),
    # INTERNALS §4, maintenance
    "A step needs a live epoch that is the newest, and nothing that is decided and not in "
    "the log": Mutation(
        _maintained_whatever_is_decided,
        lambda: test_maintaining.test_nothing_is_maintained_while_something_else_is_decided(
            test_maintaining.decided
        ),
    ),
    "A step is written down before it begins, under the ETag of the observation that it "
    "rests on": Mutation(
        _a_step_begins_whoever_wrote,
        test_maintaining.test_a_step_is_not_begun_once_somebody_else_wrote_since_the_observation,
    ),
    "No folder is listed while a compaction has begun and not ended": Mutation(
        _a_folder_is_listed_whatever_has_begun,
        test_maintenance.test_a_folder_is_not_listed_for_dead_files_while_a_compaction_may_be_stalled,
    ),
    "A document that was lost counts as if a compaction had begun and not ended": Mutation(
        lambda: [(rebuilt, "with_compaction_unknown", lambda known, _: known)],
        test_rebuilt_and_adopted.test_a_lost_document_goes_on_behind_every_epoch_that_is_known,
    ),
    "A later compaction ends an earlier one only if it took all files below the same "
    "bound": Mutation(
        _any_step_ends_what_began_before,
        lambda: (
            test_maintenance.test_a_stalled_compaction_cannot_land_once_a_later_one_took_all_its_files(
                test_maintenance.COMPACT, test_maintenance.SMALLER, True
            )
        ),
    ),
    "A step carries the bound of what began before it and never ended": Mutation(
        _only_the_last_step_is_known, witnesses.two_runners_that_die_in_a_row_are_both_known
    ),
    "Whoever ends a step leaves alone one that began later": Mutation(
        _whoever_ends_takes_all_away,
        test_maintenance.test_a_step_that_began_later_has_not_ended_when_an_earlier_one_does,
    ),
    "The longer of the table's retention and the policy's holds": Mutation(
        _only_the_policy_keeps_files,
        lambda: test_maintaining.test_the_longer_of_the_tables_retention_and_the_policys_holds(
            7, 30, 720
        ),
    ),
    "No step runs on a table whose log is made to forget transactions": Mutation(
        lambda: [(plan_maintaining, "FORGETS_TRANSACTIONS", "another property")],
        test_maintaining.test_a_log_that_is_to_forget_gets_no_step_which_might_have_it_do_so,
    ),
    "VACUUM has its turn after a compaction": Mutation(
        _compaction_comes_first,
        test_maintaining.test_a_table_that_always_has_small_files_and_a_batch_waiting_is_vacuumed_too,
    ),
    # INTERNALS §4, soft deletes and lineage
    "The time of a deletion is that of the decided batch, in each attempt": (
        "the_time_of_the_decision"
    ),
    "The log says that a table marks rows, by a property, before any row of it is marked": (
        "the_property_of_soft_deletes"
    ),
    "A table that may have marked rows goes on marking until an operator allows otherwise": (
        "going_on_to_mark_rows"
    ),
    "Only a delete that no update of its key follows marks": Mutation(
        _every_delete_is_late, witnesses.a_soft_fold_is_merged_as_its_changes_say
    ),
    "What takes marked rows away meets no live row, and every other merge row no marked one": (
        Mutation(_what_unmarks_meets_live_rows, witnesses.a_soft_fold_is_merged_as_its_changes_say)
    ),
    "Marked rows are removed beside nothing that is decided and not in the log": Mutation(
        _removed_whatever_is_decided,
        test_soft_tables.test_nothing_is_removed_beside_a_batch_that_is_decided,
    ),
    "What removes marked rows asks again right before whether all is as it was": Mutation(
        lambda: [(maintaining, "_has_changed", lambda *_: False)],
        lambda: test_soft_tables.test_who_stalls_before_a_removal_wakes_to_remove_nothing(
            "another folder"
        ),
    ),
    "What marks a row writes its own place into it": Mutation(
        _a_mark_leaves_the_place_of_what_was_before,
        in_a_landing_zone(
            test_small_batches.test_rows_have_the_place_of_what_wrote_them_or_marked_them
        ),
    ),
    "No row keeps its place when something is written into it while lineage is off": Mutation(
        _off_is_as_if_it_had_never_been,
        test_lineage_tables.test_columns_stay_empty_once_it_is_off_until_the_table_begins_anew,
    ),
}
"""By the first cell of each row of a table of rules: a mutation, or by its name one of those that
random schedules notice (`tests/simulation/mutations.py`)."""

IN_PROSE: Mapping[str, str] = {
    "fences": "To **fence** an epoch is to commit a MERGE that matches no row",
    "the_second_observation": "What was read is what was planned, or start over.",
    "the_newest_epoch_rule": "the log's live epoch is not the newest that was decided",
    "the_fence_before_a_drop": "The fences come first, so that a runner which still holds a "
    "batch cannot finish it, at the path or in the retained table.",
    "manifests_in_cleanup": "batches whose files are not all archived, with the manifests they "
    "were read with",
    "the_etag_of_a_move": "under the source's ETag",
    "the_order_of_a_cleaning_observation": "Cleanup observes with the listing **last**",
    "the_ledger": "whoever finds the batch decided writes it again, and finds it there",
    "writing_down_before_the_commit": "It is written by conditional create between *decide* and "
    "*commit*",
    "places_by_name": "applied files and those of the decided batch have theirs for good, by name",
    "names_used_before": "**Names used before** are known by the numbers of their partition",
    "the_ledger_when_files_are_read_again": "by a reseed, which applies the same files in the same "
    "order again",
    "restoring": "by an observation that found the control document lost",
    "a_new_epoch_after_a_loss": "the table goes on under a new epoch, and every earlier one is "
    "fenced",
    "the_first_observation": "waits count from then",
    "writing_down_the_first_observation": "`etag` and `at` of the first observation that saw this "
    "content",
    "checksums": "Checksums of the files are taken before",
    "comparing_checksums": "unless its checksum is that of the bytes that were applied",
    "writing_down_the_new_etag": "then its new ETag is written down",
    "comparing_what_was_read_ahead": "A plan that asks for the very batch that was read takes it",
    "the_stop_of_a_rebuilt_table": "behind this file nothing is read, and a table that has come "
    "there is held",
}
"""Rules that ARCHITECTURE states outside of its tables, by the mutation that random schedules
notice."""

DIRECTED_IN_PROSE = {
    "what that one had written down behind it is void": Mutation(
        _what_was_given_up_counts_as_well,
        test_ledger.test_a_file_that_is_replaced_before_its_batch_was_applied_is_read_as_it_is_now,
    ),
}
"""The same for rules whose mistake a directed schedule shows, and random ones hardly ever."""
