"""Hearing of changes: whom a path concerns, and that the file system's changes really wake."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from openmirror.protocol.names import TableFolder
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.stores.local.watching import LandingWatch, Wide, heard
from tests.harness.publishing import table

ZONE = "m/Files/LandingZone"
ORDERS = table("m", "Orders")
SALES_ORDERS = table("m", "Sales.schema/Orders")
PATIENCE = 20.0


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        (f"{ZONE}/Orders", ORDERS),
        (f"{ZONE}/Orders/00000000000000000001.parquet", ORDERS),
        (f"{ZONE}/Orders/_metadata.json", ORDERS),
        (f"{ZONE}/Orders/not a change file", ORDERS),
        (f"{ZONE}/Orders/.any name.parquet", ORDERS),
        (f"{ZONE}/Orders/Year=2024", ORDERS),
        (f"{ZONE}/Orders/Year=2024/Region=North/00000000000000000001.parquet", ORDERS),
        (f"{ZONE}/Sales.schema/Orders", SALES_ORDERS),
        (f"{ZONE}/Sales.schema/Orders/00000000000000000001.parquet", SALES_ORDERS),
    ],
)
def test_a_change_that_an_observation_depends_on_concerns_its_table(
    path: str, folder: TableFolder
) -> None:
    assert heard(PurePosixPath(path)) == folder


@pytest.mark.parametrize(
    "path",
    [
        f"{ZONE}/Orders/_ProcessedFiles",
        f"{ZONE}/Orders/_ProcessedFiles/00000000000000000001.parquet",
        f"{ZONE}/Orders/_openmirror",
        f"{ZONE}/Orders/.openmirror-7f3a",
        f"{ZONE}/Orders/_staging.parquet",
        f"{ZONE}/Orders/_tmp=1/00000000000000000001.parquet",
        f"{ZONE}/Orders/Year=2024/_00000000000000000001.parquet",
        f"{ZONE}/Orders/Year=2024/.openmirror-7f3a",
        f"{ZONE}/Orders/_ProcessedFiles/Year=2024/00000000000000000001.parquet",
        f"{ZONE}/_openmirror",
        f"{ZONE}/_partnerEvents.json",
        f"{ZONE}/Sales.schema/_scratch/1",
        "m/Files/Monitoring",
        "m/Files/Monitoring/tables.json",
        "m/elsewhere",
    ],
)
def test_what_no_observation_depends_on_concerns_nobody(path: str) -> None:
    assert heard(PurePosixPath(path)) is None


@pytest.mark.parametrize("path", ["m", "m/Files", ZONE, f"{ZONE}/Sales.schema"])
def test_a_change_above_table_folders_may_concern_them_all(path: str) -> None:
    assert heard(PurePosixPath(path)) is Wide.MIRROR


class Heard:
    """A watched root, and the tables that it woke."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.zone = root / "landing" / ZONE
        self.waker = LocalWaker()
        self.swept = threading.Semaphore(0)
        self.trouble: list[str] = []
        self.watch = LandingWatch(
            root,
            self.waker,
            wanted=lambda mirror: mirror == "m",
            sweep=self.swept.release,
            trouble=self.trouble.append,
        )

    def after(self, change: Callable[[], object]) -> set[TableFolder]:
        """Which tables wake within a moment after a change and a sign that follows it."""
        change()
        sign = self.zone / "Sign"
        sign.mkdir(exist_ok=True)
        (sign / f"{time.monotonic_ns():020d}.parquet").touch()
        woken = set()
        while (folder := self.waker.take(PATIENCE)) != table("m", "Sign"):
            assert folder is not None, "the watch hears nothing"
            woken.add(folder)
        while folder := self.waker.take(0.3):
            woken.add(folder)
        return woken - {table("m", "Sign")}


@pytest.fixture
def ears(tmp_path: Path) -> Iterator[Heard]:
    heard = Heard(tmp_path)
    (heard.zone / "Orders" / "_ProcessedFiles").mkdir(parents=True)
    (tmp_path / "landing" / "other" / "Files" / "LandingZone" / "T").mkdir(parents=True)
    with heard.watch:
        assert heard.swept.acquire(timeout=PATIENCE)
        sign = heard.zone / "Sign"
        sign.mkdir()
        until = time.monotonic() + PATIENCE
        while heard.waker.take(0.05) is None and time.monotonic() < until:
            (sign / f"{time.monotonic_ns():020d}.parquet").touch()
        while heard.waker.take(0.4):
            pass
        yield heard
    assert not heard.trouble


