"""What the store in memory adds: times of its clock, and content of its own."""

from __future__ import annotations

from datetime import UTC, datetime

from openmirror.stores.memory.files import MemoryStore
from tests.contract.stores import FILE, TABLE


def test_the_memory_store_puts_time_stamps_of_its_clock() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    memory = MemoryStore(lambda: now)
    memory.put(FILE, b"content")
    listing = memory.list_folder(TABLE)
    assert listing.at == now
    assert listing.entries[0].modified == now


def test_the_memory_store_keeps_its_own_copy_of_what_was_written() -> None:
    memory = MemoryStore(lambda: datetime.now(UTC))
    data = bytearray(b"content")
    memory.put(FILE, data)  # type: ignore[arg-type]
    data[0] = 0
    assert memory.read(FILE).data == b"content"
