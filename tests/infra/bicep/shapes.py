"""The shape that Azure wants a value in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Anything:
    """No rule that is known."""


@dataclass(frozen=True)
class Plain:
    kind: str  # string, int or bool


@dataclass(frozen=True)
class Choice:
    """A string of a closed list."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class ListOf:
    item: Shape


@dataclass(frozen=True)
class MapOf:
    """An object with free names."""

    value: Shape


@dataclass(frozen=True)
class Field:
    shape: Shape
    required: bool = False
    read_only: bool = False


@dataclass(frozen=True)
class Record:
    """An object with given names; found when asked for, since some refer back to themselves.

    Where one field names the kind, `kinds` holds the record of each of its values.
    """

    name: str
    find: Callable[[], Mapping[str, Field]] = field(repr=False, compare=False)
    discriminator: str | None = None
    find_kinds: Callable[[], Mapping[str, Record]] = field(default=dict, repr=False, compare=False)

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        return self.find()

    @cached_property
    def kinds(self) -> Mapping[str, Record]:
        return self.find_kinds()


Shape = Anything | Plain | Choice | ListOf | MapOf | Record

ANYTHING = Anything()
STRING = Plain("string")
INT = Plain("int")
BOOL = Plain("bool")
