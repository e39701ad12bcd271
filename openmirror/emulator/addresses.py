"""From the URLs and rename sources that clients send to places in a container."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from openmirror.emulator.errors import Fault, RefusedCall

_CONTAINER = re.compile(r"\$root|[a-z0-9](?:-?[a-z0-9]){2,62}")
_MOST_CHARACTERS = 1024
"""Of a path in a container."""
_MOST_BYTES = 255
"""Of one part of a path, which a local file system sets."""


@dataclass(frozen=True)
class Address:
    """A place in the account: the account itself, a container, or a path in one."""

    container: str = ""
    path: str = ""
    """With `/` between its parts and none around them; empty for the container's root."""

    @property
    def parent(self) -> Address:
        """The folder that it lies in."""
        return Address(self.container, self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def child(self, name: str) -> Address:
        """What lies in it under this name."""
        return Address(self.container, f"{self.path}/{name}" if self.path else name)

    def contains(self, other: Address) -> bool:
        """Whether the other is this place, or below it."""
        return self.container == other.container and (
            not self.path or f"{other.path}/".startswith(f"{self.path}/")
        )

    @property
    def subject(self) -> str:
        """As Event Grid names it."""
        return f"/blobServices/default/containers/{self.container}/blobs/{self.path}"

    @property
    def encoded(self) -> str:
        """As a part of a URL, without a slash before it."""
        return quote(f"{self.container}/{self.path}")


def parse_path(raw: str, account: str) -> Address:
    """The address that a URL's path means, before it was decoded.

    The account may be its first part, as in the URLs of emulators. Raises Refused.
    """
    return _address(decoded_path(raw, Fault.INVALID_URI), account)


def parse_rename_source(header: str, account: str) -> Address:
    """The address that `x-ms-rename-source` means, in any of the spellings that publishers use.

    `/container/path` is the documented one; whole URLs, an account before the container, and
    queries such as `?mode=legacy` come as well. Raises Refused.
    """
    if "://" in header:
        try:
            path = urlsplit(header).path
        except ValueError as error:
            raise RefusedCall(Fault.SOURCE_INVALID, str(error)) from error
    else:
        path = header.partition("?")[0]
    source = _address(decoded_path(path, Fault.SOURCE_INVALID), account)
    if not source.path:
        raise RefusedCall(Fault.SOURCE_INVALID, f"{header!r} names no path in a container")
    return source


def parse_copy_source(header: str, account: str, host: str) -> Address:
    """The address that `x-ms-copy-source` means, which must lie in this account. Raises Refused.

    `host` is the one that the request was sent to. A signature in the URL is not checked: who may
    write here may read everything here.
    """
    try:
        url = urlsplit(header)
    except ValueError as error:
        raise RefusedCall(Fault.INVALID_HEADER, f"x-ms-copy-source: {error}") from error
    given = url.netloc.lower()
    own = (host.lower(), f"{account}.blob.", f"{account}.dfs.")
    if given and given != own[0] and not given.startswith(own[1:]):
        raise RefusedCall(
            Fault.NOT_IMITATED, f"copies are made within this account, not from {given}"
        )
    if {"snapshot", "versionid"} & {name.lower() for name, _ in parse_qsl(url.query)}:
        raise RefusedCall(Fault.NOT_IMITATED, "there are no snapshots and versions to copy")
    source = _address(decoded_path(url.path, Fault.INVALID_HEADER), account)
    if not source.path:
        raise RefusedCall(Fault.INVALID_HEADER, "x-ms-copy-source names no blob")
    return source


def parse_folder(text: str, container: str) -> Address:
    """The folder that a decoded query parameter names within a container. Raises Refused."""
    check_text(text, Fault.INVALID_QUERY)
    return Address(container, checked_path(text.split("/")))


def check_container_name(name: str) -> None:
    """Raises Refused unless Azure allows this name for a container."""
    if not _CONTAINER.fullmatch(name):
        raise RefusedCall(
            Fault.INVALID_NAME,
            f"{name!r} is no container's name: 3 to 63 small letters, digits and single hyphens",
        )


def _address(decoded: str, account: str) -> Address:
    parts = [part for part in decoded.split("/") if part]
    if parts and parts[0] == account:
        parts = parts[1:]
    if not parts:
        return Address()
    check_container_name(parts[0])
    return Address(parts[0], checked_path(parts[1:]))


def decoded_path(raw: str, fault: Fault) -> str:
    """A path of a URL, decoded; raises RefusedCall with this fault."""
    try:
        decoded = unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise RefusedCall(fault, "the path is not UTF-8") from error
    check_text(decoded, fault)
    return decoded


def check_text(text: str, fault: Fault) -> None:
    """Raises RefusedCall with this fault for what no path can hold."""
    if "\0" in text:
        raise RefusedCall(fault, "a path cannot hold the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedCall(fault, "the path is not UTF-8") from error


def checked_path(parts: list[str]) -> str:
    """The path of these parts; raises RefusedCall. Empty parts are left out: `a//b` is `a/b`."""
    kept = [part for part in parts if part]
    for part in kept:
        if part in (".", ".."):
            raise RefusedCall(Fault.INVALID_URI, f"a path cannot hold the part {part!r}")
        if len(part.encode()) > _MOST_BYTES:
            raise RefusedCall(
                Fault.INVALID_NAME, f"a name cannot be longer than {_MOST_BYTES} bytes"
            )
    path = "/".join(kept)
    if len(path) > _MOST_CHARACTERS:
        raise RefusedCall(Fault.INVALID_NAME, f"a path cannot exceed {_MOST_CHARACTERS} characters")
    return path
