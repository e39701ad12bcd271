"""Show one generated file and how it is read: `python -m tests.text.show "generated(1, 733)"`."""

from __future__ import annotations

import ast
import json
import sys

from tests.text.files import generated
from tests.text.reading import Read, read


def main(name: str) -> None:
    seed, number = ast.literal_eval(name.removeprefix("generated"))
    file = generated(seed, number)
    found = read(file)
    out = [json.dumps(file.document, ensure_ascii=False), str(file.dialect), repr(file.decoded)]
    out += [f"drawn {row}" for row in file.values]
    out += [f"read  {row}" for row in found.rows] if isinstance(found, Read) else [str(found)]
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
