"""Starts a publisher so that OneLake's own names lead it here, and changes nothing else."""

from __future__ import annotations

import array
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from openmirror.emulator.onelake import inside
from openmirror.emulator.onelake.hosts import DFS, HOSTS, METADATA_ADDRESS, hosts_lines, is_known
from openmirror.emulator.onelake.proxy import JAVA_OPTIONS, Proxy
from openmirror.errors import CannotStart

_INSIDE = Path(inside.__file__)
_HTTPS, _HTTP = 443, 80
_HOSTS_OF_JAVA = "jdk.net.hosts.file"
"""A file that JVMs read in place of asking DNS."""


class Way(StrEnum):
    """How the names lead here."""

    HOSTS = "hosts"
    """An /etc/hosts of its own; needs port 443 of this machine's loopback."""
    NETWORK = "network"
    """That, and a network of its own, in which port 443 is free: it reaches nothing else."""
    PROXY = "proxy"
    """A proxy that the environment names: for clients that heed HTTPS_PROXY."""


class NotAllowed(Exception):
    """This machine does not allow a way; the message says what failed."""


class NotWanted(Exception):
    """It was to be stopped before it began."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a command is started among."""

    folder: Path
    """For the files of its own that it is given."""
    endpoint: tuple[str, int]
    """Where it is answered over https."""
    identity_port: int
    """Where it is answered over http, on 127.0.0.1."""
    environment: Mapping[str, str]
    names: tuple[str, ...] = HOSTS
    output: int | None = None
    """The file descriptor that it prints to; it is then in a session of its own, and reads nothing.
    None: as this process does."""

    def begin(self, command: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a process, among them; raises OSError."""
        given: dict[str, Any] = {"env": self.environment, **more}
        if self.output is not None:
            given |= {"stdin": subprocess.DEVNULL, "stdout": self.output, "start_new_session": True}
        return subprocess.Popen(command, **given)


@dataclass
class StartedCommand:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    way: Way
    sockets: list[socket.socket]
    """To be answered as well: over https the first, over http all others."""
    caveat: str = ""
    """What whoever started it should know, where there is something."""


def start(
    command: Sequence[str],
    around: Surroundings,
    ways: Sequence[Way],
    parts: ExitStack,
    answer: Callable[..., None],
    not_allowed: Callable[[Way, str], None],
    is_wanted: Callable[[], bool],
) -> StartedCommand:
    """Start it in the first of these ways that this machine allows.

    `answer` is handed the sockets that listen in a network of its own, before the command begins.
    Raises CannotStart when no way is allowed, and NotWanted where nothing runs because nobody
    wants it any more.
    """
    for way in ways:
        if not is_wanted():
            raise NotWanted
        try:
            if way is Way.PROXY:
                return _by_proxy(command, around, parts)
            return _enclosed(command, around, way, answer, is_wanted)
        except NotAllowed as error:
            not_allowed(way, str(error))
    raise CannotStart(
        "the command cannot be given OneLake's names on this machine: map them yourself, by the "
        "lines that `serve --onelake` prints"
    )


def _by_proxy(command: Sequence[str], around: Surroundings, parts: ExitStack) -> StartedCommand:
    proxy = parts.enter_context(Proxy(around.endpoint))
    environment = {**around.environment, **proxy.environment(around.environment)}
    caveat = ""
    options = environment[JAVA_OPTIONS]
    if _HOSTS_OF_JAVA not in options and not is_known(DFS):
        # Azure's SDK for Java resolves a host's name before it asks a proxy for it.
        hosts = _write_hosts(around.folder, "127.0.0.1", around.names)
        environment[JAVA_OPTIONS] = f'{options} -D{_HOSTS_OF_JAVA}="{hosts}"'
        caveat = (
            f"nobody here knows the address of {DFS}, which Azure's SDK for Java wants though it "
            f"asks a proxy: JVMs are given {hosts} in place of DNS. If yours has to find other "
            f"hosts by name, set JAVA_TOOL_OPTIONS=-D{_HOSTS_OF_JAVA}=FILE to one with all of them"
        )
    try:
        process = around.begin(command, env=environment)
    except OSError as error:
        raise CannotStart(f"{command[0]} cannot be started: {error.strerror}") from error
    return StartedCommand(process, Way.PROXY, [], caveat)


def _enclosed(
    command: Sequence[str],
    around: Surroundings,
    way: Way,
    answer: Callable[..., None],
    is_wanted: Callable[[], bool],
) -> StartedCommand:
    """In namespaces of its own; raises NotAllowed, and NotWanted."""
    if not sys.platform.startswith("linux"):
        raise NotAllowed(f"{sys.platform} has no namespaces")
    host, port = around.endpoint
    if way is Way.HOSTS and port != _HTTPS:
        raise NotAllowed("port 443 of this machine is not to be had")
    addresses: list[tuple[str, int]] = []
    if way is Way.NETWORK:
        addresses = [("127.0.0.1", _HTTPS), ("127.0.0.1", around.identity_port)]
        addresses.append((METADATA_ADDRESS, _HTTP))
    answered = {
        "files": _files(around.folder, host if way is Way.HOSTS else "127.0.0.1", around.names),
        "addresses": addresses,
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        words = [sys.executable, "-IS", str(_INSIDE), str(theirs.fileno()), *command]
        process = around.begin(words, pass_fds=[theirs.fileno()])
        theirs.close()
        ours.send(json.dumps(answered).encode())
        message, sockets = _received(ours, len(addresses))
        # Ctrl-C has ended the other side as well: then no other way is to be tried.
        if not is_wanted():
            ours.close()
            process.wait()
            raise NotWanted
        if "failed" in message or not message:
            process.wait()
            raise NotAllowed(str(message.get("failed", "the namespaces could not be made")))
        if sockets:
            answer(*sockets)
        ours.send(b"1")
    return StartedCommand(process, way, sockets)


def _received(ours: socket.socket, most: int) -> tuple[dict[str, object], list[socket.socket]]:
    descriptors = array.array("i")
    size = socket.CMSG_SPACE(max(1, most) * descriptors.itemsize)
    text, ancillary, _, _ = ours.recvmsg(inside.MOST_BYTES, size)
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return json.loads(text or b"{}"), [socket.socket(fileno=fd) for fd in descriptors]


def _write_hosts(folder: Path, address: str, names: tuple[str, ...]) -> Path:
    """The system's /etc/hosts with these names in it, as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    hosts, own = folder / "hosts", Path("/etc/hosts")
    before = own.read_text() if own.exists() else "127.0.0.1 localhost\n"
    hosts.write_text("\n".join([*hosts_lines(address, names), before]))
    return hosts


def _files(folder: Path, address: str, names: tuple[str, ...]) -> dict[str, str]:
    """What stands in the place of the system's files, for this command alone."""
    hosts = _write_hosts(folder, address, names)
    order, nothing = folder / "nsswitch.conf", folder / "nothing"
    nothing.mkdir(exist_ok=True)
    # A resolver in a process of its own would read the system's /etc/hosts.
    order.write_text("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n")
    found = {"/etc/hosts": str(hosts), "/run/nscd": str(nothing)}
    switch = Path("/etc/nsswitch.conf")
    if switch.exists():
        lines = [
            "hosts: files dns" if line.startswith("hosts:") else line
            for line in switch.read_text().splitlines()
        ]
        order.write_text("\n".join([*lines, ""]))
        found[str(switch)] = str(order)
    return found


def environment_for(env: Mapping[str, str], *more: Mapping[str, str], path: Path) -> dict[str, str]:
    """A process's environment with more in it, and a folder before all others of PATH."""
    found = dict(env)
    for one in more:
        found |= one
    found["PATH"] = os.pathsep.join([str(path), env.get("PATH", os.defpath)])
    return found
