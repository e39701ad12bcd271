"""Hearing of changes in a local landing zone, so that nobody has to wait for the sweep.

What is heard here is never trusted to be all: events get lost when the kernel's queue runs over,
and on network file systems there are none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from watchfiles import Change, watch

from openmirror.ports import Waker
from openmirror.protocol.names import (
    METADATA_FILE,
    SCHEMA_SUFFIX,
    TableFolder,
    TablePath,
    is_reserved,
)
from openmirror.stores.local.paths import OURS
from openmirror.table.layout import LANDING, ZONE

_MOST_MILLISECONDS = 200
"""How long changes are gathered while more keep coming."""
_SECONDS_BETWEEN_TRIES = 1.0


class Wide(Enum):
    """A change above table folders, which may concern any table below it."""

    MIRROR = "mirror"


def heard(changed: PurePath) -> TableFolder | Wide | None:
    """Whom a change below `landing` concerns; `changed` is relative to it.

    None for what no observation of a table depends on: status files, the archive, staging.
    """
    parts = changed.parts
    below = parts[3:]
    if not below:
        # A mirror, or a part of the way to its tables, came or went.
        return Wide.MIRROR if parts[1:3] == ZONE[: len(parts[1:3])] else None
    if parts[1:3] != ZONE or is_reserved(below[0]):
        return None
    schema = below[0].removesuffix(SCHEMA_SUFFIX)
    if schema == below[0]:
        path, inside = TablePath("", below[0]), below[1:]
    elif len(below) == 1:
        return Wide.MIRROR
    else:
        path, inside = TablePath(schema, below[1]), below[2:]
    if is_reserved(path.table) or (not path.schema and path.table.endswith(SCHEMA_SUFFIX)):
        return None
    if inside != (METADATA_FILE,) and any(_is_not_read(name) for name in inside):
        return None
    return TableFolder(parts[0], path)


def _is_not_read(name: str) -> bool:
    return is_reserved(name) or name.startswith(OURS)


class LandingWatch:
    """Wakes every table folder in which something changes; a context manager.

    `sweep` is called when a change may concern several tables, or when changes were missed;
    `trouble` when watching is impossible, which leaves everything to the sweep.
    """

    def __init__(
        self,
        root: Path,
        waker: Waker,
        *,
        wanted: Callable[[str], bool],
        sweep: Callable[[], None],
        trouble: Callable[[str], None],
    ) -> None:
        # The watcher answers with resolved paths.
        self._landing = root.resolve() / LANDING
        self._waker = waker
        self._wanted = wanted
        self._sweep = sweep
        self._trouble = trouble
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        is_reported = False
        while not self._stop.is_set():
            if self._landing.is_dir():
                try:
                    self._listen()
                except (OSError, RuntimeError) as error:  # watchfiles' own errors are RuntimeErrors
                    if not is_reported:
                        self._trouble(f"changes in {self._landing} cannot be heard: {error}")
                    is_reported = True
            # `landing` is not there yet, or was taken away.
            self._stop.wait(_SECONDS_BETWEEN_TRIES)

    def _listen(self) -> None:
        changes = watch(
            self._landing,
            watch_filter=None,
            debounce=_MOST_MILLISECONDS,
            stop_event=self._stop,
            rust_timeout=1000,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        # Whatever happened before the first answer was heard by nobody.
        self._sweep()
        for changed in changes:
            if not self._landing.is_dir():
                self._sweep()
                return  # a new folder of this name would not be watched
            self._emit(changed)

    def _emit(self, changes: Iterable[tuple[Change, str]]) -> None:
        woken: set[TableFolder] = set()
        wide = False
        for _, text in changes:
            path = Path(text)
            if not path.is_relative_to(self._landing):
                continue
            relative = path.relative_to(self._landing)
            if relative.parts and not self._wanted(relative.parts[0]):
                continue
            concerned = heard(relative)
            if isinstance(concerned, TableFolder):
                woken.add(concerned)
            wide = wide or concerned is Wide.MIRROR
        for folder in sorted(woken):
            self._waker.wake(folder)
        if wide:
            self._sweep()
