"""Stopping by signal: the first asks the process to stop, the second ends it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""What shells give a program that was stopped by Ctrl-C."""
AFTER_BATCHES = b"\nstopping after the batches underway; once more stops at once\n"
"""What a command that applies prints when it is asked to stop."""


def exit_now(code: int) -> NoReturn:
    """End this process without waiting for Spark or for any thread."""
    for stream in (sys.stdout, sys.stderr):
        # Called out of a signal's handler it may have cut a write short: RuntimeError.
        with suppress(OSError, ValueError, RuntimeError):
            stream.flush()
    os._exit(code)


@contextmanager
def stop_signals(*, message: bytes = b"", interrupt: bool = False) -> Iterator[threading.Event]:
    """Set an event at the first SIGINT or SIGTERM and print `message`; exit at the second.

    With `interrupt` the first raises KeyboardInterrupt in the main thread as well. Begin this
    after Spark has started, which takes SIGINT for itself. A thread that is not the main one, as
    on some platforms, cannot hear of signals: then the event is never set.
    """
    stop = threading.Event()

    def asked(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            exit_now(INTERRUPTED)
        stop.set()
        # Not through a console, whose lock the interrupted thread may hold.
        os.write(2, message)
        if interrupt:
            raise KeyboardInterrupt

    with _handled(asked):
        yield stop


@contextmanager
def heard_signals() -> Iterator[SimpleQueue[int | None]]:
    """The numbers of each SIGINT and SIGTERM that comes; nothing else is done about them.

    For whoever waits for something else too, and puts that into the same queue. The same holds of
    other threads as for `stop_signals`.
    """
    heard: SimpleQueue[int | None] = SimpleQueue()  # a handler may put into it at any time

    def hear(number: int, frame: FrameType | None) -> None:
        del frame
        heard.put(number)

    with _handled(hear):
        yield heard


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
