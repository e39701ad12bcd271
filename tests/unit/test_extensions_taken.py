"""Which extensions a publisher may use: those alone that its zone's mirror says it takes."""

from __future__ import annotations

import pytest

from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.publishing.extensions import taken_by
from openmirror.table.layout import StorePath, landing_zone
from tests.publishing.zones import memory

ADVERTISED = StorePath("landing/m/Files/Monitoring/replicator.json")


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (None, frozenset()),
        (b"", frozenset()),
        (b"{", frozenset()),
        (b"[]", frozenset()),
        (b'{"status": "Running"}', frozenset()),
        (b'{"extensions": null}', frozenset()),
        (b'{"extensions": []}', frozenset()),
        (b'{"extensions": ["truncate", "more"]}', frozenset({Marker.TRUNCATE})),
        (b'{"extensions": ["truncate", "partialUpdate"]}', EXTENSIONS),
    ],
)
def test_nothing_is_taken_that_the_mirror_does_not_say(
    content: bytes | None, taken: frozenset[Marker]
) -> None:
    store = memory()
    if content is not None:
        store.write(ADVERTISED, content)
    assert taken_by(store, landing_zone("m")) == taken
