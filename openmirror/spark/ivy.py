"""Fetching jars from Maven with the Ivy that pyspark ships."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.sax.saxutils import quoteattr

from openmirror.errors import CannotStart

MIRROR_VARIABLE = "OPENMIRROR_MAVEN_ROOT"
"""Environment variable: the URL of a Maven repository to use in place of Ivy's default."""

_TIMEOUT = 900  # seconds
_SETTINGS = Path(__file__).with_name("ivysettings.xml")

NETWORK_REMEDY = (
    f"Check the network, or set {MIRROR_VARIABLE} to the URL of a Maven repository that can be "
    "reached from here, and run it again"
)

_TRUST_REMEDY = (
    "Java does not trust the certificate it was shown: something between here and Maven has one "
    "of its own. Add that authority to the system's certificates (on Debian and Ubuntu: "
    "/usr/local/share/ca-certificates and update-ca-certificates), and run it again"
)

_JAVA_REMEDY = (
    "Install Java 17 or 21 (on Debian and Ubuntu: apt-get install openjdk-17-jre-headless), "
    "or set JAVA_HOME to where it is"
)


class JarsError(CannotStart):
    """The jars cannot be had."""


@dataclass(frozen=True)
class Jar:
    """One Maven artefact, identified by the SHA-256 of its content."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


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
            *("-types", "jar", "bundle"),  # an OSGi bundle is a jar
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise JarsError(
                f"fetching the jars took longer than {_TIMEOUT} s. {NETWORK_REMEDY}"
            ) from error
        except OSError as error:
            raise JarsError(f"cannot start Java: {error}. {_JAVA_REMEDY}") from error
    if done.returncode != 0:
        last = "\n".join(f"  {line}" for line in done.stdout.strip().splitlines()[-15:])
        distrust = "PKIX path building failed" in done.stdout
        remedy = _TRUST_REMEDY if distrust else NETWORK_REMEDY
        raise JarsError(f"Ivy could not fetch the jars; its last lines:\n{last}\n{remedy}")


def _ivy_module(jars: Sequence[Jar]) -> str:
    """An Ivy module that depends on exactly these jars and on nothing that they depend on."""
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(jar.group)} name={quoteattr(jar.name)}"
        f' rev={quoteattr(jar.version)} conf="default" transitive="false"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n'
        '  <info organisation="openmirror" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n"
        "</ivy-module>\n"
    )


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise JarsError(f"no Java in {where}. {_JAVA_REMEDY}")
    return java


def _ivy() -> Path:
    spec = find_spec("pyspark")  # found, not imported: that would take longer than all the rest
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return jar
    raise JarsError("pyspark with its jars is not installed. Run ./dev setup")


def _repository(mirror: str | None) -> list[str]:
    """The options that give our Ivy settings a mirror's root URL, if there is one."""
    if not mirror:
        return []
    # Ivy puts a path right behind the root.
    root = mirror if mirror.endswith("/") else mirror + "/"
    return ["-Dopenmirror.maven.resolver=mirror", f"-Dopenmirror.maven.root={root}"]


def _proxies(proxies: Mapping[str, str]) -> list[str]:
    """Java's options for the proxies that the environment names: it reads none from there."""
    options = []
    for scheme in ("http", "https"):
        proxy = urlsplit(proxies.get(scheme, ""))
        if proxy.hostname:
            options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            options.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    if without := proxies.get("no"):
        options.append("-Dhttp.nonProxyHosts=" + "|".join(without.replace(" ", "").split(",")))
    return options
