"""Archives that depend on names and contents only: not on when, where or by whom they are made."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

EPOCH = 1_580_601_600
"""2020-02-02, which hatchling takes as well; zip files cannot say anything before 1980."""
_DATE = (2020, 2, 2, 0, 0, 0)
_FILE = 0o100644 << 16
"""A regular file that its owner may write and all may read."""


@dataclass(frozen=True)
class Artifact:
    """A file that was built."""

    path: Path
    files: int
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Artifact:
        """Read it back from where it lies, which is what will be uploaded."""
        with zipfile.ZipFile(path) as packed:
            files = len(packed.namelist())
        content = path.read_bytes()
        return cls(path, files, len(content), hashlib.sha256(content).hexdigest())


def write_zip(
    path: Path, files: Mapping[str, bytes], order: Callable[[str], tuple[object, ...]] | None = None
) -> Artifact:
    """Write an archive whole or not at all, in the order of names unless another is given."""
    new = path.with_name(f".{path.name}.new")
    with zipfile.ZipFile(new, "w") as packed:
        for name in sorted(files, key=order or _by_name):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: only then are permissions read
            entry.external_attr = _FILE
            packed.writestr(entry, files[name], compresslevel=9)
    new.replace(path)
    return Artifact.of(path)


def _by_name(name: str) -> tuple[object, ...]:
    return (name,)


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the same as a folder, in place of what was there.

    One that holds just that is left alone: somebody may be reading it.
    """
    if _holds(path, files):
        return
    new, old = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")
    for stale in (new, old):
        if stale.exists():
            shutil.rmtree(stale)
    for name, content in files.items():
        target = new / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o644)
        os.utime(target, (EPOCH, EPOCH))
    if path.exists():
        path.replace(old)
    new.replace(path)
    if old.exists():
        shutil.rmtree(old)


def _holds(path: Path, files: Mapping[str, bytes]) -> bool:
    """Whether a folder has these files with these bytes, and nothing besides."""
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    there = {found.relative_to(path).as_posix(): found for found in path.rglob("*")}
    if there.keys() != (folders - {"."}) | files.keys():
        return False
    plain = all(not found.is_symlink() for found in there.values())
    return plain and all(
        there[name].is_file() and there[name].read_bytes() == content
        for name, content in files.items()
    )


def contents(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Files of a folder, by their names in it."""
    return {name: (root / name).read_bytes() for name in names}
