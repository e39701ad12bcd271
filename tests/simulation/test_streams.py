"""Any schedule of relays, runners and kills gives tables that the database once had, in order."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import pytest

from openmirror.cdc.relay import selecting
from openmirror.cdc.relay.document import SharedDocument
from tests.cdc.relay.test_relay import MISTAKES
from tests.simulation.streams import Outcome, run

DEFAULT_SCHEDULES = 8
MOST_SEEDS = 60
SOAK_SCHEDULES = 20_000
SEEN = ("batch-committed", "table-cleaned", "killed", "document deleted", "new snapshot")


def assert_all_right(ended: Iterable[Outcome]) -> Counter[str]:
    events: Counter[str] = Counter()
    wrong = []
    for outcome in ended:
        events.update(outcome.counts)
        if outcome.wrong:
            wrong.append(f"{outcome.wrong}\n    python -m tests.simulation.streams {outcome.seed}")
    assert not wrong, f"{len(wrong)} schedules went wrong:\n" + "\n".join(wrong[:5])
    return events


def test_every_version_of_a_table_is_one_that_the_database_had_whoever_is_killed() -> None:
    events = assert_all_right(map(run, range(DEFAULT_SCHEDULES)))
    assert all(events[event] for event in SEEN), f"something never happened: {events}"


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_more_schedules_of_streams_do_so() -> None:
    count = int(os.environ.get("OPENMIRROR_SCHEDULES", SOAK_SCHEDULES))
    first = int(os.environ.get("OPENMIRROR_SEED_FROM", DEFAULT_SCHEDULES))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool:
        assert_all_right(pool.map(run, range(first, first + count), chunksize=10))


MUTATIONS = {
    **MISTAKES,
    "a document that is made again forgets what relays know": (
        SharedDocument,
        "_with_what_is_known",
        lambda self, there: there,
    ),
    "a new snapshot does not empty its table": (selecting, "emptied_first", lambda piece: piece),
}


NOTICED_BY: dict[str, tuple[int, dict[str, float]]] = {
    "a document that is made again forgets what relays know": (
        1,
        {"bad": 0.05, "losing": 0.02, "asking": 0.0},
    ),
}
"""The seed that notices it, with the habits that it takes; the others are noticed by any few."""


def is_noticed(mutation: str, seed: int, chosen: dict[str, float]) -> bool:
    with mock.patch.object(*MUTATIONS[mutation]):
        try:
            return run(seed, chosen).wrong is not None
        except Exception:  # noqa: BLE001 - whatever a mutation breaks, it is noticed
            return True


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_rule_that_is_left_out_is_noticed(mutation: str) -> None:
    known, chosen = NOTICED_BY.get(mutation, (0, {}))
    if is_noticed(mutation, known, chosen):
        return
    found = next((seed for seed in range(MOST_SEEDS) if is_noticed(mutation, seed, chosen)), None)
    assert found is not None, f"{MOST_SEEDS} schedules run well without it"
    assert mutation not in NOTICED_BY, f"seed {known} does not notice it; write down {found}"
