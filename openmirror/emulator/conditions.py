"""The conditional headers of a request, for its target or for the source of a rename."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from openmirror.emulator.calls import Call
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node

_ANY = "*"
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Conditions:
    """ETags are without quotes, since some clients send them so."""

    match: frozenset[str] = frozenset()
    none_match: frozenset[str] = frozenset()
    modified_since: datetime | None = None
    unmodified_since: datetime | None = None

    @classmethod
    def of(cls, call: Call, prefix: str = "") -> Conditions:
        """Those of a call; the prefix is `x-ms-source-` for the source. Raises Refused."""
        return cls(
            _etags(call.header(f"{prefix}if-match")),
            _etags(call.header(f"{prefix}if-none-match")),
            _moment(call.header(f"{prefix}if-modified-since")),
            _moment(call.header(f"{prefix}if-unmodified-since")),
        )

    def check_create(self, node: Node | None) -> None:
        """Raises Refused unless they hold for what is created, perhaps in place of something."""
        if node is not None and _ANY in self.none_match:
            raise RefusedCall(Fault.EXISTS)
        if not self._hold(node):
            raise RefusedCall(Fault.CONDITION_NOT_MET)

    def check_change(self, node: Node) -> None:
        """Raises Refused unless they hold for what is changed and stays itself."""
        if _ANY in self.none_match or not self._hold(node):
            raise RefusedCall(Fault.CONDITION_NOT_MET)

    def check_source(self, node: Node) -> None:
        """Raises Refused unless they hold for what is renamed or copied."""
        if _ANY in self.none_match or not self._hold(node):
            raise RefusedCall(Fault.SOURCE_CONDITION_NOT_MET)

    def check_read(self, node: Node) -> None:
        """Raises Refused unless they hold for what is read."""
        if self.match and not self.match & {_ANY, node.etag}:
            raise RefusedCall(Fault.CONDITION_NOT_MET)
        if self.unmodified_since and _whole(node) > self.unmodified_since:
            raise RefusedCall(Fault.CONDITION_NOT_MET)
        if self.none_match:
            if self.none_match & {_ANY, node.etag}:
                raise RefusedCall(Fault.NOT_MODIFIED)
        elif self.modified_since and _whole(node) <= self.modified_since:
            raise RefusedCall(Fault.NOT_MODIFIED)

    def _hold(self, node: Node | None) -> bool:
        if node is None:
            return not self.match
        return (
            (not self.match or bool(self.match & {_ANY, node.etag}))
            and node.etag not in self.none_match
            and (self.modified_since is None or _whole(node) > self.modified_since)
            and (self.unmodified_since is None or _whole(node) <= self.unmodified_since)
        )


def _whole(node: Node) -> datetime:
    """When it was modified, as precisely as the headers that clients see."""
    return datetime.fromtimestamp(node.modified // _SECOND, UTC)


def _etags(header: str | None) -> frozenset[str]:
    if not header:
        return frozenset()
    return frozenset(part.strip().removeprefix("W/").strip('"') for part in header.split(","))


def _moment(header: str | None) -> datetime | None:
    if header is None:
        return None
    try:
        moment = parsedate_to_datetime(header)
    except ValueError as error:
        raise RefusedCall(Fault.INVALID_HEADER, f"{header!r} is no date") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
