"""Whatever is published, however it is cut and wherever it dies: the mirror has what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openmirror.ports import FileStore
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, interpret
from openmirror.publishing import TableWriter
from openmirror.stores.local.store import LocalStore
from tests.harness.dying import Killed
from tests.publishing.dying import DyingStore
from tests.publishing.zones import archive_applied, memory, mirrored, publisher

Row = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """One call of a writer."""

    method: str
    rows: tuple[Row, ...]

    def call(self, orders: TableWriter) -> None:
        getattr(orders, self.method)([dict(row) for row in self.rows])


MARKERS = {
    "insert": Marker.INSERT,
    "update": Marker.UPDATE,
    "upsert": Marker.UPSERT,
    "delete": Marker.DELETE,
}

ids = st.integers(1, 4)
whole_rows = st.builds(
    lambda key, value, more: {"id": key, "v": value} | ({"w": more} if more else {}),
    ids,
    st.text("abc", max_size=2),
    st.sampled_from(["", "x"]),
)
operations = st.builds(
    Operation,
    st.sampled_from(sorted(MARKERS)),
    st.lists(whole_rows, max_size=4).map(tuple),
)
batches = st.lists(st.lists(operations, max_size=3), min_size=1, max_size=5)


def meant(history: list[list[Operation]]) -> Table:
    """What the interpreter makes of the operations themselves."""
    files = [
        ChangeFile(
            tuple(dict.fromkeys(name for row in operation.rows for name in row)),
            [
                Change(MARKERS[operation.method], {fold_case(k): v for k, v in row.items()})
                for row in operation.rows
            ],
        )
        for batch in history
        for operation in batch
    ]
    return interpret(files, ["id"])


def bag(table: Table) -> Counter[tuple[tuple[str, object], ...]]:
    """Rows in no order; a column that is NULL everywhere may not have come at all."""
    return Counter(
        tuple(sorted((name, value) for name, value in row.items() if value is not None))
        for row in table.rows
    )


def send(
    store: FileStore, history: list[list[Operation]], rows: int, position: Callable[[int], Any]
) -> None:
    """A process of a source: goes on behind what landed, as a source does."""
    with publisher(store, rows=rows).table("dbo.orders", key=["id"], source="erp") as orders:
        done = [position(i) for i in range(len(history))]
        start = done.index(orders.position) + 1 if orders.position in done else 0
        for number, batch in enumerate(history[start:], start=start):
            with orders.batch(position(number)):
                for operation in batch:
                    operation.call(orders)


def check(store: FileStore, history: list[list[Operation]]) -> None:
    assert bag(mirrored(store)) == bag(meant(history))


def dies_and_resumes(
    store: FileStore,
    history: list[list[Operation]],
    deaths: list[tuple[int, bool, int]],
    position: Callable[[int], Any],
    between: Callable[[], None] = lambda: None,
) -> None:
    """Processes that each die at some call, and one that does not."""
    for at, after, rows in deaths:
        try:
            send(DyingStore(store, at, after=after), history, rows, position)
        except Killed:
            between()
    send(store, history, 3, position)
    check(store, history)


@pytest.mark.parametrize("position", [int, "token {}".format], ids=["number", "text"])
@given(
    history=batches,
    deaths=st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.integers(1, 5)), max_size=4),
    archives=st.booleans(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_history_that_dies_anywhere_lands_once(
    position: Callable[[int], Any],
    history: list[list[Operation]],
    deaths: list[tuple[int, bool, int]],
    archives: bool,
) -> None:
    store = memory()
    between = (lambda: archive_applied(store)) if archives else (lambda: None)
    dies_and_resumes(store, history, deaths, position, between)


HISTORY = [
    [Operation("insert", ({"id": 1, "v": "a"}, {"id": 2, "v": "b"}, {"id": 1, "v": "c"}))],
    [],
    [
        Operation("upsert", ({"id": 2, "v": "d", "w": "x"}, {"id": 3, "v": "e"})),
        Operation("delete", ({"id": 1},)),
    ],
    [Operation("insert", tuple({"id": 4, "v": str(n)} for n in range(5)))],
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_call_of_the_store_is_one_at_which_a_death_loses_or_repeats_rows(after: bool) -> None:
    counting = DyingStore(memory(), 10_000, after=False)
    send(counting, HISTORY, 2, int)
    for at in range(len(counting.calls)):
        dies_and_resumes(memory(), HISTORY, [(at, after, 2)], int)


def test_a_folder_of_this_machine_bears_deaths_as_well(tmp_path: Path) -> None:
    for at in range(3, 90, 11):
        store = LocalStore(tmp_path / str(at))
        dies_and_resumes(store, HISTORY, [(at, at % 2 == 0, 2)], int)
