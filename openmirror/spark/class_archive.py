"""An archive of the classes that Spark and Delta load, so that a JVM starts with them at hand.

A cold JVM spends a third of the time until its first commit on reading some thirty thousand classes
out of jars and verifying them. Java can keep what it made of them in a file (class data sharing)
and map that in at the next start. Whether the file fits is Java's own affair: one of another Java,
or of other jars, is passed over and costs nothing.

`python -m openmirror.spark.class_archive` makes it, once, by a Spark that commits a few times.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from openmirror.spark.jars import class_path, default_cache

_TIMEOUT = 600
"""Seconds in which an archive is made or given up."""
_KEPT = 3
"""Archives of other environments that stay."""
_QUIET = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"


def archive_file(cache: Path, jars: str) -> Path:
    """Where the archive for these jars, this pyspark and this Java is kept, or would be.

    Java passes an archive over once a jar of its class path was written anew, if with the same
    bytes: an environment that is made again at its place needs another one.
    """
    pyspark = _folder_of_pyspark()
    own = sorted(pyspark.glob("jars/*.jar"))
    others = [Path(jar) for jar in jars.split(os.pathsep)]
    written = [f"{jar} {jar.stat().st_mtime_ns}" for jar in (*own, *others) if jar.is_file()]
    parts = (version("pyspark"), str(pyspark), jars, _java(), *written)
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache.parent / "classes" / f"{name[:16]}.jsa"


def _folder_of_pyspark() -> Path:
    found = find_spec("pyspark")
    return Path(str(found and found.origin)).parent


def java_options(cache: Path, jars: str) -> str:
    """The options of a JVM that uses the archive; nothing where there is none."""
    archive = archive_file(cache, jars)
    # A space would end the option: Spark splits them as a shell does, and knows quotes.
    return f'"-XX:SharedArchiveFile={archive}" {_QUIET}' if archive.is_file() else ""


def _java() -> str:
    """Which Java starts Spark: what it says of itself in its `release`."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    release = java.resolve().parent.parent / "release"
    return release.read_text(errors="replace") if release.is_file() else str(java)


def make(cache: Path, say: Callable[[str], None]) -> Path | None:
    """The archive, made if it is not there; None where this Java makes none.

    Runs Spark in a process of its own for half a minute. What is made beside the archive is moved
    to its place when it is whole, so two that make it do not disturb each other.
    """
    jars = class_path(cache)
    archive = archive_file(cache, jars)
    if archive.is_file():
        return archive
    say("keeping Spark's classes, so that Spark starts sooner (once; half a minute, 200 MB)")
    try:
        why = _made(archive, jars)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why is not None:
        say(f"Spark's classes could not be kept, and it starts as before ({why})")
        return None
    return archive


def _made(archive: Path, jars: str) -> str | None:
    """Make the archive; why it could not be made, if so."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    # Of other jars, or of environments that are gone: each has a class path of its own.
    for old in sorted(archive.parent.glob("*.jsa"), key=lambda file: -file.stat().st_mtime)[_KEPT:]:
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=archive.parent) as work:
        fresh = Path(work, "fresh.jsa")
        words = [sys.executable, "-W", "ignore", "-m", "openmirror.spark.class_archive"]
        done = subprocess.run(
            [*words, "--commit-in", work, str(fresh), jars],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode or not fresh.is_file():
            return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        fresh.rename(archive)
    return None


def _commit(work: Path, archive: Path, jars: str) -> None:
    """Start Spark, make one commit of each kind, and have Java keep the classes at its end."""
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F

    from openmirror.spark.session import start_spark

    spark = start_spark(
        master="local[2]",
        driver_memory="1g",
        class_path=jars,
        java_options=f'"-XX:ArchiveClassesAtExit={archive}" {_QUIET}',
    )
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    path = str(work / "table")
    rows = spark.range(100).select("id", F.col("id").cast("string").alias("v"))
    rows.write.format("delta").save(path)
    rows.writeTo(f"delta.`{path}`").append()
    rows.writeTo(f"delta.`{path}`").option("replaceWhere", "true").overwrite(F.lit(True))
    target = DeltaTable.forPath(spark, path).alias("t")
    merge = target.merge(rows.limit(10).alias("s"), "t.id <=> s.id").whenMatchedUpdateAll()
    merge.whenNotMatchedInsertAll().execute()
    spark.stop()
    # Java writes the archive when it ends, which it does when nobody speaks to it any more.
    spark.sparkContext._gateway.shutdown()  # type: ignore[union-attr]
    java.stdin.close()
    java.wait(_TIMEOUT)


def main() -> int:
    """Make the archive in the default cache; or, for that, run Spark. Always exit code 0."""
    match sys.argv[1:]:
        case ["--commit-in", work, archive, jars]:
            _commit(Path(work), Path(archive), jars)
        case _:
            make(default_cache(), _say)
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"openmirror: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
