"""One subscription for each test; what is deployed is what the Bicep files make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openmirror.adapters.management.clients import Clients
from tests.deployment import azure as standin
from tests.deployment.azure import Azure


@pytest.fixture
def azure() -> Iterator[Azure]:
    """A subscription with an empty resource group."""
    with standin.azure() as made:
        yield made


@pytest.fixture
def clients(azure: Azure) -> Iterator[Clients]:
    """The real SDKs over it."""
    with standin.clients(azure) as made:
        yield made
