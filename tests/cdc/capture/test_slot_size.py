"""How much of its log a real database keeps for a stream, and one that does not answer."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.capture.slot_size import SlotSize, slot_size
from openmirror.errors import CannotStart
from standins.postgres import connected
from tests.cdc.eventually import eventually

SOON = 0.05


def test_it_grows_with_the_log_that_nobody_reads(settings: CaptureSettings) -> None:
    with connected(settings.url) as owner:
        owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (settings.slot,))
        owner.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
        size = SlotSize(lambda: slot_size(settings.url, settings.slot), SOON)
        assert size.now() is None
        size.start()
        try:
            eventually(lambda: size.now() is not None)
            owner.execute(
                "INSERT INTO orders SELECT n, repeat('x', 1000) FROM generate_series(1, 3000) n"
            )
            eventually(lambda: (size.now() or 0) > 3_000_000)
        finally:
            size.stop()
        owner.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))


def test_nobody_knows_it_of_a_database_that_is_away_or_has_no_such_slot(
    settings: CaptureSettings,
) -> None:
    assert slot_size(settings.url, "other") is None
    with pytest.raises(CannotStart):
        slot_size(replace(settings.url, port=1), settings.slot)


def test_one_that_goes_away_is_unknown_until_it_answers_again() -> None:
    answers = iter([7, None, 9])
    asked = threading.Event()

    def ask() -> int:
        found = next(answers, 9)
        if found is None:
            asked.set()
            raise CannotStart("it is away")
        return found

    size = SlotSize(ask, SOON)
    size.start()
    try:
        assert asked.wait(5)
        eventually(lambda: size.now() == 9)
    finally:
        size.stop()
