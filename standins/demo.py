"""`./dev demo --azure`: the demo through endpoint, queues, functions and runner."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from openmirror.cli.console import progress_console, say_error
from openmirror.demo.run import EXIT_FAILED, run_demo
from openmirror.demo.scope import FAST, FULL
from openmirror.errors import OpenmirrorError
from standins.azure_form import LikeOnAzure
from standins.azurite import NotInstalled
from standins.functions_host import IndexingFailed


def main() -> int:
    """The demo's exit code."""
    parser = argparse.ArgumentParser(prog="./dev demo --azure", allow_abbrev=False)
    parser.add_argument("--azure", action="store_true", help="This form of the demo.")
    parser.add_argument("--fast", action="store_true", help="A minute's worth of it.")
    parser.add_argument("--root", type=Path, help="Where to make it; default: a new folder.")
    given = parser.parse_args()
    root = given.root or Path(tempfile.mkdtemp(prefix="openmirror-demo-"))
    scope = FAST if given.fast else FULL
    try:
        return run_demo(root, scope, progress_console(), LikeOnAzure())
    except (OpenmirrorError, NotInstalled, IndexingFailed) as error:
        say_error(str(error))
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
