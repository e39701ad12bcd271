"""`python -m tests.integration.run_on_paper ARGS`: the runner's process without Spark.

Its engine keeps the books and no rows. All else is as `python -m spark_jobs.run` has it: arguments,
wiring, signals, lines and exit code.
"""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from unittest.mock import patch

from openmirror.ports import TableEngine
from openmirror.settings import Settings
from openmirror.wiring import root_ports
from spark_jobs.run import main
from tests.harness.paper import PaperEngine


def no_spark(*what: object) -> nullcontext[None]:
    """In the place of `root_spark`."""
    return nullcontext()


def paper_engine(settings: Settings, *rest: object) -> TableEngine:
    """In the place of `engine_of_root`."""
    return PaperEngine(root_ports(settings).store)


if __name__ == "__main__":
    with patch.multiple(
        import_module("openmirror.wiring.runner"),
        root_spark=no_spark,
        engine_of_root=paper_engine,
    ):
        main()
