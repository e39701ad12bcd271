"""A connector's own words are for whoever wrote it; an operator gets what to do."""

from __future__ import annotations

import json

import pytest

from openmirror.cdc.capture.failures import ConnectorFailed
from openmirror.cdc.snapshot_marks import NOTIFICATIONS, failed_snapshot


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (
            "The connector is trying to read change stream starting at … , but this is no "
            "longer available on the server. Reconfigure the connector to use a snapshot mode.",
            "--anew",
        ),
        ('ERROR: replication slot "openmirror_shop" does not exist', "--anew"),
        ('ERROR: publication "openmirror_shop" does not exist', "--anew"),
        ('ERROR: replication slot "openmirror_shop" is active for PID 7', "--stream"),
        ('ERROR: can no longer get changes from replication slot "openmirror_shop"', "--anew"),
        ("ERROR: permission denied for table orders", "Grant what the server names"),
        ("FATAL: terminating connection due to administrator command", "Begin again once it is"),
        ("Connection to 127.0.0.1:5432 refused. Check that the hostname is correct", "Begin again"),
        ("Java heap space", "--table"),
    ],
)
def test_what_is_known_has_its_remedy_and_the_connectors_words(words: str, remedy: str) -> None:
    failure = str(ConnectorFailed(words))
    meaning, _, own = failure.partition(" The connector's own words: ")
    assert remedy in meaning
    assert own == words


def test_what_is_not_known_is_passed_on_in_one_line() -> None:
    assert str(ConnectorFailed("odd\n  thing")) == (
        "the connector has failed: odd thing. Correct this, and begin again: nothing is lost"
    )
    assert "it gave no reason" in str(ConnectorFailed(""))
    assert len(str(ConnectorFailed("x" * 100_000))) < 1000


def test_what_passes_by_itself_is_known() -> None:
    assert ConnectorFailed("a snapshot of a table failed: SQL_EXCEPTION").passes
    assert ConnectorFailed("FATAL: the database system is shutting down").passes
    assert not ConnectorFailed("ERROR: permission denied for table orders").passes


@pytest.mark.parametrize(
    ("kind", "more", "why"),
    [
        ("TABLE_SCAN_COMPLETED", {"status": "SQL_EXCEPTION"}, "SQL_EXCEPTION"),
        ("TABLE_SCAN_COMPLETED", {"status": "NO_PRIMARY_KEY"}, "NO_PRIMARY_KEY"),
        ("ABORTED", {}, "ABORTED"),
        ("TABLE_SCAN_COMPLETED", {"status": "SUCCEEDED"}, None),
        ("TABLE_SCAN_COMPLETED", {"status": "EMPTY"}, None),
        ("STARTED", {}, None),
        ("IN_PROGRESS", {}, None),
    ],
)
def test_a_snapshot_that_failed_is_known_by_its_mark(
    kind: str, more: dict[str, str], why: str | None
) -> None:
    mark = {"aggregate_type": "Incremental Snapshot", "id": "n", "type": kind}
    value = json.dumps({**mark, "additional_data": more}).encode()
    assert failed_snapshot(NOTIFICATIONS, value) == why
    assert failed_snapshot("shop.public.orders", value) is None
    first = json.dumps({**mark, "aggregate_type": "Initial Snapshot"}).encode()
    assert failed_snapshot(NOTIFICATIONS, first) is None
    assert failed_snapshot(NOTIFICATIONS, None) is None
