"""A request as the verbs see it, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from openmirror.emulator.addresses import Address
from openmirror.emulator.bodies import Body
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.places import Naming, Spelling

_MOST_DIGITS = 14
"""Of a number: places beyond 10 TB are in no file of any disk."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that was let in; names of headers and query parameters are in lower case."""

    method: str
    address: Address
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Body
    dfs: bool
    """Whether it speaks to the DFS endpoint, not to the Blob endpoint."""
    request_id: str
    naming: Naming
    """Of this client: what it calls the places that it names in headers."""
    spelling: Spelling = field(default_factory=Spelling)
    """How what lies at and below the address is named to it."""

    def header(self, name: str) -> str | None:
        """A header, None without it."""
        return self.headers.get(name)

    def number(self, name: str, default: int | None = None) -> int:
        """A query parameter that is a whole number; raises Refused without a default or sense."""
        text = self.query.get(name)
        if text is None:
            if default is None:
                raise RefusedCall(Fault.MISSING_QUERY, name)
            return default
        if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
            raise RefusedCall(Fault.INVALID_QUERY, f"{name}={text!r} is no whole number")
        return int(text)

    def flag(self, name: str) -> bool:
        """A query parameter that is true or false; false without it. Raises Refused."""
        text = self.query.get(name, "false").lower()
        if text not in ("true", "false"):
            raise RefusedCall(Fault.INVALID_QUERY, f"{name}={text!r} is neither true nor false")
        return text == "true"

    def seconds(self, name: str) -> int | None:
        """A header that is a whole number; None without it. Raises Refused."""
        text = self.headers.get(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError as error:
            raise RefusedCall(Fault.INVALID_HEADER, f"{name}: {text!r}") from error

    @property
    def lease_id(self) -> str | None:
        """The lease that the client says it holds."""
        given = self.headers.get("x-ms-lease-id")
        return given.lower() if given else None


@dataclass(frozen=True)
class FilePart:
    """A part of an open file, which the application closes when the answer is sent."""

    fd: int
    start: int
    length: int


@dataclass(frozen=True)
class Reply:
    """An answer; `content-length` among the headers is about what a GET would send."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | FilePart = b""
