"""A storage account as a process of its own, as in Azure: what `openmirror serve` is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openmirror import wiring
from openmirror.emulator.subscription import is_subscribed
from openmirror.errors import CannotStart, OpenmirrorError
from openmirror.settings import Settings, variable

_SECONDS_TO_FINISH = 20


@dataclass
class ServedAccount:
    """An account that answers."""

    url: str
    key: str
    events: int = 0
    """How many events of the landing zone went to the queue; known when it has ended."""


@contextmanager
def account_process(root: Path, events_to: str, env: Mapping[str, str]) -> Iterator[ServedAccount]:
    """The account over a root, on a free port, until the block ends or this process does.

    Raises CannotStart.
    """
    given = {variable("root"): str(root), variable("serve_events"): events_to}
    process = subprocess.Popen(
        [sys.executable, "-m", "standins.account"],
        env={**env, **given},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; it ends when we do
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        started = process.stdout.readline()
        if not started:
            raise CannotStart("the storage account did not start")
        made = ServedAccount(**json.loads(started))
        yield made
        process.stdin.close()
        made.events = int(process.stdout.readline() or 0)
    finally:
        process.stdin.close()
        try:
            process.wait(_SECONDS_TO_FINISH)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def main() -> int:
    """Serve until the input ends; says URL and key first, and how many events in the end."""
    events = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal events
        events += is_subscribed(event)

    try:
        settings = Settings.load(os.environ, {"serve_port": 0, "serve_https": False})
        with wiring.served(settings, count) as server:
            key = settings.serve_key.get_secret_value()
            _say(json.dumps({"url": f"{server.url}/{settings.serve_account}", "key": key}))
            sys.stdin.read()
    except OpenmirrorError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _say(str(events))
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
