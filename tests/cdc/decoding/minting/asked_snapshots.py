"""Rows of snapshots that were asked for while changes are streamed, as both connectors place them.

python -m tests.cdc.decoding.minting.asked_snapshots sqlserver PLUGIN_FOLDER
python -m tests.cdc.decoding.minting.asked_snapshots oracle PLUGIN_FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minting import oracle, sqlserver
from tests.cdc.decoding.minting.mint import (
    Event,
    Mint,
    MintedColumn,
    compiled,
    java,
    start_jvm,
)
from tests.cdc.decoding.recorded import FOLDER, written


def _sqlserver(name: str) -> list[Event]:
    column = MintedColumn(name="id", type="int", jdbc=4, length=10, scale=0, optional=False)
    mint, places = sqlserver.minted(name, "asked", (column,), ("id",))
    return [
        *_asked(mint, places.change("758:0005", "758:0003", 1)),
        mint.event("c", places.change("760:0006", "760:0002", 1), None, [6]),
    ]


def _oracle(name: str) -> list[Event]:
    column = MintedColumn(name="ID", type="NUMBER", jdbc=2, length=9, scale=0, optional=False)
    mint, places = oracle.minted(name, "ASKED", (column,), ("ID",))
    return [
        *_asked(mint, places.change("2589460", "0500060004040000", 7)),
        mint.event("c", places.change("2589470", "0500060005040000", 1), None, ["6"]),
    ]


def _asked(mint: Mint, context: Any) -> list[Event]:
    """A change; then snapshots by the context that it has left behind, which is the connectors'."""
    number = java("java.math.BigDecimal")
    marks = java("io.debezium.connector.SnapshotRecord")
    events = [mint.event("c", context, None, ["1"] if _is_oracle(context) else [1])]
    context.preSnapshotStart(True)
    for value, mark in ((2, marks.FIRST), (3, marks.TRUE), (4, marks.LAST)):
        context.markSnapshotRecord(mark)
        events.append(mint.event("r", context, None, [number(str(value))]))
    context.preSnapshotCompletion()
    context.postSnapshotCompletion()
    context.incrementalSnapshotEvents()
    events.append(mint.event("r", context, None, [number("5")]))
    context.postSnapshotCompletion()
    return events


def _is_oracle(context: Any) -> bool:
    return "Oracle" in str(context.getClass().getName())


_CLASSES: Mapping[str, tuple[str, Callable[[str], list[Event]]]] = {
    "sqlserver": ("NoServer.java", _sqlserver),
    "oracle": ("NoDatabase.java", _oracle),
}


def main(connector: str, plugin: Path) -> None:
    """Write the file of one connector."""
    source, records = _CLASSES[connector]
    with compiled(plugin, source) as classes:
        start_jvm(plugin, classes)
        name = f"{connector}_asked_snapshots"
        (FOLDER / f"{name}.json").write_text(written(records(name)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
