"""`python -m release`: builds what is deployed into `dist`, and says what came of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from release.archive import contents, write_folder, write_zip
from release.coldstart import measure
from release.contents import app_files
from release.refusals import Refused, refuse_untracked, uncommitted
from release.requirements import listed_for, vendored
from release.wheel import made_wheel

ROOT = Path(__file__).parents[1]
APP_PYTHON = "3.13"
"""What infra/bicep gives the app unless its parameter `pythonVersion` says otherwise."""

REQUIREMENTS = "requirements.txt"

_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def package(
    out: Annotated[Path, typer.Option(help="The folder to build into.")] = ROOT / "dist",
    vendor: Annotated[
        bool,
        typer.Option(
            "--vendor",
            help="Put the app's requirements into its package, for networks where Azure's own "
            "build cannot reach a package index.",
        ),
    ] = False,
    python: Annotated[
        str,
        typer.Option(
            envvar="OPENMIRROR_PYTHON_VERSION",
            help="The Python that the app runs on, as the parameter pythonVersion names it.",
        ),
    ] = APP_PYTHON,
    runs: Annotated[
        int, typer.Option(min=0, help="Fresh processes that the cold import is measured in.")
    ] = 5,
) -> None:
    """Build the package of the Function App and the wheel for Spark, from one version number.

    \b
      openmirror-functions-VERSION.zip       what `az functionapp deployment source
                                             config-zip --src` takes
      functions/                             the same as a folder, which `azd` deploys
      openmirror-VERSION-py3-none-any.whl    for Databricks, Synapse or any other Spark

    The version stands in openmirror/__init__.py and nowhere else. Packages of another version
    are taken out of the folder, so what lies there belongs together.

    Without --vendor the same files give the same bytes, whoever builds them and wherever: compare
    the sha256 that is printed with somebody else's. (A Python with another zlib may compress
    otherwise.) With --vendor what the requirements need themselves, which nothing fixes, comes in
    the version that is newest that day: build once, and deploy that everywhere.

    By default the app's requirements are not in its package: Azure installs what its
    requirements.txt pins when it is deployed with `--build-remote true`, and a build by another
    Python than --python fails. In a private network without a way to a package index give --vendor:
    such a package has no requirements.txt, and goes to the app by `openmirror azure publish`.
    """
    try:
        _package(out.absolute(), vendor, python, runs)
    except Refused as error:
        sys.stderr.write(f"package: {error}\n")
        raise typer.Exit(1) from error


def _package(out: Path, vendor: bool, python: str, runs: int) -> None:
    names = app_files(ROOT)
    wheel = made_wheel(ROOT)
    packed = [*names, *wheel.sources]
    refuse_untracked(ROOT, packed)
    version = _version()
    app = contents(ROOT, names)
    listed = listed_for(ROOT / REQUIREMENTS, ROOT / "constraints.txt", python)
    if python != APP_PYTHON:
        app[REQUIREMENTS] = listed.encode()
    if vendor:
        _say(f"fetching the app's requirements for Python {python} on Linux")
        # With the list in it, whoever publishes it would build.
        del app[REQUIREMENTS]
        app |= vendored(listed, python)

    out.mkdir(parents=True, exist_ok=True)
    made = (write_zip(out / f"openmirror-functions-{version}.zip", app), wheel.write(out))
    write_folder(out / "functions", app)
    for stale in (*out.glob("openmirror-functions-*.zip"), *out.glob("openmirror-*.whl")):
        if stale not in [one.path for one in made]:
            stale.unlink()

    for one in made:
        _say(f"{one.path}\n  {one.size:,} bytes, {one.files} files, sha256 {one.sha256}")
    _say(f"{out / 'functions'}\n  the app's package as a folder")
    if changed := uncommitted(ROOT, packed):
        _say(f"with changes that are not committed: {', '.join(changed)}")
    if runs:
        started = measure(out / "functions", ROOT, runs)
        _say(
            f"cold import of the app with its {started.functions} functions: "
            f"{started.seconds:.2f} s, the median of {started.runs} fresh processes, "
            f"{started.machine}"
        )


def _version() -> str:
    [found] = _VERSION.findall((ROOT / "openmirror" / "__init__.py").read_text(encoding="utf-8"))
    return str(found)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


command = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
command.command()(package)

if __name__ == "__main__":
    command()
