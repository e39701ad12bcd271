"""The Delta Lake jars: pinned, fetched once from Maven into a cache, then used offline.

The Python package of Delta Lake has no jars, and Spark's own way to get them
(`spark.jars.packages`) resolves them again at every start. So they are fetched here, by the Ivy
that Spark ships, before there is any session, and handed to Spark as a class path.

`python -m openmirror.spark.jars` makes the cache ready and prints that class path.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.sax.saxutils import quoteattr

MIRROR_VARIABLE = "OPENMIRROR_MAVEN_ROOT"
"""Environment variable: the URL of a Maven repository to use in place of Ivy's default."""

_MANIFEST = "manifest.json"
_FETCHING = ".fetching-"
_FETCH_TIMEOUT = 900  # seconds
_SETTINGS = Path(__file__).with_name("ivysettings.xml")


class JarsError(Exception):
    """The jars cannot be had; `remedy` says what to do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True)
class Jar:
    """One Maven artefact, pinned by its content."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


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
    fetch: Fetch | None = None,
) -> tuple[Path, ...]:
    """Give the jars in the cache, in the order of `jars`; fetch them first if any is not as it was.

    `say` hears one line before anything slow. A cache that is whole is only looked at (names and
    sizes), without network or lock. Runs side by side fetch once. Raises JarsError.
    """
    # A relative class path would mean something else wherever Spark's Java is started.
    cache = cache.absolute()
    folder = cache / f"{jars[0].name}-{jars[0].version}"
    if not _is_whole(folder, jars):
        try:
            with _locked(cache):
                if not _is_whole(folder, jars):  # another process may have just done it
                    say(f"fetching {len(jars)} Delta Lake jars into {folder}")
                    _fill(folder, jars, fetch or fetch_with_ivy)
        except OSError as error:
            raise JarsError(
                f"cannot keep the Delta jars in {cache}: {error}",
                "Make that folder writable, or set OPENMIRROR_CACHE to one that is.",
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
    """Describe a fetched jar for the manifest; raises JarsError unless it is the pinned one."""
    if not path.is_file():
        raise JarsError(f"{jar.file} was not delivered", _NETWORK_REMEDY)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != jar.sha256:
        raise JarsError(
            f"{jar.file} is not the published file: its SHA-256 is {digest}, not {jar.sha256}",
            f"Something between here and Maven changes files; check {MIRROR_VARIABLE} and proxies.",
        )
    return {"name": jar.file, "size": len(content), "sha256": digest}


_NETWORK_REMEDY = (
    f"Check the network, or set {MIRROR_VARIABLE} to the URL of a Maven repository that can be "
    "reached from here, and run it again."
)

_TRUST_REMEDY = (
    "Java does not trust the certificate it was shown: something between here and Maven has one "
    "of its own. Add that authority to the system's certificates (on Debian and Ubuntu: "
    "/usr/local/share/ca-certificates and update-ca-certificates), and run it again."
)


def fetch_with_ivy(jars: Sequence[Jar], folder: Path) -> None:
    """Fetch jars with the Ivy that pyspark ships. Raises JarsError with Ivy's last lines."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        module = Path(scratch, "ivy.xml")
        module.write_text(_ivy_module(jars))
        command = [
            _java(),
            *_repository(os.environ.get(MIRROR_VARIABLE)),
            *_proxies(getproxies()),
            "-jar",
            str(_ivy()),
            *("-settings", str(_SETTINGS)),
            # Ivy's cache serves one run: sharing it would let one broken download spoil the next.
            *("-cache", str(Path(scratch, "cache"))),
            *("-ivy", str(module)),
            *("-retrieve", f"{folder}/[artifact]-[revision].[ext]"),
            *("-types", "jar"),
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_FETCH_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise JarsError(
                f"fetching the Delta jars took longer than {_FETCH_TIMEOUT} s", _NETWORK_REMEDY
            ) from error
        except OSError as error:
            raise JarsError(f"cannot start Java: {error}", _JAVA_REMEDY) from error
    if done.returncode != 0:
        last = "\n".join(f"  {line}" for line in done.stdout.strip().splitlines()[-15:])
        raise JarsError(
            f"Ivy could not fetch the Delta jars; its last lines:\n{last}",
            _TRUST_REMEDY if "PKIX path building failed" in done.stdout else _NETWORK_REMEDY,
        )


def _ivy_module(jars: Sequence[Jar]) -> str:
    """An Ivy module that depends on exactly these jars and on nothing that they depend on."""
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(jar.group)} name={quoteattr(jar.name)}"
        f' rev={quoteattr(jar.version)} conf="default->master" transitive="false"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="openmirror" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n"
        "</ivy-module>\n"
    )


_JAVA_REMEDY = (
    "Install Java 17 or 21 (on Debian and Ubuntu: apt-get install openjdk-17-jre-headless), "
    "or set JAVA_HOME to where it is."
)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise JarsError(f"no Java in {where}", _JAVA_REMEDY)
    return java


def _ivy() -> Path:
    spec = find_spec("pyspark")  # found, not imported: that would take longer than all the rest
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return jar
    raise JarsError("pyspark with its jars is not installed", "Run ./dev setup.")


def _repository(mirror: str | None) -> list[str]:
    """Tell our Ivy settings of a mirror's root URL, if there is one."""
    if not mirror:
        return []
    # Ivy puts a path right behind the root.
    root = mirror if mirror.endswith("/") else mirror + "/"
    return ["-Dopenmirror.maven.resolver=mirror", f"-Dopenmirror.maven.root={root}"]


def _proxies(proxies: Mapping[str, str]) -> list[str]:
    """Tell Java of the proxies that the environment names, which it does not look at by itself."""
    options = []
    for scheme in ("http", "https"):
        proxy = urlsplit(proxies.get(scheme, ""))
        if proxy.hostname:
            options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            options.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    if without := proxies.get("no"):
        options.append("-Dhttp.nonProxyHosts=" + "|".join(without.replace(" ", "").split(",")))
    return options


def main() -> int:
    """Make the default cache ready and print the class path. Exit code 0, or 1 with the reason."""
    try:
        path = class_path(say=lambda line: _write_error(f"openmirror: {line}"))
    except JarsError as error:
        _write_error(f"openmirror: {error}\n{error.remedy}")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


def _write_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
