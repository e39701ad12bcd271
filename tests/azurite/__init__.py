"""Azurite as a fixture, and what tests against it need besides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standins.azurite import Azurite, running


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """One Azurite for the whole run: tests name their own queues and containers."""
    with running(tmp_path_factory.mktemp("azurite")) as emulator:
        yield emulator
