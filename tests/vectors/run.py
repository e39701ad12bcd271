"""Run the vectors against any implementation: `python run.py MODULE:CLASS [GROUP ...]`.

Python's standard library alone. The class takes a folder, which is its landing zone, and the
bytes of `mirroring.json` or None. `drain(step, settings)` applies everything that lies there, after
it has done what `step["asked"]` asks for. `outcome(folder)` answers what came of one landing
folder: as README.md describes `expected`, without its `folder` and `table`. A program in another
language is run by such a class as well. Exit code 1 when a vector gives something else.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

HERE = Path(__file__).parent


class Implementation(Protocol):
    """One mirror over one landing zone."""

    def drain(self, step: Mapping[str, Any], settings: bytes | None) -> None: ...

    def outcome(self, folder: str) -> Mapping[str, Any]: ...


def run(make: Callable[[Path, bytes | None], Implementation], case: Path) -> list[str]:
    """The runner itself: what is wrong with this case, a line each."""
    document = json.loads((case / "case.json").read_text(encoding="utf-8"))
    with TemporaryDirectory() as zone:
        mirror = make(Path(zone), content(case / "mirroring.json"))
        for step in steps(case):
            publish(step, Path(zone), document.get("names", {}))
            mirror.drain(read(step / "step.json"), content(step / "mirroring.json"))
        wanted = [document["expected"], *document.get("others", [])]
        return [line for one in wanted for line in unlike(one, mirror.outcome(one["folder"]))]


def cases(groups: Collection[str] = (), below: Path = HERE) -> Iterator[Path]:
    """The folders of all cases, or of these groups."""
    for path in sorted(below.glob("*/*/case.json")):
        if not groups or path.parts[-3] in groups:
            yield path.parent


def steps(case: Path) -> list[Path]:
    """The folders of a case's steps in order; its own where it has one step."""
    return sorted(case.glob("steps/*"), key=lambda path: int(path.name)) or [case]


def publish(step: Path, zone: Path, names: Mapping[str, str]) -> None:
    """Change a zone as publishers did; files are as old as the copy, or as the step says."""

    def at(path: str) -> Path:
        return zone.joinpath(*(names.get(part, part) for part in path.split("/")))

    document = read(step / "step.json")
    for path, to in document.get("renamed", {}).items():
        (zone / to).parent.mkdir(exist_ok=True)
        (zone / path).rename(zone / to)
    for path in document.get("deleted", []):
        there = zone / path
        shutil.rmtree(there) if there.is_dir() else there.unlink()
    landing = step / "landing"
    for file in (path for path in landing.rglob("*") if path.is_file()):
        place = at(file.relative_to(landing).as_posix())
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    for path, moment in document.get("modified", {}).items():
        os.utime(at(path), (datetime.fromisoformat(moment).timestamp(),) * 2)


def unlike(expected: Mapping[str, Any], outcome: Mapping[str, Any]) -> Iterator[str]:
    """Each difference, as a line."""
    for key in ("state", "appliedSequence", "columns"):
        if _plain(outcome.get(key)) != expected[key]:
            yield f"{expected['folder']}: {key} is {outcome.get(key)!r}, not {expected[key]!r}"
    if bag(outcome.get("rows", [])) != bag(expected["rows"]):
        yield f"{expected['folder']}: rows are {outcome.get('rows')!r}, not {expected['rows']!r}"
    if sorted(outcome.get("warnings", [])) != sorted(expected.get("warnings", [])):
        yield f"{expected['folder']}: warnings are {outcome.get('warnings')!r}"


def bag(rows: Any) -> list[str]:
    """Rows in one order. 1 and 1.0 are one JSON number; so are 0.0 and -0.0."""
    return sorted(
        json.dumps([v + 0.0 if type(v) in (int, float) else v for v in row]) for row in rows
    )


def read(path: Path) -> dict[str, Any]:
    """A JSON document; an empty one where there is none."""
    found: dict[str, Any] = json.loads(content(path) or b"{}")
    return found


def content(path: Path) -> bytes | None:
    """A file's bytes; None without one."""
    return path.read_bytes() if path.exists() else None


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def main() -> int:
    """Run what the command line names."""
    module, _, name = sys.argv[1].partition(":")
    sys.path.insert(0, str(Path.cwd()))
    make, wrong = getattr(import_module(module), name), 0
    for case in cases(sys.argv[2:]):
        found = run(make, case)
        wrong += bool(found)
        for line in found:
            sys.stdout.write(f"{case.parent.name}/{case.name}: {line}\n")
    count = len(list(cases(sys.argv[2:])))
    sys.stdout.write(f"{wrong} of {count} vectors give something else\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
