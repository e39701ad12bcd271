"""`python -m release.vectors`: the protocol's vectors as one archive, for any implementation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from release.archive import contents, write_zip
from release.refusals import Refused, refuse_untracked, uncommitted

ROOT = Path(__file__).parents[1]
VECTORS = "tests/vectors"
ALONG = ("README.md", "case.schema.json", "step.schema.json", "stream.schema.json", "run.py")
"""What goes along with the cases."""
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def vector_files(root: Path) -> list[str]:
    """Every file of the archive, from the checkout's root on."""
    here = root / VECTORS
    documents = (*here.glob("*/*/case.json"), *here.glob("*/*/stream.json"))
    cases = (path.parent for path in documents)
    inside = (path for case in cases for path in case.rglob("*") if path.is_file())
    return sorted(
        path.relative_to(root).as_posix() for path in (*inside, *(here / name for name in ALONG))
    )


def pack_vectors(
    out: Annotated[Path, typer.Option(help="The folder to build into.")] = ROOT / "dist",
) -> None:
    """Pack the protocol's vectors: cases, their JSON Schema, a README and a runner.

    \b
      openmirror-vectors-VERSION.zip

    The same files give the same bytes. Another implementation unpacks it and runs
    `python run.py MODULE:CLASS`; the README says what the class must do.
    """
    try:
        _pack(out.absolute())
    except Refused as error:
        sys.stderr.write(f"vectors: {error}\n")
        raise typer.Exit(1) from error


def _pack(out: Path) -> None:
    names = vector_files(ROOT)
    refuse_untracked(ROOT, names)
    [version] = _VERSION.findall((ROOT / "openmirror" / "__init__.py").read_text(encoding="utf-8"))
    packed = contents(ROOT, names)
    top = f"openmirror-vectors-{version}"
    files = {f"{top}/{name.removeprefix(VECTORS + '/')}": data for name, data in packed.items()}
    files[f"{top}/VERSION"] = f"{version}\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    made = write_zip(out / f"{top}.zip", files)
    for stale in out.glob("openmirror-vectors-*.zip"):
        if stale != made.path:
            stale.unlink()
    sys.stdout.write(
        f"{made.path}\n  {made.size:,} bytes, {made.files} files, sha256 {made.sha256}\n"
    )
    if changed := uncommitted(ROOT, names):
        sys.stdout.write(f"with changes that are not committed: {len(changed)} files\n")


command = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
command.command()(pack_vectors)

if __name__ == "__main__":
    command()
