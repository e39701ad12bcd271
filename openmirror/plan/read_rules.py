"""How the values of a table's files are read, where neither file nor protocol can say it alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from openmirror.protocol.names import fold_case
from openmirror.protocol.text_format import TextFormat


class BinaryText(StrEnum):
    """How bytes are written in text."""

    BASE64 = "base64"
    HEX = "hex"
    """Two digits a byte, with `0x` or `\\x` before them or without."""


class Fractions(StrEnum):
    """What happens to a time that is finer than a microsecond, which tables cannot hold."""

    TRUNCATE = "truncate"
    """What is finer is cut off."""
    REFUSE = "refuse"
    """The file is refused."""


@dataclass(frozen=True, kw_only=True)
class ReadRules:
    """What a reader of rows must know besides the file and its facts."""

    text: TextFormat | None = None
    """How delimited text is written; None for Parquet."""
    binary: BinaryText | None = None
    """How bytes are written in it; None: base64, but nothing that may be hexadecimal."""
    fractions: Fractions | None = None
    """None: what is finer is cut off, with a warning, since nobody has accepted it."""
    exact: frozenset[str] = frozenset()
    """Columns, case-folded, that may lose no digit: rows are matched or compared by them."""

    def truncates(self, column: str) -> bool:
        """Whether times of this column lose what is finer than a microsecond."""
        return self.fractions is not Fractions.REFUSE and fold_case(column) not in self.exact

    def reads_exactly(self, columns: Iterable[str]) -> bool:
        """Whether of any of these columns no digit may be lost."""
        return not all(map(self.truncates, columns))
