"""Being stopped: the first signal asks, the second does not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPED_AT_ONCE = 130


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Set an event at the first SIGTERM or SIGINT, and end the process at the second.

    Begin this after Spark has started, which takes SIGINT for itself. A thread that is not the
    main one, as on some platforms, cannot hear of signals: then the event is never set.
    """
    stop = threading.Event()

    def asked(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            os._exit(_STOPPED_AT_ONCE)
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, asked)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
