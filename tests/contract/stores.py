"""What tests of stores share: paths of one table, and ways to inspect a store and to race."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from openmirror.errors import ConditionFailed, NotThere, OpenmirrorError
from openmirror.ports import FileStore
from openmirror.table.layout import StorePath, join

TABLE = StorePath("landing/m/Files/LandingZone/Orders")
ARCHIVE = join(TABLE, "_ProcessedFiles")
FIRST = "00000000000000000001.parquet"
FILE = join(TABLE, FIRST)
ARCHIVED = join(ARCHIVE, FIRST)
DOCUMENT = StorePath("lake/m/_openmirror/folders/Orders.json")


def exists(store: FileStore, path: StorePath) -> bool:
    try:
        store.read(path)
    except NotThere:
        return False
    return True


def names(store: FileStore, folder: StorePath) -> list[str]:
    return [entry.name for entry in store.list_folder(folder).entries]


def count_up(store: FileStore, path: StorePath, times: int) -> None:
    """Read, add one, write: loses counts as soon as one condition is not exact."""
    for _ in range(times):
        while True:
            now = store.read(path)
            try:
                # Always as many bytes: only the rest of an ETag can distinguish two counts.
                store.write(path, b"%06d" % (int(now.data) + 1), only_if=now.etag)
            except ConditionFailed:
                continue
            break


def together(calls: Sequence[Callable[[], object]]) -> list[object]:
    """Make all calls in threads that start at one moment; the results, errors among them."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return call()
        except OpenmirrorError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))
