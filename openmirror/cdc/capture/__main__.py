"""The capturing process: `python -m openmirror.cdc.capture`, with its settings on standard input.

It ends with its standard input, by SIGTERM, or with exit code 1 and a line that says why.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from types import FrameType

from openmirror.cdc.capture.asked_snapshots import is_begun, place_with
from openmirror.cdc.capture.asking import ServerAway
from openmirror.cdc.capture.engine import Capture, start_jvm, write_offsets
from openmirror.cdc.capture.failures import ConnectorFailed
from openmirror.cdc.capture.preparing import prepare
from openmirror.cdc.capture.properties import connector_properties
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.spool.writer import SpoolWriter
from openmirror.errors import OpenmirrorError

_OFFSETS = "_offsets"
_SECONDS_TO_STOP = 10.0


def main() -> int:
    """Capture until asked to stop."""
    settings = CaptureSettings.from_json(sys.stdin.readline())
    try:
        with SpoolWriter(settings.spool) as writer:
            _capture(settings, writer)
    except OSError as error:
        _say(
            {
                "error": f"the spool {settings.spool} takes no records: {error}. Make room there, "
                "or make it writable, and begin again: nothing is lost, but the database keeps its "
                "log meanwhile"
            }
        )
        return 1
    except ConnectorFailed as error:
        _say({"error": str(error), "passes": error.passes})
        return 1
    except ServerAway as error:
        _say({"error": str(error), "passes": True})
        return 1
    except (OpenmirrorError, RuntimeError) as error:
        _say({"error": str(error) or type(error).__name__})
        return 1
    return 0


def _capture(settings: CaptureSettings, writer: SpoolWriter) -> None:
    # Without a place behind a whole snapshot to go on from, that is taken again from its beginning.
    goes_on = is_begun(writer.source) and not settings.anew
    # Before anything is given up: a wrong password must not cost the stream that is there.
    prepared = prepare(settings, is_begun=goes_on)
    if settings.anew or (writer.next and not goes_on):
        writer.begin_anew()
    start_jvm(settings.class_path)
    # Without a whole first snapshot there are no rows to take anew: all of them come.
    asked = settings.snapshot if goes_on else None
    if asked is not None and writer.source is not None:
        writer.append([asked.mark()], writer.source)
    place = place_with(writer.source, asked) if writer.source else None
    offsets = settings.spool / _OFFSETS
    write_offsets(offsets, settings.stream, place)
    capture = Capture(connector_properties(settings, prepared, offsets), writer)
    _say({"ready": prepared.tables, "notes": prepared.notes})
    _run(capture)


def _run(capture: Capture) -> None:
    """Capture in a thread: the main one has to hear of signals, and would be in Java's hands."""
    over = threading.Event()
    failures: list[Exception] = []

    def run() -> None:
        try:
            capture.run()
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
        over.set()

    def parent() -> None:
        """Standard input ends when the process that started this has ended, however it did."""
        sys.stdin.read()
        over.set()

    def asked(number: int, frame: FrameType | None) -> None:
        del number, frame
        over.set()

    # A terminal's Ctrl-C goes to every process; the one that started this decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, asked)
    threading.Thread(target=parent, daemon=True).start()
    running = threading.Thread(target=run, daemon=True)
    running.start()
    over.wait()
    if running.is_alive():
        capture.stop()
        running.join(_SECONDS_TO_STOP)
    if failures:
        raise failures[0]


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # The JVM's threads are of no use any more, and some would keep the process.
    os._exit(code)
