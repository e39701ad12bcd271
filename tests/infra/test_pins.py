"""Ranges are for whoever installs the package, exact versions for this checkout: both agree."""

from __future__ import annotations

import re
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.infra.pins import (
    ROOT,
    disagreements,
    installed_ranges,
    read_pins,
    read_project,
)


def test_every_package_has_one_exact_version_inside_its_range_and_no_other_has() -> None:
    assert disagreements(read_project(), read_pins("constraints.txt")) == []


@pytest.mark.parametrize(
    ("changed", "to", "message"),
    [
        ("pyarrow==26.0.1", "", "pyarrow<27,>=19 has no exact version"),
        ("pyarrow==26.0.1", "pyarrow==27.0.0", "pyarrow==27.0.0 is outside pyarrow<27,>=19"),
        ("pyarrow==26.0.1", "pyarrow>=26.0.1", "pyarrow>=26.0.1 is no exact version"),
        ("pytest==9.2.0", "pytest==9.*", "pytest==9.* is no exact version"),
        ("pytest==9.2.0", "", "pytest has no exact version"),
        (
            "hatchling==1.33.0",
            "hatchling==1.32.0",
            "hatchling==1.32.0 is outside hatchling==1.33.0",
        ),
        ("rich==15.0.0", "rich==15.0.0\nrich==15.0.1", "rich  has 2 lines"),
        ("rich==15.0.0", "rich==15.0.0\npygments==2.21.0", "pygments==2.21.0 is asked for nowhere"),
    ],
)
def test_each_disagreement_is_found(changed: str, to: str, message: str) -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert text.count(f"\n{changed}\n") == 1
    lines = text.replace(f"\n{changed}\n", f"\n{to}\n").splitlines()
    pins = [Requirement(line) for line in lines if line and line[0] != "#"]
    assert message in disagreements(read_project(), pins)


def test_every_range_has_both_ends() -> None:
    for one in installed_ranges(read_project()):
        operators = sorted(part.operator for part in one.specifier)
        assert operators in (["<", ">="], ["=="]), one


def test_the_apps_requirements_are_the_pins_of_the_checkout() -> None:
    pins = {*read_pins("constraints.txt"), *read_pins("standins/functions-runtime.txt")}
    wanted = [one for one in read_pins("requirements.txt") if one.url is None]
    assert wanted
    for one in wanted:
        # The list is for one Python, and chooses nothing.
        assert one.marker is None
        assert any((pin.name, pin.specifier) == (one.name, one.specifier) for pin in pins), one


def test_the_app_installs_all_that_every_installation_has() -> None:
    names = {one.name for one in read_pins("requirements.txt")}
    project: dict[str, Any] = read_project()["project"]
    assert {Requirement(text).name for text in project["dependencies"]} <= names


def test_what_a_databricks_runtime_brings_of_ours_is_inside_the_range() -> None:
    page = (ROOT / "docs" / "RUNNER.md").read_text()
    ranges = {one.name: one.specifier for one in installed_ranges(read_project())}
    rows = re.findall(r"^  \| (pyarrow|pydantic) \| stays \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert [name for name, *_ in rows] == ["pyarrow", "pydantic"]
    for name, *versions in rows:
        for version in versions:
            assert ranges[name].contains(version), (name, version)
