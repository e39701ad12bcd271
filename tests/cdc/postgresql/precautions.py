"""Takes one precaution of the stream out of a test run: `-p tests.cdc.postgresql.precautions`.

The environment variable OPENMIRROR_WITHOUT_PRECAUTION names the precaution.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from openmirror.cdc.postgresql import batches, catalogue, copying, loading, partial_rows, stream

VARIABLE = "OPENMIRROR_WITHOUT_PRECAUTION"
_emit = loading.Loader._emit
_relation = batches.Assembler._relation


def _counted_at_once(loader: Any) -> None:
    """Emit a mark, and count the ranges before it without waiting for it."""
    _emit(loader)
    for mark, waiting in list(loader._marks.items()):
        if waiting and not any(behind.is_first for behind in waiting.values()):
            place = next(iter(waiting)).last_mark
            loader._came(mark, place, frozenset())


def _first_relation_only(assembler: Any, oid: bytes, message: Any) -> None:
    if oid not in assembler._relations:
        _relation(assembler, oid, message)


def _all_visible(visibility: Any, snapshot: object) -> None:
    visibility.waiting.clear()
    visibility.complete = visibility.end


PRECAUTIONS: dict[str, tuple[Any, str, Any, str]] = {
    "open writers are waited for": (
        loading,
        "open_writers",
        lambda connection, oids: frozenset(),
        "test_loading.py::test_a_transaction_that_wrote_before_the_publication_is_waited_for",
    ),
    "what came before the mark is visible": (
        catalogue.Snapshot,
        "sees",
        lambda snapshot, xid: True,
        "test_loading.py::test_rows_wait_until_every_transaction_before_the_mark_is_visible",
    ),
    "a mark after the COPY": (
        loading.Loader,
        "_emit",
        _counted_at_once,
        "test_loading.py::test_a_range_counts_once_a_later_mark_has_come",
    ),
    "the table's definition": (
        copying.RowConnection,
        "_need",
        lambda connection, expected: connection._storage(expected.oid),
        "test_loading.py::test_another_definition_gives_up_the_load",
    ),
    "acknowledging only what is visible": (
        stream.Visibility,
        "see",
        _all_visible,
        "test_stream.py::test_nothing_is_acknowledged_before_it_has_landed_and_is_visible",
    ),
    "rows are read by the Relation before them": (
        batches.Assembler,
        "_relation",
        _first_relation_only,
        "test_cases.py::test_each_table_is_exact_or_stops_alone",
    ),
    "a key is read once more": (
        partial_rows._Walk,
        "needed",
        property(lambda walk: {}),
        "test_loading.py::test_a_row_that_moves_between_ranges_is_read_once_more",
    ),
}
"""Where a precaution stands, what takes its place, and the test that notices that."""


def pytest_configure() -> None:
    name = os.environ.get(VARIABLE)
    if name is not None:
        target, attribute, mistake, _ = PRECAUTIONS[name]
        before: Callable[..., object] = getattr(target, attribute)
        assert before is not mistake
        setattr(target, attribute, mistake)
