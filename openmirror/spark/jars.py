"""The jars that Spark lacks: of fixed content, fetched once from Maven, then used offline.

The Python package of Delta Lake has no jars, and Spark's own way to get them
(`spark.jars.packages`) resolves them again at every start. So they are fetched before there is any
session, and handed to Spark as a class path.

`python -m openmirror.spark.jars` makes the cache ready and prints that class path.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from openmirror.spark.ivy import MIRROR_VARIABLE, NETWORK_REMEDY, Jar, JarsError, fetch_with_ivy

_MANIFEST = "manifest.json"
_FETCHING = ".fetching-"

# All that Delta needs and pyspark lacks. Its POM names 30 more: most are in pyspark already, in
# other versions that must not stand beside those, and the rest serves Unity Catalog only. The
# Kernel is linked by Delta's catalog as soon as a table goes through its v2 code.
JARS = (
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        "4.4.0",
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
    Jar(
        "io.delta",
        "delta-kernel-api",
        "4.4.0",
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    ),
    Jar(
        "io.delta",
        "delta-kernel-defaults",
        "4.4.0",
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    ),
    # Spark's driver for storage accounts, of the Hadoop version that pyspark has. Alone: what it
    # needs is in pyspark, and the other artefacts of its POM serve the driver before this one.
    Jar(
        "org.apache.hadoop",
        "hadoop-azure",
        "3.5.0",
        "220b5db238b82437960e4b81c7e3eefa4eff2a03ad502887497f11d0ad86e663",
    ),
)

Fetch = Callable[[Sequence[Jar], Path], None]
"""Puts each jar, under its file name, into a folder; raises JarsError."""


def default_cache() -> Path:
    """Where the jars are kept: below OPENMIRROR_CACHE, else the user's cache folder."""
    own = os.environ.get("OPENMIRROR_CACHE")
    if own:
        return Path(own) / "jars"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "openmirror" / "jars"


def class_path(cache: Path | None = None, say: Callable[[str], None] = lambda _: None) -> str:
    """The jars as Spark's `spark.driver.extraClassPath` wants them, fetched if they are missing.

    Raises JarsError.
    """
    return os.pathsep.join(map(str, resolve(cache or default_cache(), say)))


def resolve(
    cache: Path,
    say: Callable[[str], None],
    *,
    jars: Sequence[Jar] = JARS,
    what: str = "Spark",
    fetch: Fetch = fetch_with_ivy,
) -> tuple[Path, ...]:
    """Give the jars in the cache, in the order of `jars`; fetch them first if any is not as it was.

    `what` names their use to people.

    `say` hears one line before anything slow. A cache that is whole is only checked (names and
    sizes), without network or lock. Runs side by side fetch once. Raises JarsError.
    """
    # A relative class path would mean something else wherever Spark's Java is started.
    cache = cache.absolute()
    folder = cache / f"{jars[0].name}-{jars[0].version}"
    if not _is_whole(folder, jars):
        try:
            with _locked(cache):
                if not _is_whole(folder, jars):  # another process may have just done it
                    say(f"fetching {len(jars)} jars for {what} into {folder}")
                    _fill(folder, jars, fetch)
        except OSError as error:
            raise JarsError(
                f"cannot keep the jars for {what} in {cache}: {error}. "
                "Make that folder writable, or set OPENMIRROR_CACHE to one that is"
            ) from error
    return tuple(folder / jar.file for jar in jars)


def _is_whole(folder: Path, jars: Sequence[Jar]) -> bool:
    """Whether the manifest names exactly these jars and each file still has its size in bytes."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        listed = {entry["name"]: (entry["size"], entry["sha256"]) for entry in manifest["jars"]}
        return listed == {
            jar.file: ((folder / jar.file).stat().st_size, jar.sha256) for jar in jars
        }
    except (OSError, ValueError, KeyError, TypeError):
        return False  # whatever is wrong with it, the answer is the same: fetch again


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Hold the cache alone; the operating system lets go when the process ends, however it ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fill(folder: Path, jars: Sequence[Jar], fetch: Fetch) -> None:
    """Fetch beside the folder, check, and put the whole in its place by one rename."""
    for left_over in folder.parent.glob(f"{_FETCHING}*"):  # of a run that was killed
        shutil.rmtree(left_over, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=_FETCHING, dir=folder.parent))
    try:
        fresh = work / "fresh"
        fresh.mkdir()
        fetch(jars, fresh)
        entries = [_checked(jar, fresh / jar.file) for jar in jars]
        (fresh / _MANIFEST).write_text(json.dumps({"jars": entries}, indent=2) + "\n")
        if folder.exists():
            folder.rename(work / "damaged")
        fresh.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _checked(jar: Jar, path: Path) -> dict[str, str | int]:
    """Describe a fetched jar for the manifest; raises JarsError unless its content is right."""
    if not path.is_file():
        raise JarsError(f"{jar.file} was not delivered. {NETWORK_REMEDY}")
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != jar.sha256:
        raise JarsError(
            f"{jar.file} is not the published file: its SHA-256 is {sha256}, not {jar.sha256}. "
            f"Something between here and Maven changes files: check {MIRROR_VARIABLE} and proxies"
        )
    return {"name": jar.file, "size": len(content), "sha256": sha256}


def main() -> int:
    """Make the default cache ready and print the class path. Exit code 0, or 1 with the reason."""
    return print_class_path(lambda say: class_path(say=say))


def print_class_path(make: Callable[[Callable[[str], None]], str]) -> int:
    """Print the class path that `make` gives, which may say what it does meanwhile.

    Exit code 0, or 1 with the reason.
    """
    try:
        path = make(lambda line: _write_error(f"openmirror: {line}"))
    except JarsError as error:
        _write_error(f"openmirror: {error}")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


def _write_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