def test_a_new_file_wakes(ears: Heard) -> None:
    new = ears.zone / "Orders" / f"{1:020d}.parquet"
    assert ears.after(lambda: new.write_bytes(b"x")) == {ORDERS}


def test_a_file_that_is_renamed_into_place_wakes(ears: Heard) -> None:
    staged = ears.zone / "Orders" / "_staged"
    staged.write_bytes(b"x")
    final = ears.zone / "Orders" / f"{1:020d}.parquet"
    assert ears.after(lambda: staged.rename(final)) == {ORDERS}


def test_a_file_that_is_replaced_under_the_same_name_wakes(ears: Heard) -> None:
    final = ears.zone / "Orders" / f"{1:020d}.parquet"
    assert ears.after(lambda: final.write_bytes(b"bad")) == {ORDERS}
    outside = ears.root / "better"
    outside.write_bytes(b"good")
    assert ears.after(lambda: outside.replace(final)) == {ORDERS}


def test_changed_metadata_wakes(ears: Heard) -> None:
    metadata = ears.zone / "Orders" / "_metadata.json"
    assert ears.after(lambda: metadata.write_text("{}")) == {ORDERS}
    assert ears.after(lambda: metadata.write_text('{"keyColumns": ["id"]}')) == {ORDERS}


def test_a_deleted_folder_wakes(ears: Heard) -> None:
    assert ears.after(lambda: shutil.rmtree(ears.zone / "Orders")) == {ORDERS}


def test_files_in_folders_that_are_new_themselves_wake_their_table(ears: Heard) -> None:
    folder = ears.zone / "Sales.schema" / "Orders"

    def make() -> None:
        folder.mkdir(parents=True)
        (folder / f"{1:020d}.parquet").write_bytes(b"x")

    woken = ears.after(make)
    # The kernel reports a new folder before anybody can watch what is in it: the sweep covers it.
    assert woken == {SALES_ORDERS} or ears.swept.acquire(timeout=PATIENCE)


def test_our_own_files_and_other_mirrors_do_not_wake_it(ears: Heard) -> None:
    def ours() -> None:
        (ears.zone / "Orders" / "_ProcessedFiles" / f"{1:020d}.parquet").write_bytes(b"x")
        (ears.zone / "Orders" / "_openmirror").write_text("record")
        monitoring = ears.zone.parent / "Monitoring"
        monitoring.mkdir()
        (monitoring / "tables.json").write_text("{}")
        other = ears.root / "landing" / "other" / "Files" / "LandingZone" / "T"
        (other / f"{1:020d}.parquet").write_bytes(b"x")

    assert ears.after(ours) == set()


def test_a_landing_folder_that_comes_later_is_swept_and_then_heard(tmp_path: Path) -> None:
    late = Heard(tmp_path)
    with late.watch:
        assert not late.swept.acquire(blocking=False)
        (late.zone / "Orders").mkdir(parents=True)
        assert late.swept.acquire(timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        woken = None
        while woken is None and time.monotonic() < until:
            (late.zone / "Orders" / f"{time.monotonic_ns():020d}.parquet").touch()
            woken = late.waker.take(0.2)
        assert woken == ORDERS


def test_wakes_before_an_observation_are_one_wake_up_in_the_order_of_the_first() -> None:
    waker = LocalWaker()
    for folder in (SALES_ORDERS, ORDERS, SALES_ORDERS):
        waker.wake(folder)
    assert [waker.take(0), waker.take(0), waker.take(0)] == [SALES_ORDERS, ORDERS, None]


def test_a_wake_up_wakes_whoever_waits_for_one() -> None:
    waker = LocalWaker()
    threading.Timer(0.05, waker.wake, [ORDERS]).start()
    began = time.monotonic()
    assert waker.take(PATIENCE) == ORDERS
    assert time.monotonic() - began < PATIENCE / 2
