"""What a killed runner left of its conversions goes away a day later, and nothing else does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from openmirror.errors import Unavailable
from openmirror.reconcile.leftovers import clear_leftovers
from openmirror.reconcile.mirrors import open_mirror
from openmirror.runtime.sweeping import clean
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.stores import Call
from tests.harness.world import World


@pytest.fixture
def world() -> World:
    return World()


def convert(world: World, reading: str) -> StorePath:
    path = layout.converted_part(layout.conversion("m", reading), 1, 0)
    world.store.put(path, b"x")
    return path


def there(world: World) -> list[str]:
    return [entry.name for entry in world.store.list_folder(layout.conversions("m")).entries]


def test_only_what_is_a_day_old_goes(world: World) -> None:
    convert(world, "killed")
    world.clock.turn(timedelta(hours=23))
    convert(world, "underway")
    assert clear_leftovers(world.ports, "m") == ()
    world.clock.turn(timedelta(hours=1))
    assert clear_leftovers(world.ports, "m", dry_run=True) == ("killed",)
    assert there(world) == ["killed", "underway"]
    assert clear_leftovers(world.ports, "m") == ("killed",)
    assert there(world) == ["underway"]


def test_a_mirror_that_never_converted_anything_has_none(world: World) -> None:
    assert clear_leftovers(world.ports, "m") == ()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_cleanup_pass_clears_each_mirror_once(world: World, *, dry_run: bool) -> None:
    open_mirror(world.store, "m")
    convert(world, "killed")
    world.clock.turn(timedelta(days=2))
    assert clean(world.ports, iter(["m"]), dry_run=dry_run).leftovers == {"m": 1}
    assert there(world) == (["killed"] if dry_run else [])
    assert clean(world.ports, ["m"]).leftovers == ({"m": 1} if dry_run else {})


def test_one_mirror_that_cannot_be_reached_leaves_no_other_uncleaned(world: World) -> None:
    def away(call: Call) -> None:
        if call.method == "list_folder" and call.path == layout.conversions("away"):
            raise Unavailable("it is away")

    world.store.make_folder(layout.landing_zone("away"))
    for mirror in ("away", "m"):
        open_mirror(world.store, mirror)
    world.watched.before = away
    convert(world, "killed")
    world.clock.turn(timedelta(days=1))
    done = clean(world.ports, ["away", "m"])
    assert done.leftovers == {"m": 1}
    assert done.unreadable == {"away": "it is away"}
