"""Write the vectors anew: `python -m tests.vectors.build [FOLDER]`.

What a case is stands in `catalogue/`; this only turns it into files, the same ones each time.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.vectors import stream_words
from tests.vectors.catalogue import (
    columns,
    extensions,
    histories,
    lineage,
    metadata,
    naming,
    policy,
    rows,
    schema,
    sequence,
    soft_deletes,
    stream_rules,
    stream_types,
    tables,
    text,
    version_columns,
    zone,
)
from tests.vectors.catalogue.words import (
    Asked,
    Deleted,
    Event,
    Item,
    Renamed,
    Settings,
    Vector,
)

HERE = Path(__file__).parent
STREAMS = [*stream_rules.CASES, *stream_types.CASES]
CASES: list[Vector] = [
    case
    for module in (
        zone,
        tables,
        sequence,
        naming,
        metadata,
        text,
        rows,
        version_columns,
        extensions,
        histories,
        soft_deletes,
        lineage,
        schema,
        columns,
        policy,
    )
    for case in module.CASES
]


def build(target: Path) -> None:
    """Replace every case below the target."""
    for old in {path.parent.parent for path in target.glob("*/*/case.json")}:
        shutil.rmtree(old)
    for case in CASES:
        _write(target / case.name, case)
    shutil.rmtree(target / stream_words.FOLDER, ignore_errors=True)
    stream_words.write(target, STREAMS)


def _write(folder: Path, case: Vector) -> None:
    folder.mkdir(parents=True)  # a name that is used twice stops here
    first, *others = case.expected
    document = {
        "title": case.title,
        "protocol": list(case.protocol),
        "expected": first,
        **({"others": others} if others else {}),
        **({"names": case.names} if case.names else {}),
    }
    (folder / "case.json").write_text(_shown(document), encoding="utf-8")
    if case.settings is not None:
        (folder / "mirroring.json").write_text(_shown(case.settings), encoding="utf-8")
    if len(case.steps) == 1:
        _write_step(folder, case.steps[0])
    else:
        for number, events in enumerate(case.steps, start=1):
            _write_step(folder / "steps" / str(number), events)


def _write_step(folder: Path, events: Iterable[Event]) -> None:
    renamed = {e.path: e.to for e in events if isinstance(e, Renamed)}
    deleted = [e.path for e in events if isinstance(e, Deleted)]
    modified = {e.path: e.modified for e in events if isinstance(e, Item) and e.modified}
    asked = [_asked(e) for e in events if isinstance(e, Asked)]
    happens = {"renamed": renamed, "deleted": deleted, "modified": modified, "asked": asked}
    document = {key: value for key, value in happens.items() if value}
    _publish(folder / "landing", events)
    if document or not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "step.json").write_text(_shown(document), encoding="utf-8")
    for settings in (e for e in events if isinstance(e, Settings)):
        (folder / "mirroring.json").write_text(_shown(settings.document), encoding="utf-8")


def _asked(event: Asked) -> dict[str, object]:
    of = {"file": event.file, "through": event.through}
    given = {key: value for key, value in of.items() if value is not None}
    return {"verb": event.verb, "folder": event.folder, **given}


def _publish(landing: Path, events: Iterable[Event]) -> None:
    for item in (e for e in events if isinstance(e, Item)):
        path = landing / item.path
        assert not path.exists(), f"{path} is written twice"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(item.data)


def _shown(document: object) -> str:
    """JSON with a row a line, so that a difference shows in a review."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    for line in _lists(document):
        spread = json.dumps(line, indent=2, ensure_ascii=False).splitlines()
        for indent in range(2, 12, 2):
            old = ("\n" + " " * indent).join(spread)
            text = text.replace(old, json.dumps(line, ensure_ascii=False))
    return text + "\n"


def _lists(value: object) -> Iterable[list[object]]:
    """Every list of plain values."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _lists(item)
    elif isinstance(value, list):
        if value and not any(isinstance(item, (list, dict)) for item in value):
            yield value
        for item in value:
            yield from _lists(item)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
