"""The command line: `openmirror VERB`."""

from __future__ import annotations


def main() -> None:
    """What the `openmirror` command runs."""
    from openmirror.cli.app import app

    app(prog_name="openmirror")
