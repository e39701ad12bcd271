"""`openmirror readers`: who reads a table as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from openmirror.cli.console import result_console
from openmirror.cli.options import Json, Mirrors, OneTable, RootOption, settings_for

if TYPE_CHECKING:
    from openmirror.status.readers import ReadersOf, ReaderVerdict


def readers(
    table: OneTable, root: RootOption = None, mirror: Mirrors = None, as_json: Json = False
) -> None:
    """Say which readers read a table as it is, and what of it shuts out the others.

    By the table's own protocol and properties, and by what is known of each reader: what was
    tested, with which version, and what its documentation says. Needs no Spark.

    \b
    Example:
      openmirror readers sales/dbo.orders
    """
    from openmirror import wiring
    from openmirror.cli.tables import Names, choose_mirrors, find_table
    from openmirror.operate.readers import readers_of_table

    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    folder = find_table(ports.store, choose_mirrors(ports.store, mirror, settings.root), table)
    found = readers_of_table(ports, folder)
    if as_json:
        typer.echo(json.dumps(readers_json(found), indent=1, ensure_ascii=False))
        return
    for line in reader_lines(found, Names(ports.store)(folder)):
        result_console().print(line, soft_wrap=True, markup=False, highlight=False)


def reader_lines(found: ReadersOf, name: str) -> Iterator[str]:
    """For people: what the table asks of readers, then each reader."""
    from openmirror.status.readers import Reads

    protocol = found.protocol
    asked = ", ".join(sorted(protocol.reader_features)) or "nothing"
    versions = f"{protocol.reader_version}/{protocol.writer_version}"
    yield f"{name} has protocol {versions} and asks of readers: {asked}"
    titles = {
        Reads.YES: "read it",
        Reads.NO: "refuse it, or read it wrongly",
        Reads.UNKNOWN: "may refuse it: nothing is known of them and these features",
    }
    for reads, title in titles.items():
        verdicts = [verdict for verdict in found.verdicts if verdict.reads is reads]
        if verdicts:
            yield f"{title}:"
            yield from (f"  {_line(verdict)}" for verdict in verdicts)
    for feature in found.unknown:
        yield (
            f"warning: {feature} is a table feature that is not known here; it was not turned on "
            "by openmirror. Whoever did should know which readers read it"
        )
    if found.has_feed:
        able = [v.reader.name for v in found.verdicts if v.reader.feed is Reads.YES]
        yield f"its change data feed is read by: {', '.join(able)}"


def _line(verdict: ReaderVerdict) -> str:
    reader = verdict.reader
    how = f"{reader.known}: {reader.source}" if reader.source else reader.known.value
    because = f": {', '.join(verdict.because)}" if verdict.because else ""
    return f"{reader.name} {reader.version} ({how}){because}"


def readers_json(found: ReadersOf) -> dict[str, object]:
    """The same, for programs."""
    return {
        "readerVersion": found.protocol.reader_version,
        "writerVersion": found.protocol.writer_version,
        "readerFeatures": sorted(found.protocol.reader_features),
        "writerFeatures": sorted(found.protocol.writer_features),
        "unknownFeatures": list(found.unknown),
        "changeDataFeed": found.has_feed,
        "data": [
            {
                "reader": verdict.reader.name,
                "version": verdict.reader.version,
                "reads": verdict.reads.value,
                "because": list(verdict.because),
                "readsFeed": verdict.reader.feed.value,
                "known": verdict.reader.known.value,
                "source": verdict.reader.source or None,
            }
            for verdict in found.verdicts
        ],
    }
