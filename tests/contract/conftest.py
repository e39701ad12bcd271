"""What takes real time begins with the first of these tests, and the others run meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standins.azurite import Azurite
from tests.contract.blob_leases import Abandoned, abandoned


@pytest.fixture(scope="session")
def abandoned_lease(azurite: Azurite) -> Iterator[Abandoned]:
    with abandoned(azurite) as left:
        yield left


@pytest.fixture(scope="session", autouse=True)
def _begun_early(request: pytest.FixtureRequest) -> None:
    wanted = (getattr(item, "fixturenames", ()) for item in request.session.items)
    if any("abandoned_lease" in names for names in wanted):
        request.getfixturevalue("abandoned_lease")
