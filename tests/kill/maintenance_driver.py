"""A runner at maintenance, to be killed: `python -m tests.kill.maintenance_driver ROOT TABLE...`.

All tables that are worth a step begin it at the same moment; a file in the root shows it.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import NoReturn

from openmirror import wiring
from openmirror.plan.maintenance_steps import Nothing
from openmirror.ports import Step
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.reconcile.maintaining import maintain_table, survey
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from tests.kill.driver import SURVIVED
from tests.zone import MIRROR

BEGUN = "begun"
_PATIENCE = 120.0


def _is_worth_a_step(ports: RootPorts, folder: TableFolder) -> bool:
    found = survey(ports, observe(ports, folder).observed)
    return found is not None and not isinstance(found.step, Nothing)


def main(root: Path, names: list[str]) -> NoReturn:
    settings = Settings.load(os.environ, {"root": root})
    asked = wiring.local_ports(settings)
    tables = [TableFolder(MIRROR, TablePath.parse(name)) for name in names]
    folders = [folder for folder in tables if _is_worth_a_step(asked, folder)]
    together = threading.Barrier(len(folders))

    def steps(step: Step) -> None:
        if step is Step.MAINTAINING:
            together.wait(_PATIENCE)
            (root / BEGUN).touch()

    ports = wiring.local_ports(settings, steps=steps)
    with wiring.locked(settings), wiring.local_engine(settings) as engine:
        threads = [
            threading.Thread(target=maintain_table, args=(ports, engine, folder))
            for folder in folders
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sys.exit(SURVIVED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
