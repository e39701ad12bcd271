"""The address of a storage account, in any cloud or of an emulator."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
_EMULATED_SUFFIX = ".dfs.core.windows.net"
"""What the ABFS driver wants to see behind an emulated account's name, whatever cloud it is."""


@dataclass(frozen=True)
class AccountUrl:
    """The Data Lake endpoint of an account, such as `https://contoso.dfs.core.windows.net`.

    Hosts are taken as they are given, never built: each cloud has its own. Only an emulator may
    speak http: one on this machine, or anywhere one that names the account in the path, as
    `http://127.0.0.1:10000/dev` or `http://endpoint:10080/dev`, which no account in Azure does.
    """

    scheme: str
    """`https`, or an emulator's `http`."""
    host: str
    """With its port, if one was given."""
    account: str
    """The account's name: the host's first label, or what the path says."""
    in_path: bool = False
    """Whether the account stands in the path, as with emulators."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL; ValueError says what is wrong with it."""
        try:
            parts = urlsplit(text.strip())
            host = parts.hostname or ""
            given_port = parts.port
        except ValueError as error:
            raise ValueError(f"a URL ({error})") from None
        if parts.scheme not in ("https", "http"):
            raise ValueError("the https:// URL of an account's Data Lake endpoint")
        if not host or parts.query or parts.fragment or parts.username or parts.password:
            raise ValueError("a URL of a host alone, without user, query or fragment")
        path = parts.path.strip("/")
        is_azures = not path or ".dfs." in host
        if parts.scheme == "http" and is_azures and not _is_here(host):
            raise ValueError(
                "an https:// URL: http is only for emulators, with the account's name as its path"
            )
        if ".blob." in host:
            raise ValueError("the account's Data Lake endpoint: .dfs. where this one has .blob.")
        if path and not _NAME.match(path):
            raise ValueError("a URL of an account alone, without a container or a path below it")
        if not path and (host == "localhost" or _address(host)):
            raise ValueError("an emulator's URL, with the account's name as its path")
        shown = f"[{host}]" if ":" in host else host
        whole = shown if given_port is None else f"{shown}:{given_port}"
        account = path or host.partition(".")[0]
        return cls(parts.scheme, whole, account, bool(path))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}" + (f"/{self.account}" if self.in_path else "")

    @property
    def is_secure(self) -> bool:
        """Whether bearer tokens may be sent there."""
        return self.scheme == "https"

    @property
    def abfs_host(self) -> str:
        """The host in URIs of the ABFS driver; an emulator's address is given to it apart."""
        return f"{self.account}{_EMULATED_SUFFIX}" if self.in_path else self.host

    def abfs(self, path: str) -> str:
        """The ABFS driver's URI of a path, whose first part is the container."""
        container, _, rest = path.partition("/")
        return f"{'abfss' if self.is_secure else 'abfs'}://{container}@{self.abfs_host}/{rest}"

    @property
    def blob_url(self) -> str:
        """The same account's Blob endpoint.

        In every cloud it has `.blob.` where the other has `.dfs.`, which is the rule of Azure's own
        Data Lake client as well; emulators have one address for both.
        """
        return str(self).replace(".dfs.", ".blob.", 1)


def _is_here(host: str) -> bool:
    address = _address(host)
    named = host == "localhost" or host.endswith(".localhost")
    return named or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
