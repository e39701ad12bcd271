"""Places in PostgreSQL's log. Pure."""

from __future__ import annotations

from typing import NamedTuple, NewType

Lsn = NewType("Lsn", int)
"""A byte position in the server's write-ahead log (64 bits)."""


class LogPlace(NamedTuple):
    """Where a change stands in the stream: transactions come in the order of their commits."""

    commit: Lsn
    """Where the transaction's commit record begins."""
    number: int
    """Which change of the transaction it is, counted from 1."""


BEFORE_ALL = LogPlace(Lsn(0), 0)


def lsn_text(lsn: int) -> str:
    """Return an LSN as PostgreSQL writes it, such as `16/B374D848`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> Lsn:
    """Read PostgreSQL's form of an LSN. Raises ValueError for anything else."""
    high, low = text.split("/")
    return Lsn((int(high, 16) << 32) | int(low, 16))
