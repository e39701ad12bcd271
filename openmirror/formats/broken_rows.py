"""What a reader of rows raises when the rows of a file break a rule."""

from __future__ import annotations

from openmirror.protocol.rules import Broken


class RowsBroken(Exception):
    """A change file cannot be read as the protocol wants it, and which rule it breaks where.

    The detail names line or row, column and value; whoever read the file adds its name.
    """

    def __init__(self, broken: Broken) -> None:
        super().__init__(f"{broken.code.value}: {broken.detail}")
        self.broken = broken
