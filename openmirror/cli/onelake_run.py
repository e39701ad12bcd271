"""`serve --onelake --run`: a publisher's command among the names that lead it here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from queue import SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import quote

from openmirror.cli.console import say

if TYPE_CHECKING:
    from openmirror.emulator.onelake.running import Way
    from openmirror.emulator.onelake.serving import OneLake


class RunBy(StrEnum):
    """How the command is given OneLake's names."""

    AUTO = "auto"
    HOSTS = "hosts"
    NETWORK = "network"
    PROXY = "proxy"


_SAYS = {
    "hosts": "it has an /etc/hosts of its own, and the network as it is",
    "network": "it has an /etc/hosts and a network of its own: it reaches this endpoint and "
    "nothing else. If it needs its source over the network, add --run-by proxy",
    "proxy": "it is led here by HTTPS_PROXY, which clients of other kinds than Azure's may not "
    "heed; all other hosts it reaches as before",
}
_PATIENCE = 10
"""Seconds that a publisher has to finish what it is sending, once it was asked to stop."""
_IDENTITY = "IDENTITY_HEADER"
"""A variable whose value no other process has."""


def run(
    onelake: OneLake,
    command: Sequence[str],
    by: RunBy,
    env: Mapping[str, str],
    heard: SimpleQueue[int | None],
) -> int:
    """Start it, wait for its end, and answer its exit code as a shell has it.

    A SIGINT or SIGTERM in `heard`, however early, ends it and all that it has started.
    """
    from openmirror.emulator.onelake.az import write_az
    from openmirror.emulator.onelake.ending import Family, wait_for_end
    from openmirror.emulator.onelake.running import (
        NotWanted,
        Surroundings,
        Way,
        environment_for,
        start,
    )

    def not_allowed(way: Way, why: str) -> None:
        say(f"not by {way}: {why}")

    around = Surroundings(
        folder=onelake.folder,
        endpoint=("127.0.0.1" if onelake.host == "localhost" else onelake.host, onelake.port),
        identity_port=onelake.identity_port,
        environment=environment_for(
            env,
            onelake.trust.environment(env),
            onelake.identity.environment(onelake.identity_address),
            {"OPENMIRROR_LANDING_ZONE": landing_zone(onelake)},
            path=write_az(onelake.folder / "bin", onelake.identity_address),
        ),
        names=onelake.names,
    )

    def stopping() -> None:
        say(f"waiting up to {_PATIENCE} s for {command[0]} to end; once more kills it at once")

    ways = list(Way) if by is RunBy.AUTO else [Way(by.value)]
    with ExitStack() as parts:
        try:
            started = start(
                command, around, ways, parts, onelake.answer_on, not_allowed, heard.empty
            )
        except NotWanted:
            return 128 + (heard.get() or 0)
        say(f"{command[0]} runs by {started.way}: {_SAYS[started.way.value]}")
        family = Family(started.process, f"{_IDENTITY}={onelake.identity.header}".encode())
        return wait_for_end(started.process, family, heard, _PATIENCE, stopping)


def landing_zone(onelake: OneLake) -> str:
    """The URL of the first item's landing zone, as publishers for OneLake are given it."""
    from openmirror.emulator.onelake.hosts import DFS

    item = next(iter(onelake.items))
    path = quote(f"{item.workspace.name}/{item.folder}/Files/LandingZone")
    return f"https://{DFS}/{path}"
