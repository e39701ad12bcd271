"""Which of a stream's tables land in a mirror, and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from openmirror.protocol.names import TableArgument, TablePath

_ANY = "*"
_FORM = "schema.table, as the database calls it, where * stands for any characters"


@dataclass(frozen=True)
class TableChoice:
    """Patterns of `schema.table`, in the database's own case; of a database without schemas, its
    name stands for one. Where nothing is set, every table lands under its own name."""

    include: tuple[str, ...] = ()
    """Those that land; every one where there are none."""
    exclude: tuple[str, ...] = ()
    """Those that do not, of these."""
    names: tuple[tuple[str, TablePath], ...] = ()
    """For a table, where it lands; the first that matches counts, one without `*` before others.
    What `*` stands for in it stands in the path's `*` as well."""

    @classmethod
    def of(
        cls, include: Iterable[str], exclude: Iterable[str], names: Mapping[str, str]
    ) -> TableChoice:
        """Raises ValueError for what is no pattern, and for names that cannot be meant."""
        pairs = [(need_pattern(pattern), _target(pattern, to)) for pattern, to in names.items()]
        return cls(
            tuple(map(need_pattern, include)),
            tuple(map(need_pattern, exclude)),
            tuple(sorted(pairs, key=lambda pair: _ANY in pair[0])),
        )

    def has(self, table: str) -> bool:
        """Whether a table lands."""
        wanted = not self.include or any(fnmatchcase(table, one) for one in self.include)
        return wanted and not any(fnmatchcase(table, one) for one in self.exclude)

    def name_of(self, table: str) -> TablePath | None:
        """Where a table lands; None where that is its own name."""
        for pattern, target in self.names:
            match = _expression(pattern).fullmatch(table)
            if match is not None:
                any_ = match[1] if _ANY in pattern else ""
                parts = (part.replace(_ANY, any_) for part in (target.schema, target.table))
                return TablePath(*parts)
        return None


def need_pattern(text: str) -> str:
    """The same; raises ValueError for what no table can match."""
    if _ANY not in text and not all(text.partition(".")):
        raise ValueError(f"{text!r} is no table: write {_FORM}")
    if not text or any(sign in text for sign in "[]?`"):
        raise ValueError(f"{text!r} is no pattern: write {_FORM}")
    return text


def _target(pattern: str, text: str) -> TablePath:
    try:
        argument = TableArgument.parse(text)
    except ValueError as error:
        raise ValueError(str(error)) from None
    if argument.mirror is not None:
        raise ValueError(f"{text!r} names a mirror: a table lands in the one that declares it")
    counts = pattern.count(_ANY), text.count(_ANY)
    if counts not in ((0, 0), (1, 1)):
        raise ValueError(
            f"{pattern!r} as {text!r}: both have one *, or none: else several tables would be one"
        )
    return TablePath(argument.name.schema, argument.name.table)


def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(re.escape(_ANY), "(.*)"), re.DOTALL)
