"""What a killed runner left of its conversions goes away a day later, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror import layout
from openmirror.adapters.changefiles import ChangeFileInspector
from openmirror.adapters.deltalog import LogReplay
from openmirror.adapters.memory import MemoryStore
from openmirror.errors import Unavailable
from openmirror.layout import StorePath
from openmirror.ports import Listing
from openmirror.services.leftovers import clear_leftovers
from openmirror.services.mirrors import open_mirror
from openmirror.services.parts import Parts
from openmirror.services.sweeping import clean

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def parts(clock: Clock) -> Parts:
    store = MemoryStore(clock)
    return Parts(
        store=store, inspector=ChangeFileInspector(store), logs=LogReplay(store), clock=clock
    )


def convert(parts: Parts, reading: str) -> StorePath:
    path = layout.converted_part(layout.conversion("m", reading), 1, 0)
    parts.store.write(path, b"x")
    return path


def there(parts: Parts) -> list[str]:
    return [entry.name for entry in parts.store.list_folder(layout.conversions("m")).entries]


def test_only_what_is_a_day_old_goes(parts: Parts, clock: Clock) -> None:
    convert(parts, "killed")
    clock.now += timedelta(hours=23)
    convert(parts, "underway")
    assert clear_leftovers(parts, "m") == ()
    clock.now += timedelta(hours=1)
    assert clear_leftovers(parts, "m", dry_run=True) == ("killed",)
    assert there(parts) == ["killed", "underway"]
    assert clear_leftovers(parts, "m") == ("killed",)
    assert there(parts) == ["underway"]


def test_a_mirror_that_never_converted_anything_has_none(parts: Parts) -> None:
    assert clear_leftovers(parts, "m") == ()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_cleanup_pass_clears_each_mirror_once(
    parts: Parts, clock: Clock, *, dry_run: bool
) -> None:
    parts.store.make_folder(layout.landing_zone("m"))  # type: ignore[attr-defined]
    open_mirror(parts.store, "m")
    convert(parts, "killed")
    clock.now += timedelta(days=2)
    assert clean(parts, iter(["m"]), dry_run=dry_run).leftovers == {"m": 1}
    assert there(parts) == (["killed"] if dry_run else [])
    assert clean(parts, ["m"]).leftovers == ({"m": 1} if dry_run else {})


def test_one_mirror_that_cannot_be_reached_leaves_no_other_uncleaned(
    parts: Parts, clock: Clock
) -> None:
    class Away(MemoryStore):
        def list_folder(self, folder: StorePath) -> Listing:
            if folder == layout.conversions("away"):
                raise Unavailable("it is away")
            return super().list_folder(folder)

    store = Away(clock)
    for mirror in ("away", "m"):
        store.make_folder(layout.landing_zone(mirror))
        open_mirror(store, mirror)
    parts = replace(parts, store=store)
    convert(parts, "killed")
    clock.now += timedelta(days=1)
    done = clean(parts, ["away", "m"])
    assert done.leftovers == {"m": 1}
    assert done.unreadable == {"away": "it is away"}
