"""The app's requirements for the Python that it runs on: as a list, or beside it in its package."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from release.refusals import Refused

PLACE = ".python_packages/lib/site-packages"
"""Where the Functions host of Linux looks for packages that came with the app."""

# What the images of Flex Consumption run (glibc 2.31 at least); newest first.
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


_REFUSAL = "wrong-python"
"""The line that ends a build by another Python than the app's."""
_RUNTIME = "azure-functions-runtime"
_FIRST_WITH_RUNTIME = (3, 13)
"""Before this Python an app cannot choose the runtime that it runs on."""


def listed_for(requirements: Path, constraints: Path, python: str) -> str:
    """The list of requirements for one Python, without a marker that chooses among versions.

    A build by any other Python fails on it, rather than install wheels that the app cannot import.
    """
    environment = _environment(python)
    pins = {
        canonicalize_name(one.name): one
        for one in _lines_for(constraints.read_text(encoding="utf-8"), environment)
    }
    lines = [
        f"{_REFUSAL} @ file:///this-build-must-run-Python-{python} ; python_version != '{python}'"
    ]
    for one in _requirements(requirements.read_text(encoding="utf-8")):
        if one.name == _REFUSAL or (one.name == _RUNTIME and _before_runtime(python)):
            continue
        lines.append(_bare(pins.get(canonicalize_name(one.name), one)))
    return "".join(f"{line}\n" for line in lines)


def _before_runtime(python: str) -> bool:
    return tuple(int(part) for part in python.split(".")) < _FIRST_WITH_RUNTIME


def vendored(listed: str, python: str) -> dict[str, bytes]:
    """Every file of the installed requirements, by its path in the package.

    Wheels for the Python and the machines that the app will run on, whatever this machine is.
    Raises Refused when a requirement has no such wheel, or one is missing from the whole.
    """
    environment = _environment(python)
    wanted = _lines_for(listed, environment)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _install(wanted, python, folder)
        _refuse_gaps(wanted, environment, folder)
        return {f"{PLACE}/{name}": content for name, content in _installed(folder).items()}


def _environment(python: str) -> dict[str, str]:
    return {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def _lines_for(text: str, environment: dict[str, str]) -> list[Requirement]:
    """The lines that count on that Python: pip itself would evaluate them for its own."""
    every = _requirements(text)
    return [one for one in every if one.marker is None or one.marker.evaluate(environment)]


def _requirements(text: str) -> list[Requirement]:
    lines = (line.strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def _install(wanted: list[Requirement], python: str, folder: Path) -> None:
    """Download, then unpack: only a download asks which Python a package is for."""
    target = [
        *("--only-binary", ":all:", "--python-version", python, "--implementation", "cp"),
        *(part for name in _PLATFORMS for part in ("--platform", name)),
    ]
    with tempfile.TemporaryDirectory() as wheels:
        _pip(python, "download", *target, "--dest", wheels, *(_bare(one) for one in wanted))
        made = sorted(str(path) for path in Path(wheels).iterdir())
        unpack = ("--no-index", "--no-deps", "--ignore-requires-python", "--no-compile")
        _pip(python, "install", *target, *unpack, "--target", str(folder), *made)


def _pip(python: str, verb: str, *arguments: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-I", "-m", "pip", verb, "--quiet", "--no-input"),
            *("--disable-pip-version-check", *arguments),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Refused(
            f"the requirements could not be fetched for Python {python}:\n{done.stderr.strip()}\n"
            "This option needs a package index: build where there is one, and deploy from there."
        )


def _refuse_gaps(wanted: list[Requirement], environment: dict[str, str], folder: Path) -> None:
    """What a package requires only on that Python, pip on another one does not fetch."""
    there = {
        canonicalize_name(found.metadata["Name"]): found
        for found in distributions(path=[str(folder)])
    }
    gaps = []
    open_ = [(one, "requirements.txt") for one in wanted]
    checked = set()
    while open_:
        one, why = open_.pop()
        found = there.get(canonicalize_name(one.name))
        if found is None or not one.specifier.contains(found.version, prereleases=True):
            gaps.append(f"{one} (for {why})")
            continue
        key = (found.metadata["Name"], *sorted(one.extras))
        if key in checked:
            continue
        checked.add(key)
        [pythons] = found.metadata.get_all("Requires-Python") or [""]
        if not SpecifierSet(pythons).contains(environment["python_full_version"]):
            gaps.append(f"{found.metadata['Name']} {found.version} for this Python (for {why})")
        open_ += [(next_, found.metadata["Name"]) for next_ in _needs(found, one, environment)]
    if gaps:
        listed = "".join(f"\n  {gap}" for gap in sorted(gaps))
        raise Refused(
            f"fetched for Python {environment['python_version']}, these are missing:{listed}\n"
            f"Run this with Python {environment['python_version']} itself, which fetches them."
        )


def _needs(
    found: Distribution, asked: Requirement, environment: dict[str, str]
) -> list[Requirement]:
    every = [Requirement(line) for line in found.requires or ()]
    return [
        one
        for one in every
        if one.marker is None
        or any(
            one.marker.evaluate({**environment, "extra": extra}) for extra in (asked.extras or {""})
        )
    ]


def _bare(one: Requirement) -> str:
    one = Requirement(str(one))
    one.marker = None
    return str(one)


def _installed(folder: Path) -> dict[str, bytes]:
    """What was installed, without what says where and by which Python that was done."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = PurePosixPath(path.relative_to(folder).as_posix())
        if path.is_file() and not _is_local(name):
            content = path.read_bytes()
            found[str(name)] = _listing(content) if _lists(name) else content
    return found


def _is_local(name: PurePosixPath) -> bool:
    """Scripts and where a wheel lay, which hold this machine's paths, and bytecode.

    Nobody runs or reads any of them there.
    """
    return (
        name.parts[0] == "bin"
        or "__pycache__" in name.parts
        or (name.name == "direct_url.json" and name.parent.suffix == ".dist-info")
    )


def _lists(name: PurePosixPath) -> bool:
    return name.name == "RECORD" and name.parent.suffix == ".dist-info"


def _listing(record: bytes) -> bytes:
    """A RECORD without the lines of files that are left out: those lines have their hashes."""
    kept = io.StringIO()
    lines = csv.writer(kept, lineterminator="\n")
    for row in csv.reader(io.StringIO(record.decode(), newline="")):
        # pip writes the names of scripts as from the place that it had unpacked them in first.
        parts = [part for part in PurePosixPath(row[0]).parts if part != ".."]
        if not _is_local(PurePosixPath(*parts)):
            lines.writerow(row)
    return kept.getvalue().encode()
