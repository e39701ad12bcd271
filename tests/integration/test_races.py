"""The failures that the design prevents, with real Spark: each occurs without its rule.

What occurs then is no affair of Spark's, so the engine that keeps rows by definition shows it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from openmirror.plan import ObservedState, opening
from openmirror.plan.cleanup import Cleanup, plan_cleanup
from openmirror.ports import Step
from openmirror.protocol.names import ETag
from openmirror.reconcile import apply, clean, epochs
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.reconciliation import reconcile
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from tests import zone
from tests.conformance.by_definition import ByDefinition
from tests.harness.publishing import file_name
from tests.integration.runners import stalled_runner
from tests.zone import Mirror, Product, Zone

Patch = pytest.MonkeyPatch
KEYED = {"keyColumns": ["id"]}


def _changes(*rows: tuple[int, int, str]) -> pa.Table:
    markers, ids, values = zip(*rows, strict=True)
    return pa.table({"__rowMarker__": list(markers), "id": list(ids), "v": list(values)})


def _values(mirror: Product, table: str) -> list[tuple[int, str]]:
    return sorted((row["id"], row["v"]) for row in mirror.rows(table))


def _batches_of(mirror: Product, files: int) -> Product:
    other = mirror.with_steps(lambda step: None)
    other.ports = replace(other.ports, limits=replace(other.ports.limits, batch_files=files))
    return other


def _with_and_without(
    scenario: Callable[[Product], None], mirror: Mirror, take_out: Callable[[Patch], None]
) -> None:
    """A scenario holds as the product is, and is noticed once its rule is taken out."""
    scenario(mirror)
    scenario(ByDefinition(_emptied(mirror.zone)))
    with pytest.MonkeyPatch.context() as patch:
        take_out(patch)
        patch.setattr(zone, "MOST_RECONCILIATIONS", 6)  # one that never rests is noticed as well
        with pytest.raises(AssertionError):
            scenario(ByDefinition(_emptied(mirror.zone)))


def _emptied(root_of: Zone) -> Zone:
    shutil.rmtree(root_of.root)
    root_of.landing.mkdir(parents=True)
    return root_of


def test_a_stalled_runner_cannot_apply_a_batch_that_another_one_finished(mirror: Mirror) -> None:
    def scenario(mirror: Product) -> None:
        mirror.zone.metadata("t", KEYED)
        mirror.zone.put("t", 1, _changes((0, 1, "a")))
        mirror.reconcile_until_idle("t")
        mirror.zone.put("t", 2, _changes((0, 2, "b")))
        mirror.zone.put("t", 3, _changes((0, 3, "c")))
        with stalled_runner(mirror, "t", Step.BEFORE_COMMIT) as finish:
            other = _batches_of(mirror, 1)
            reconcile(other.ports, other.engine, other.table("t"))
            finish()
        mirror.reconcile_until_idle("t")
        assert _values(mirror, "t") == [(1, "a"), (2, "b"), (3, "c")]

    def without_decided_batches(patch: Patch) -> None:
        patch.setattr(opening, "is_of_this_incarnation", lambda observed, decided: False)

    _with_and_without(scenario, mirror, without_decided_batches)


def test_a_runner_of_a_deleted_folders_incarnation_adds_nothing_to_the_next_one(
    mirror: Mirror,
) -> None:
    def scenario(mirror: Product) -> None:
        mirror.zone.put("t", 1, {"id": [1], "v": ["old"]})
        mirror.reconcile_until_idle("t")
        mirror.zone.put("t", 2, {"id": [2], "v": ["old"]})
        with stalled_runner(mirror, "t", Step.BEFORE_COMMIT) as finish:
            shutil.rmtree(mirror.zone.folder("t"))
            mirror.zone.put("t", 1, {"id": [9], "v": ["new"]})
            mirror.reconcile_until_idle("t")
            finish()
        assert _values(mirror, "t") == [(9, "new")]

    def without_fences(patch: Patch) -> None:
        patch.setattr(apply, "fence_others", lambda *args: True)

    _with_and_without(scenario, mirror, without_fences)


def test_a_first_batch_that_was_never_committed_cannot_come_after_the_next_incarnation(
    mirror: Mirror,
) -> None:
    def scenario(mirror: Product) -> None:
        mirror.zone.put("t", 1, {"id": [1], "v": ["old"]})
        with stalled_runner(mirror, "t", Step.BEFORE_COMMIT) as finish:
            shutil.rmtree(mirror.zone.folder("t"))
            mirror.zone.put("t", 1, {"id": [9], "v": ["new"]})
            mirror.reconcile_until_idle("t")
            finish()
        assert _values(mirror, "t") == [(9, "new")]

    def fence_only_what_committed(patch: Patch) -> None:
        def only_live(ports, engine, table, control, opening, create):  # type: ignore[no-untyped-def]
            return epochs.fence_others(
                ports, engine, table, replace(control, epochs=()), opening, create
            )

        patch.setattr(apply, "fence_others", only_live)

    _with_and_without(scenario, mirror, fence_only_what_committed)


def test_a_file_that_was_replaced_between_plan_and_commit_is_applied_as_it_is_now(
    mirror: Mirror,
) -> None:
    def scenario(mirror: Product) -> None:
        mirror.zone.put("t", 1, {"id": [1], "v": ["a"]})
        mirror.reconcile_until_idle("t")
        mirror.zone.put("t", 2, {"id": [2], "v": ["too early"]})
        with stalled_runner(mirror, "t", Step.FOLDED) as finish:
            mirror.zone.put("t", 2, {"id": [2], "v": ["right"]})
            finish()
        assert _values(mirror, "t") == [(1, "a"), (2, "right")]

    def without_second_observation(patch: Patch) -> None:
        patch.setattr(apply, "is_as_planned", lambda ports, batch: True)
        patch.setattr(apply, "checksums_of", lambda *_: {})  # taking them would show it as well

    _with_and_without(scenario, mirror, without_second_observation)


def test_cleanup_moves_nothing_of_a_folder_that_was_created_again(mirror: Mirror) -> None:
    def scenario(mirror: Product) -> None:
        for number in (1, 2):
            mirror.zone.put("t", number, {"id": [number], "v": ["old"]})
        mirror.reconcile_until_idle("t")

        def recreate(observed: ObservedState, *_: object) -> Cleanup:
            planned = plan_cleanup(observed, observed.at)
            assert planned.moves
            shutil.rmtree(mirror.zone.folder("t"))
            for number in (1, 2):
                mirror.zone.put("t", number, {"id": [number], "v": ["new"]})
            return planned

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clean, "plan_cleanup", recreate)
            clean_table(mirror.ports, mirror.table("t"))
        assert (mirror.zone.folder("t") / file_name(1)).exists()
        mirror.reconcile_until_idle("t")
        assert _values(mirror, "t") == [(1, "new"), (2, "new")]

    def without_conditions(patch: Patch) -> None:
        def move(self: LocalStore, source: StorePath, destination: StorePath, etag: ETag) -> None:
            target = mirror.zone.root / destination
            target.parent.mkdir(parents=True, exist_ok=True)
            (mirror.zone.root / source).rename(target)

        patch.setattr(LocalStore, "move_file", move)
        patch.setattr(clean, "_is_same_incarnation", lambda ports, observed: True)

    _with_and_without(scenario, mirror, without_conditions)


def test_two_runners_racing_on_one_table_apply_everything_once(mirror: Mirror) -> None:
    mirror.zone.metadata("t", KEYED)
    for number in range(1, 6):
        mirror.zone.put("t", number, _changes((0, number, "a"), (4, 100, f"{number}")))
    runners = [_batches_of(mirror, files) for files in (1, 2)]
    with ThreadPoolExecutor(len(runners)) as pool:
        list(pool.map(lambda runner: runner.reconcile_until_idle("t"), runners))
    assert _values(mirror, "t") == [*((n, "a") for n in range(1, 6)), (100, "5")]
