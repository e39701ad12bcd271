"""`python -m tests.integration.run_on_paper ARGS`: the runner's process without Spark.

Its engine keeps the books and no rows. All else is as `python -m spark_jobs.run` has it: arguments,
wiring, signals, lines and exit code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from unittest.mock import patch

from openmirror.ports import TableEngine
from openmirror.settings import Settings
from openmirror.wiring import root_ports
from spark_jobs.run import main
from tests.harness.paper import PaperEngine


@contextmanager
def paper_engine(
    settings: Settings, env: Mapping[str, str], *rest: object
) -> Iterator[TableEngine]:
    """In the place of `root_engine`."""
    yield PaperEngine(root_ports(settings).store)


if __name__ == "__main__":
    with patch.object(import_module("openmirror.wiring.runner"), "root_engine", paper_engine):
        main()
