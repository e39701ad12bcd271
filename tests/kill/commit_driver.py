"""A runner of one table, to be killed amid a commit: `python -m tests.kill.commit_driver ROOT KEY`.

It is wired as the command line does it, and notes in a file of the root which commits it does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from openmirror import wiring
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import reconcile
from openmirror.settings import Settings
from tests.kill.commit_forms import noted
from tests.kill.driver import SURVIVED
from tests.zone import MIRROR, MOST_RECONCILIATIONS

FORMS = "forms"


def main(root: Path, key: str) -> NoReturn:
    settings = Settings.load(os.environ, {"root": root})
    ports, folder = wiring.local_ports(settings), TableFolder.of_key(MIRROR, key)

    def note(form: str) -> None:
        with (root / FORMS).open("a") as file:
            file.write(f"{form}\n")

    with wiring.locked(settings), wiring.local_engine(settings) as engine, noted(note):
        for _ in range(MOST_RECONCILIATIONS):
            done = reconcile(ports, engine, folder)
            if not done.reschedule:
                sys.stdout.write(f"{done.decision}\n")  # a test that fails shows it
                break
    sys.exit(SURVIVED)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
