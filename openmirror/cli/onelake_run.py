"""`serve --onelake --run`: a publisher's command among the names that lead it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from queue import SimpleQueue
from subprocess import Popen
from typing import TYPE_CHECKING
from urllib.parse import quote

from openmirror.cli.console import say

if TYPE_CHECKING:
    from openmirror.emulator.onelake.running import Surroundings
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
    mirror: str | None = None,
) -> int:
    """Start it, wait for its end, and answer its exit code as a shell has it.

    A SIGINT or SIGTERM in `heard`, however early, ends it and all that it has started.
    """
    from openmirror.emulator.onelake.ending import Family, wait_for_end
    from openmirror.emulator.onelake.running import NotWanted

    def stopping() -> None:
        say(f"waiting up to {_PATIENCE} s for {command[0]} to end; once more kills it at once")

    around = surroundings(onelake, env, mirror)
    with ExitStack() as parts:
        try:
            process = begin(onelake, command, by, around, parts, heard.empty)
        except NotWanted:
            return 128 + (heard.get() or 0)
        family = Family(process, f"{_IDENTITY}={onelake.identity.header}".encode())
        return wait_for_end(process, family, heard, _PATIENCE, stopping)


def begin(
    onelake: OneLake,
    command: Sequence[str],
    by: RunBy,
    around: Surroundings,
    parts: ExitStack,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Popen[bytes]:
    """Start it, and say how; `parts` must stay open as long as it runs.

    Raises CannotStart, and NotWanted where it is not wanted any more.
    """
    from openmirror.emulator.onelake.running import Way, start

    def not_allowed(way: Way, why: str) -> None:
        say(f"not by {way}: {why}")

    ways = list(Way) if by is RunBy.AUTO else [Way(by.value)]
    started = start(command, around, ways, parts, onelake.answer_on, not_allowed, is_wanted)
    say(f"{command[0]} runs by {started.way}: {_SAYS[started.way.value]}")
    if started.caveat:
        say(started.caveat)
    return started.process


def surroundings(
    onelake: OneLake, env: Mapping[str, str], mirror: str | None, output: int | None = None
) -> Surroundings:
    """What a command is started among that has `env` already, and is to publish into a mirror."""
    from openmirror.emulator.onelake.az import write_az
    from openmirror.emulator.onelake.running import Surroundings, environment_for

    return Surroundings(
        folder=onelake.folder,
        endpoint=("127.0.0.1" if onelake.host == "localhost" else onelake.host, onelake.port),
        identity_port=onelake.identity_port,
        environment=environment_for(
            env,
            onelake.trust.environment(env),
            onelake.identity.environment(onelake.identity_address),
            {"OPENMIRROR_LANDING_ZONE": landing_zone(onelake, mirror)},
            path=write_az(onelake.folder / "bin", onelake.identity_address),
        ),
        names=onelake.names,
        output=output,
    )


def landing_zone(onelake: OneLake, mirror: str | None) -> str:
    """The URL of a mirror's landing zone, as publishers for OneLake are given it.

    The first one's where no mirror is named, or it is none of them.
    """
    from openmirror.emulator.onelake.hosts import DFS

    item = min(onelake.items, key=lambda one: one.mirror != mirror)
    path = quote(f"{item.workspace.name}/{item.folder}/Files/LandingZone")
    return f"https://{DFS}/{path}"
