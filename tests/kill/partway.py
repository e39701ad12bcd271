"""What a killed process would have left of a folder, had it died behind each of its effects."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tests.kill.effects import Effect, Kind

Files = Mapping[PurePosixPath, bytes | None]
"""What lies below a folder, by its path there; None for a folder."""


@dataclass(frozen=True)
class State:
    """A folder behind one effect: a file that was being written has half of its bytes."""

    behind: Effect
    files: Files


@dataclass
class _File:
    """One file, whatever its name is."""

    is_folder: bool = False
    data: bytes | None = b""
    """All of it; nothing where nobody knows, since it was deleted."""
    is_whole: bool = True


@dataclass
class _Tree:
    """The files below a folder, as effects make them.

    Of what was done in a new folder before the kernel was asked about it nothing is noted but what
    lay there by then.
    """

    files: dict[PurePosixPath, _File]
    moving: dict[int, _File] = field(default_factory=dict)

    def apply(self, effect: Effect) -> bool:
        """Whether the folder is another one than before, as far as anybody could see."""
        path = effect.path
        match effect.kind:
            case Kind.CREATED if path not in self.files:
                self.files[path] = _File(effect.is_folder, is_whole=False)
            case Kind.MOVED_FROM:
                self.moving[effect.move] = self.files.pop(path, _File())
                return False  # a file is under one of its two names at any moment
            case Kind.MOVED_TO:
                self.files[path] = self.moving.pop(effect.move)
            case Kind.DELETED:
                self.files.pop(path, None)
            case Kind.WRITTEN if path in self.files:
                self.files[path].is_whole = True
                return False  # the next effect shows it whole
            case Kind.MODIFIED if path in self.files:
                assert not self.files[path].is_whole, f"{path} is overwritten where it lies"
                return False
            case _:
                return False
        return True


def files_below(folder: Path) -> dict[PurePosixPath, bytes | None]:
    """All that lies below a folder, which need not be there."""
    return {
        PurePosixPath(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


def put(folder: Path, files: Files) -> None:
    """Have these files below a folder, and nothing else; without any there is no folder."""
    if folder.exists():
        shutil.rmtree(folder)
    for path, data in sorted(files.items()):
        place = folder / path
        if data is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


def states(before: Files, after: Files, effects: Iterable[Effect]) -> list[State]:
    """A folder behind each of the effects that led from what it was to what it is.

    A file has bytes that only grow, as long as it is written: one that is overwritten where it lies
    is an AssertionError, since a process that is killed then leaves neither the old nor the new.
    """
    tree = _Tree({path: _File(data is None, data) for path, data in before.items()})
    found = list[tuple[Effect, list[tuple[PurePosixPath, _File, bool]]]]()
    for effect in effects:
        if tree.apply(effect):
            found.append((effect, [(p, file, file.is_whole) for p, file in tree.files.items()]))
    assert tree.files.keys() == after.keys(), "effects are missing"
    # By now all are whole: one that was never closed had been so before anything of it was noted.
    for path, file in tree.files.items():
        assert file.is_folder is (after[path] is None)
        file.data = after[path]
    return [
        State(
            effect, {path: _bytes(file, whole or not file.is_whole) for path, file, whole in files}
        )
        for effect, files in found
    ]


def _bytes(file: _File, whole: bool) -> bytes | None:
    if file.is_folder or file.data is None:
        return None
    return file.data if whole else file.data[: len(file.data) // 2]
