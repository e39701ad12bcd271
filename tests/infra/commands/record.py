"""`./dev check-infra --record`: writes down what az takes, for the commands that are used here."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.infra.commands.asking import Az
from tests.infra.commands.finding import shown_anywhere
from tests.infra.commands.options import TABLES

TABLE = TABLES / "az_options.json"


def recorded(az: Az) -> dict[str, Any]:
    """The table as az would have it now."""
    lines = [list(shown.words) for shown in shown_anywhere() if shown.program == "az"]
    names = sorted({name for name in az.commands(lines) if name})
    described = az.describe(names)
    common = [
        option
        for option in described[names[0]]
        if all(option in options for options in described.values())
    ]
    return {
        "source": f"azure-cli {az.version()}",
        "everywhere": _by_names(common),
        "commands": {
            name: {"options": _by_names([one for one in options if one not in common])}
            for name, options in described.items()
        },
    }


def _by_names(options: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        " ".join(one["names"]): {
            key: value
            for key, value in one.items()
            if key != "names" and (key, value) not in (("needed", False), ("values", "1"))
        }
        for one in sorted(options, key=lambda one: str(one["names"]))
    }


def text_of(table: dict[str, Any]) -> str:
    """As it lies in the repository: an option a line."""
    text = json.dumps(table, indent=1, sort_keys=True)
    return text + "\n"


if __name__ == "__main__":
    TABLE.write_text(text_of(recorded(Az())))
    sys.stdout.write(f"written: {TABLE}\n")
    subprocess.run(["git", "diff", "--stat", "--", str(TABLE)], check=False)
