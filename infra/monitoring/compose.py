"""`./dev workbook`: the workbook's template and queries, composed into infra/bicep/workbook.json.

    python -m infra.monitoring.compose [--check]

`--check` writes nothing and fails when the file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TEMPLATE = HERE / "workbook.template.json"
WORKBOOK = HERE.parent / "bicep" / "workbook.json"
_QUERY = "@queries/"


class QueryMissing(Exception):
    """The template names a query that has no file, or a query is named nowhere."""


def compose(template: Path = TEMPLATE) -> str:
    """The workbook as Azure reads it; the same text for the same files."""
    queries = {path.name: path for path in sorted((template.parent / "queries").glob("*.kql"))}
    used: set[str] = set()

    def filled(value: Any) -> Any:
        match value:
            case dict():
                return {name: filled(inner) for name, inner in value.items()}
            case list():
                return [filled(inner) for inner in value]
            case str() if value.startswith(_QUERY):
                name = value.removeprefix(_QUERY)
                if name not in queries:
                    raise QueryMissing(
                        f"{template.name} names {value}, and there is no such file in "
                        f"{template.parent / 'queries'}: write it, or correct the name"
                    )
                used.add(name)
                return queries[name].read_text(encoding="utf-8").strip()
        return value

    workbook = filled(json.loads(template.read_text(encoding="utf-8")))
    if unused := queries.keys() - used:
        raise QueryMissing(
            f"{template.name} uses no {', '.join(sorted(unused))}: use it, or delete the file"
        )
    return json.dumps(workbook, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the workbook, or say whether it is up to date."""
    parser = argparse.ArgumentParser(prog="./dev workbook", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    check = parser.parse_args(arguments).check
    try:
        text = compose()
    except QueryMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    if not check:
        WORKBOOK.write_text(text, encoding="utf-8")
        return 0
    if WORKBOOK.exists() and WORKBOOK.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{WORKBOOK} is not what its template and queries say: run ./dev workbook\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
