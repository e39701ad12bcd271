"""The host names that publishers for OneLake ask, and which part answers each."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from enum import Enum, auto
from queue import Empty, SimpleQueue

DFS = "onelake.dfs.fabric.microsoft.com"
BLOB = "onelake.blob.fabric.microsoft.com"
API = "api.fabric.microsoft.com"
LOGIN = "login.microsoftonline.com"
LOGINS = (LOGIN, "login.microsoft.com", "login.windows.net", "sts.windows.net")
"""Entra ID's host and its older names, which MSAL knows as the same."""
METADATA_ADDRESS = "169.254.169.254"
"""Where virtual machines ask for tokens of their managed identity, over http."""

HOSTS = (DFS, BLOB, API, *LOGINS)
"""What has to lead here, in the order in which it is shown."""
CERTIFIED = (
    *HOSTS,
    "*.dfs.fabric.microsoft.com",
    "*.blob.fabric.microsoft.com",
    "*.login.microsoft.com",
)
"""The names of the one certificate: with those of regions."""

_PATIENCE = 3
"""Seconds that DNS has for an answer."""
_REGION = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_STORAGE = re.compile(r"[a-z0-9-]+\.(?:dfs|blob)\.fabric\.microsoft\.com")
_REGIONAL_LOGIN = re.compile(r"[a-z0-9-]+\.login\.microsoft\.com")


class HostPart(Enum):
    """Who answers a host."""

    STORAGE = auto()
    LOGIN = auto()
    FABRIC = auto()
    HERE = auto()
    """A name of this machine: the ordinary account."""


def part_of(host: str) -> HostPart | None:
    """Who answers this Host header; None for a host that nobody here stands for."""
    name = name_of(host)
    if _STORAGE.fullmatch(name):
        return HostPart.STORAGE
    if name in LOGINS or _REGIONAL_LOGIN.fullmatch(name):
        return HostPart.LOGIN
    if name == API:
        return HostPart.FABRIC
    return HostPart.HERE if is_here(name) else None


def name_of(host: str) -> str:
    """A Host header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_here(name: str) -> bool:
    """Whether a name, or an address, is loopback by what it says."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def regional(region: str) -> tuple[str, ...]:
    """The names that clients of one region ask; raises ValueError for what is no region."""
    if not _REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no region of Azure, such as westeurope")
    return (
        f"{region}-{DFS}",
        f"{region}-{BLOB}",
        f"{region}.login.microsoft.com",
    )


def is_known(host: str) -> bool:
    """Whether this machine finds an address for a host, within a few seconds."""
    found: SimpleQueue[bool] = SimpleQueue()

    def resolve() -> None:
        try:
            found.put(bool(socket.getaddrinfo(host, None)))
        except OSError:
            found.put(False)

    threading.Thread(target=resolve, daemon=True).start()
    try:
        return found.get(timeout=_PATIENCE)
    except Empty:
        return False


def hosts_lines(address: str, names: tuple[str, ...] = HOSTS) -> list[str]:
    """Lines of /etc/hosts that lead these names to an address."""
    return [f"{address} {name}" for name in names]
