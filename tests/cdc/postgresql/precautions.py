"""Takes one precaution of the stream out of a test run: `-p tests.cdc.postgresql.precautions`.

The environment variable OPENMIRROR_WITHOUT_PRECAUTION names the precaution.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from openmirror.cdc.postgresql import (
    batches,
    copying,
    fingerprints,
    gate,
    loading,
    partial_rows,
    readings,
    tables,
)

VARIABLE = "OPENMIRROR_WITHOUT_PRECAUTION"
_emit = loading.Loader._emit
_relation = batches.Assembler._relation
_parsed = fingerprints.parsed
_CASES = "test_cases.py::test_each_table_is_exact_or_stops_alone"
_DDL = "test_ddl.py"


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


def _one_reading(gate: Any, transactions: object, tables: Any) -> Any:
    return readings.read_catalogue(gate._connection, gate._settings.slot, tables)


def _without_written(document: Any) -> Any:
    found = _parsed(document)
    columns = {number: replace(one, written=0) for number, one in found.columns.items()}
    return replace(found, columns=columns)


def _without_label_xmin(document: Any) -> Any:
    found = _parsed(document)
    return replace(found, texts={part: fact.split(" ")[0] for part, fact in found.texts.items()})


def _without_publication_xmin(document: Any) -> Any:
    found = _parsed(document)
    return replace(found, sent=tuple(found.sent[:1]))


PRECAUTIONS: dict[str, tuple[Any, str, Any, str]] = {
    "open writers are waited for": (
        loading,
        "open_writers",
        lambda connection, oids: frozenset(),
        "test_loading.py::test_a_transaction_that_wrote_before_the_publication_is_waited_for",
    ),
    "changes are visible before they land": (
        gate.CatalogueGate,
        "read",
        _one_reading,
        "test_stream.py::test_nothing_lands_before_it_is_visible",
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
    "fingerprints are compared": (
        tables,
        "stale_rows",
        lambda before, now, ever: None,
        _CASES,
    ),
    "who wrote a column's row of the catalogue": (tables, "parsed", _without_written, _CASES),
    "who wrote an enum's label": (tables, "parsed", _without_label_xmin, _DDL),
    "who wrote the publication": (tables, "parsed", _without_publication_xmin, _DDL),
    "tables that come and go are followed": (
        gate.CatalogueGate,
        "must_rearrange",
        lambda catalogue_gate: False,
        _DDL,
    ),
    "rows are of a known definition": (tables, "strange_rows", lambda relation, known: None, _DDL),
    "rows are read by the Relation before them": (
        batches.Assembler,
        "_relation",
        _first_relation_only,
        _CASES,
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
