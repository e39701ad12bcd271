"""The wheel for Spark: made by the project's own backend, packed anew so that nothing varies."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from release.archive import EPOCH, Artifact, write_zip
from release.refusals import Refused

_BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"

LEFT_OUT = ("openmirror/emulator/onelake/",)
"""What must not be where things are deployed: a stand-in for Entra ID gives tokens to anybody."""


@dataclass(frozen=True)
class Wheel:
    """A wheel that is not written yet."""

    name: str
    files: dict[str, bytes]

    @property
    def sources(self) -> list[str]:
        """What it holds of the checkout."""
        return [name for name in self.files if not _describes(name)]

    def write(self, folder: Path) -> Artifact:
        """Write it in the order that the format recommends: what describes it comes last."""
        return write_zip(
            folder / self.name, self.files, lambda name: (_describes(name), "RECORD" in name, name)
        )


def made_wheel(root: Path) -> Wheel:
    """Have it made from a checkout; raises Refused with the backend's own words."""
    with tempfile.TemporaryDirectory() as built:
        done = subprocess.run(
            [sys.executable, "-c", _BUILD, built],
            cwd=root,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Refused(f"the wheel could not be built:\n{done.stderr.strip()}")
        [made] = Path(built).glob("*.whl")
        with zipfile.ZipFile(made) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
    return Wheel(made.name, _without(files, *LEFT_OUT))


def _without(files: dict[str, bytes], *folders: str) -> dict[str, bytes]:
    """The wheel's files but those below these folders; its list of files is shortened as well."""
    kept = {name: content for name, content in files.items() if not name.startswith(folders)}
    [record] = [name for name in kept if name.endswith(".dist-info/RECORD")]
    lines = kept[record].decode().splitlines(keepends=True)
    kept[record] = "".join(line for line in lines if not line.startswith(folders)).encode()
    return kept


def _describes(name: str) -> bool:
    return name.partition("/")[0].endswith(".dist-info")
