"""States of Delta's logs that are computed ahead: few, and those that may be of use."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from openmirror.spark import state_ahead
from openmirror.spark.state_ahead import StateAhead


def test_of_many_tables_only_the_newest_wait_for_their_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go, computed = threading.Event(), threading.Event(), list[str]()

    def current(session: Any, table: str) -> None:
        begun.set()
        assert go.wait(60)
        computed.append(table)

    monkeypatch.setattr(state_ahead, "_current", current)
    ahead = StateAhead(lambda: cast(SparkSession, None))
    ahead.want("first")
    assert begun.wait(60)
    tables = [f"t{number}" for number in range(100)]
    for table in tables:
        ahead.want(table)
    go.set()
    ahead._states[tables[-1]].result(60)
    # The first one was underway.
    assert computed == ["first", *tables[-8:]]
    ahead.current(cast(SparkSession, None), "t5")
    assert computed[-1] == "t5", "a commit that finds none computes its own"
