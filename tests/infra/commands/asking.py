"""The real az, in the venv that `./dev check-infra` makes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.infra.commands.finding import ROOT

VENV = ROOT / ".venv-infra"
_SCRIPT = Path(__file__).parent / "ask_az.py"


class Az:
    """Asks az's own parser; nothing is run."""

    def refusals(self, lines: Sequence[Sequence[str]]) -> list[str | None]:
        """Why az would refuse each of these lines; None for those that it takes."""
        return list(self._ask("parse", lines))

    def commands(self, lines: Sequence[Sequence[str]]) -> list[str | None]:
        """The command that each line begins with, if it is one."""
        return list(self._ask("name", lines))

    def describe(self, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """The options of commands."""
        return dict(self._ask("describe", names))

    def version(self) -> str:
        """The version of azure-cli."""
        return str(self._ask("version", None))

    def _ask(self, what: str, about: object) -> Any:
        done = subprocess.run(
            [VENV / "bin" / "python", "-I", _SCRIPT, what],
            input=json.dumps(about),
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "AZURE_CORE_COLLECT_TELEMETRY": "false"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
