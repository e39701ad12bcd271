"""`python -m bench text`: how fast delimited text becomes Parquet parts, dialect by dialect."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from statistics import median
from typing import Annotated
from unittest.mock import patch

import typer
from rich.console import Console
from rich.table import Table

from bench.measuring import load, machine
from openmirror.formats.conversion import FileConverter
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.formats.text import pieces
from openmirror.plan.facts import LandedFile
from openmirror.plan.read_rules import ReadRules
from openmirror.ports import Converted, Entry
from openmirror.protocol.sequence import Sequence
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, conversion

_DISTINCT = 5000
"""Rows that are drawn; a file is many times these."""
_PATH = StorePath("landing/m/Files/LandingZone/T/00000000000000000001.csv")
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_COLUMNS = (
    *(("id", TextType.INT64), ("name", TextType.STRING), ("email", TextType.STRING)),
    *(("amount", TextType.DOUBLE), ("day", TextType.DATE), ("at", TextType.DATE_TIME)),
    *(("active", TextType.BOOLEAN), ("n", TextType.INT32), ("note", TextType.STRING)),
    ("city", TextType.STRING),
)


@dataclass(frozen=True)
class _Written:
    """A dialect, and how a value is written in it."""

    text: TextFormat
    cell: Callable[[str], str]
    line_end: str = "\r\n"
    columns: tuple[tuple[str, TextType], ...] = _COLUMNS


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _escaped(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WIDE = tuple(
    (f"c{number}", (TextType.INT32, TextType.DOUBLE, TextType.STRING, TextType.DATE)[number % 4])
    for number in range(200)
)
_DIALECTS = {
    "plain": _Written(TextFormat(), str),
    "quoted everywhere": _Written(TextFormat(), _quoted),
    "quoted, with escapes": _Written(TextFormat(), _escaped),
    "NULL tokens, tabs": _Written(TextFormat(separator="\t", null="\\N"), str, "\n"),
    "wide, 200 columns": _Written(TextFormat(), str, "\n", _WIDE),
    "UTF-16": _Written(TextFormat(encoding="utf-16"), str),
    "another separator (¦)": _Written(TextFormat(separator="¦"), str),
}


@dataclass(frozen=True)
class Speed:
    """Of one dialect, in MB of its file a second of one core."""

    dialect: str
    grammar_first: float
    """The own grammar reads each row before it is cut."""
    converted: float
    """As it is."""


def text(
    megabytes: Annotated[int, typer.Option(min=1, help="Of each file.")] = 30,
    runs: Annotated[int, typer.Option(min=1, help="Of each; medians count.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Convert delimited text to Parquet parts in memory, as the driver does before Spark reads it.

    In processor seconds, so that other programs do not count. Beside it stands the same with every
    row read by the own grammar first, as are all rows that are not proven without it; both take
    turns.
    """
    loads = [load()]
    found = [_measure(name, written, megabytes, runs) for name, written in _DIALECTS.items()]
    loads.append(load())
    if as_json:
        speeds = [asdict(speed) for speed in found]
        typer.echo(json.dumps({"machine": machine(), "load": loads, "speeds": speeds}))
        return
    table = Table("MB/s a core", title=f"files of {megabytes} MB, medians of {runs} runs", box=None)
    for heading in ("grammar first", "converted", "ratio"):
        table.add_column(heading, justify="right")
    for speed in found:
        ratio = f"{speed.converted / speed.grammar_first:.2f} x"
        table.add_row(speed.dialect, f"{speed.grammar_first:.0f}", f"{speed.converted:.0f}", ratio)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"load average before and after: {loads[0]:.1f}, {loads[1]:.1f}")


def _measure(name: str, written: _Written, megabytes: int, runs: int) -> Speed:
    content = _file(written, megabytes * 1_000_000)
    columns = tuple(TextColumn(column, kind) for column, kind in written.columns)
    rules = ReadRules(text=replace(written.text, columns=columns))
    store = MemoryStore(lambda: _AT)
    etag = store.write(_PATH, content)
    entry = Entry(_PATH.rpartition("/")[2], False, len(content), _AT, etag)
    facts = ChangeFileInspector(store).inspect(_PATH, entry, rules.text)
    file = LandedFile(
        sequence=Sequence(1),
        name=entry.name,
        path=_PATH,
        etag=etag,
        size=len(content),
        modified=_AT,
        facts=facts,
    )
    first: list[float] = []
    as_it_is: list[float] = []
    for run in range(runs + 1):
        with patch.object(pieces, "cut_at_once", lambda *_: None):
            first.append(_seconds(store, file, rules))
        as_it_is.append(_seconds(store, file, rules))
        if not run:  # the first warms up
            first.clear()
            as_it_is.clear()
    size = len(content) / 1_000_000
    return Speed(name, size / median(first), size / median(as_it_is))


def _seconds(store: MemoryStore, file: LandedFile, rules: ReadRules) -> float:
    into = conversion("m", "r")
    converter = FileConverter(store)
    before = time.process_time()
    done = converter.convert(file, rules, into)
    taken = time.process_time() - before
    converter.discard(into)
    if not isinstance(done, Converted):
        raise typer.Exit(1)
    return taken


def _file(written: _Written, size: int) -> bytes:
    """A file of about this size."""
    draw = random.Random(1)
    names = [*(name for name, _ in written.columns), "__rowMarker__"]
    separator, encoding = written.text.separator, written.text.encoding
    lines = [
        separator.join([*(_cell(kind, written, draw) for _, kind in written.columns), "4"])
        for _ in range(_DISTINCT)
    ]
    block = written.line_end.join([*lines, ""])
    times = max(1, size // len(block.encode(encoding)))
    text = separator.join(names) + written.line_end + block * times
    return text.encode(encoding)


def _cell(kind: TextType, written: _Written, draw: random.Random) -> str:
    if kind in (TextType.STRING, TextType.DOUBLE) and draw.random() < 0.1:
        return written.text.null
    return written.cell(_VALUES[kind](draw))


_WORDS = ("Oslo", "Rome", "user{n}@example.com", 'a "longer" note of {n} words', "name {n}")
_VALUES: dict[TextType, Callable[[random.Random], str]] = {
    TextType.INT64: lambda draw: str(draw.randrange(1 << 40)),
    TextType.INT32: lambda draw: str(draw.randint(-(10**6), 10**6)),
    TextType.DOUBLE: lambda draw: f"{draw.uniform(0, 1e5):.2f}",
    TextType.BOOLEAN: lambda draw: draw.choice(("true", "false")),
    TextType.DATE: lambda draw: f"2026-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
    TextType.DATE_TIME: lambda draw: (
        f"2026-06-17 14:{draw.randint(10, 59)}:07.{draw.randrange(10**6):06}"
    ),
    TextType.STRING: lambda draw: draw.choice(_WORDS).format(n=draw.randrange(10**6)),
}
