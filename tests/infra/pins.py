"""What pyproject.toml asks for and constraints.txt pins, and where the two disagree."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def read_project() -> dict[str, Any]:
    """The whole of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return found


def read_pins(name: str) -> list[Requirement]:
    """The lines of a requirements file that are no comment."""
    lines = (line.strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def required(extra: str) -> list[Requirement]:
    """What constraints.txt pins of an extra's packages."""
    asked = map(Requirement, read_project()["project"]["optional-dependencies"][extra])
    return _pins_of([*asked])


def required_by_all() -> list[Requirement]:
    """What constraints.txt pins of the packages that every installation has."""
    return _pins_of([*map(Requirement, read_project()["project"]["dependencies"])])


def installed_ranges(project: Mapping[str, Any]) -> list[Requirement]:
    """What a wheel asks for, in any extra; extras of the package itself are left out."""
    metadata = project["project"]
    extras = metadata["optional-dependencies"].values()
    every = [Requirement(text) for each in (metadata["dependencies"], *extras) for text in each]
    return [one for one in every if one.name != metadata["name"]]


def disagreements(project: Mapping[str, Any], pins: Sequence[Requirement]) -> list[str]:
    """Every package without exactly one version inside its range, and every version unasked for."""
    asked = [
        *installed_ranges(project),
        *map(Requirement, project["dependency-groups"]["dev"]),
        *map(Requirement, project["build-system"]["requires"]),
    ]
    return [*_inexact(pins), *_unrequired(asked, pins), *_unasked(asked, pins)]


def _inexact(pins: Sequence[Requirement]) -> Iterator[str]:
    for pin in pins:
        operators = [part.operator for part in pin.specifier]
        if operators != ["=="] or "*" in str(pin.specifier):
            yield f"{pin} is no exact version"
    for (name, marker), times in Counter(map(_key, pins)).items():
        if times > 1:
            yield f"{name} {marker} has {times} lines"


def _unrequired(asked: Sequence[Requirement], pins: Sequence[Requirement]) -> Iterator[str]:
    for one in asked:
        same = [pin for pin in pins if _key(pin) == _key(one)]
        if not same:
            yield f"{one} has no exact version"
        for pin in same:
            for exact in pin.specifier:
                if not one.specifier.contains(exact.version):
                    yield f"{pin} is outside {one}"


def _unasked(asked: Sequence[Requirement], pins: Sequence[Requirement]) -> Iterator[str]:
    known = {_key(one) for one in asked}
    yield from (f"{pin} is asked for nowhere" for pin in pins if _key(pin) not in known)


def _pins_of(asked: Sequence[Requirement]) -> list[Requirement]:
    known = {_key(one) for one in asked}
    return [pin for pin in read_pins("constraints.txt") if _key(pin) in known]


def _key(one: Requirement) -> tuple[str, str]:
    return canonicalize_name(one.name), str(one.marker or "")
