"""Which tests have the engine compute states ahead of a next commit: most never make one.

These states cost a twentieth of all that the tests took. A commit computes its own where none is
ready, so nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from openmirror.spark.state_ahead import StateAhead

_AHEAD = (
    # Whole runs, at random and with kills.
    "tests/chain",
    "tests/kill",
    "tests/property",
    "tests/integration/test_demo",
    "tests/integration/test_lasting",
    "tests/integration/test_races",
    "tests/integration/test_runner_abfs",
    # And what is about them.
    "tests/integration/test_commit_paths",
    "tests/unit/test_state_ahead",
)


@contextmanager
def computed_as(test: str) -> Iterator[None]:
    """`test` is a test by its node ID."""
    if test.startswith(_AHEAD):
        yield
    else:
        with patch.object(StateAhead, "want", lambda ahead, table: None):
            yield
