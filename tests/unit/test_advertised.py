"""What a mirror says of itself to publishers, and what is made of anything else."""

from __future__ import annotations

import pytest

from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.publishing.advertised import advertised
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
    assert advertised(store, landing_zone("m")).takes == taken


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (b'{"lineage": true}', True),
        (b'{"lineage": false}', False),
        (b'{"lineage": 1}', False),
        (b'{"extensions": ["truncate"]}', False),
    ],
)
def test_lineage_is_asked_for_in_one_word(content: bytes, asked: bool) -> None:
    store = memory()
    store.write(ADVERTISED, content)
    assert advertised(store, landing_zone("m")).lineage is asked
