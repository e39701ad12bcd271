"""Files as the product reads them: what the inspector finds in one, and then its rows."""

from __future__ import annotations

import io
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.formats.text.rows import read_text
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.text_format import TextFormat
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.text.files import TextFile

_PATH = StorePath("landing/m/Files/LandingZone/T/00000000000000000001.txt")


@dataclass(frozen=True)
class Read:
    """What came of a file."""

    facts: FileFacts
    names: list[str]
    rows: list[dict[str, Any]]
    """Without the row marker."""
    markers: list[str] | None


def exact(value: Any) -> str:
    """A value by its words: NaN is NaN, -0.0 is not 0.0, True is not 1, UTC is UTC."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    return repr(value)


class _Trickle(io.RawIOBase):
    """A stream of a few bytes at a time, so that everything is cut somewhere."""

    def __init__(self, data: bytes, draw: random.Random) -> None:
        self._rest = io.BytesIO(data)
        self._draw = draw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._rest.read(min(len(buffer), self._draw.choice((1, 2, 3, 7, 64))))
        buffer[: len(part)] = part
        return len(part)


def text_format(file: TextFile) -> TextFormat:
    """The dialect as the product understands its `_metadata.json`."""
    metadata = parse_metadata(json.dumps(file.document).encode())
    assert isinstance(metadata, TableMetadata), metadata
    assert metadata.text is not None
    return metadata.text


def inspected(content: bytes, text: TextFormat) -> FileFacts:
    """What the event filter and the plan see of a file."""
    store = MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    store.write(_PATH, content)
    folder, _, _ = _PATH.rpartition("/")
    entry = store.list_folder(StorePath(folder)).entries[0]
    return ChangeFileInspector(store).inspect(_PATH, entry, text)


def read(file: TextFile, *, slowly: bool = False) -> Read | Broken:
    """Inspect and read it; a third of the files come a few bytes at a time, or all."""
    text = text_format(file)
    facts = inspected(file.content, text)
    if facts.completeness is not Completeness.COMPLETE:
        return Broken(Code.FILE_UNREADABLE, facts.reason)
    if facts.broken:
        return facts.broken
    draw = random.Random(file.name)
    slow = (slowly or draw.random() < 0.33) and len(file.content) < 20_000
    content: Any = _Trickle(file.content, draw) if slow else io.BytesIO(file.content)
    try:
        rules = ReadRules(text=text)
        batches = [one.batch for one in read_text(content, rules, facts.schema, facts.marker)]
    except RowsBroken as found:
        return found.broken
    rows = [row for batch in batches for row in batch.to_pylist()]
    names = batches[0].schema.names if batches else [column.name for column in file.columns]
    markers = [row.pop(facts.marker) for row in rows] if facts.marker else None
    return Read(facts, names, rows, markers)
