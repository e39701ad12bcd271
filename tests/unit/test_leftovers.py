"""What a killed runner left of its conversions goes away a day later, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from openmirror.deltalog import LogReplay
from openmirror.errors import Unavailable
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ports import Listing
from openmirror.reconcile.leftovers import clear_leftovers
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import clean
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ports(clock: Clock) -> RootPorts:
    store = MemoryStore(clock)
    return RootPorts(
        store=store, inspector=ChangeFileInspector(store), logs=LogReplay(store), clock=clock
    )


def convert(ports: RootPorts, reading: str) -> StorePath:
    path = layout.converted_part(layout.conversion("m", reading), 1, 0)
    ports.store.write(path, b"x")
    return path


def there(ports: RootPorts) -> list[str]:
    return [entry.name for entry in ports.store.list_folder(layout.conversions("m")).entries]


def test_only_what_is_a_day_old_goes(ports: RootPorts, clock: Clock) -> None:
    convert(ports, "killed")
    clock.now += timedelta(hours=23)
    convert(ports, "underway")
    assert clear_leftovers(ports, "m") == ()
    clock.now += timedelta(hours=1)
    assert clear_leftovers(ports, "m", dry_run=True) == ("killed",)
    assert there(ports) == ["killed", "underway"]
    assert clear_leftovers(ports, "m") == ("killed",)
    assert there(ports) == ["underway"]


def test_a_mirror_that_never_converted_anything_has_none(ports: RootPorts) -> None:
    assert clear_leftovers(ports, "m") == ()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_cleanup_pass_clears_each_mirror_once(
    ports: RootPorts, clock: Clock, *, dry_run: bool
) -> None:
    ports.store.make_folder(layout.landing_zone("m"))  # type: ignore[attr-defined]
    open_mirror(ports.store, "m")
    convert(ports, "killed")
    clock.now += timedelta(days=2)
    assert clean(ports, iter(["m"]), dry_run=dry_run).leftovers == {"m": 1}
    assert there(ports) == (["killed"] if dry_run else [])
    assert clean(ports, ["m"]).leftovers == ({"m": 1} if dry_run else {})


def test_one_mirror_that_cannot_be_reached_leaves_no_other_uncleaned(
    ports: RootPorts, clock: Clock
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
    ports = replace(ports, store=store)
    convert(ports, "killed")
    clock.now += timedelta(days=1)
    done = clean(ports, ["away", "m"])
    assert done.leftovers == {"m": 1}
    assert done.unreadable == {"away": "it is away"}
