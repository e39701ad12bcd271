"""Runs a publisher's command in namespaces of its own: the child's side of `serve --run`.

`python inside.py FD COMMAND...` reads what to do from an inherited socket, does it, sends the
sockets that it listens on to the other side, and becomes the command. No root is
needed where unprivileged user namespaces are allowed. Standard library only, to start at once.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000
_BIND, _PRIVATE, _RECURSIVE = 4096, 1 << 18, 16384
_SET_FLAGS, _SET_ADDRESS, _SET_MASK = 0x8914, 0x8916, 0x891C
_UP_AND_RUNNING = 0x41
_DIE_WITH_PARENT = 1
MOST_BYTES = 1 << 20
"""Of what is answered."""

_libc = ctypes.CDLL(None, use_errno=True)


def main(control: socket.socket, command: list[str]) -> NoReturn:
    """Do what is answered; where something is not allowed, say what, and end with 1."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answered = json.loads(control.recv(MOST_BYTES))
    try:
        sockets = _enter(answered)
    except OSError as error:
        control.send(json.dumps({"failed": str(error)}).encode())
        os._exit(1)
    message = json.dumps({"listening": len(sockets)}).encode()
    socket.send_fds(control, [message], [one.fileno() for one in sockets])
    for one in sockets:
        one.close()
    if control.recv(1) != b"1":
        os._exit(1)
    control.close()
    _libc.prctl(_DIE_WITH_PARENT, signal.SIGTERM)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"openmirror: {command[0]} cannot be started: {error.strerror}\n")
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _enter(answered: dict[str, Any]) -> list[socket.socket]:
    """Namespaces with these files in place of the system's, and what listens in the network."""
    flags = _NEW_MOUNTS | (_NEW_NETWORK if answered["addresses"] else 0)
    user, group = os.geteuid(), os.getegid()
    if user != 0 or _libc.unshare(flags) != 0:
        if _libc.unshare(flags | _NEW_USERS) != 0:
            raise _failed("user namespaces")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount(b"none", b"/", _PRIVATE | _RECURSIVE)
    for target, source in answered["files"].items():
        if Path(target).exists():
            _mount(source.encode(), os.path.realpath(target).encode(), _BIND)
    return _network(answered["addresses"]) if answered["addresses"] else []


def _failed(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: bytes, target: bytes, flags: int) -> None:
    if _libc.mount(source, target, b"none", flags, None) != 0:
        raise _failed(f"mount over {target.decode()}")


def _network(addresses: list[list[Any]]) -> list[socket.socket]:
    """Loopback, with one more address on it, and a socket for each address and port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _set(any_socket, _SET_FLAGS, "lo", struct.pack("=H", _UP_AND_RUNNING))
        for number, address in enumerate(sorted({host for host, _ in addresses}), start=1):
            if not address.startswith("127."):
                name = f"lo:{number}"
                _set(any_socket, _SET_ADDRESS, name, _as_address(address))
                _set(any_socket, _SET_MASK, name, _as_address("255.255.255.255"))
    found = []
    for host, port in addresses:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
        found.append(listening)
    return found


def _set(any_socket: socket.socket, request: int, name: str, value: bytes) -> None:
    fcntl.ioctl(any_socket, request, struct.pack("16s24s", name.encode(), value))


def _as_address(address: str) -> bytes:
    return struct.pack("=H2s4s", socket.AF_INET, b"\0\0", socket.inet_aton(address))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
