"""Days that pass for a table between two runs of its runner, in the time of a second.

Nothing is deleted from a table before it was dead for a day: retention is counted in days. So while
no runner is there, all that says when something happened to a table is dated back: the actions of
its log and of its checkpoints, the times of its files, and what its control document knows of its
maintenance. To whoever comes next the runner was away for so long.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_TIMES = {"timestamp", "deletionTimestamp", "modificationTime"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def age(table: Path, control: Path, by: timedelta) -> None:
    """Date a table back that nobody works on. Its rows and its versions are as before."""
    times = {file: file.stat().st_mtime for file in table.rglob("*") if file.is_file()}
    log = table / "_delta_log"
    _forget_copies(log)
    millis = int(by.total_seconds() * 1000)
    for commit in log.glob("[0-9]*.json"):
        _rewrite(commit, lambda path: _aged_commit(path, millis))
    for checkpoint in log.glob("[0-9]*.checkpoint*.parquet"):
        _rewrite(checkpoint, lambda path: _aged_checkpoint(path, millis))
    for file, then in times.items():
        if file.exists():
            os.utime(file, (then - by.total_seconds(),) * 2)
    if control.exists():
        document = json.loads(control.read_text())
        document["maintenance"] = _earlier(document.get("maintenance"), by)
        control.write_text(json.dumps(document))


def set_property(table: Path, key: str, value: str) -> None:
    """Set a property of a table that nobody works on, and whose log has every commit."""
    log = table / "_delta_log"
    commits = sorted(log.glob("[0-9]*.json"))
    actions = [json.loads(line) for one in commits for line in one.read_text().splitlines()]
    metadata = [action["metaData"] for action in actions if "metaData" in action][-1]
    metadata["configuration"][key] = value
    info = {"timestamp": time.time_ns() // 1_000_000, "operation": "SET TBLPROPERTIES"}
    lines = ({"commitInfo": info | {"operationParameters": {}}}, {"metaData": metadata})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (log / f"{len(commits):020d}.json").write_text(text)


def _forget_copies(log: Path) -> None:
    """Checksums of Delta's and of the file system's, and the hint at the newest checkpoint: they
    would contradict what is dated back, and nobody needs them."""
    for pattern in ("*.crc", ".*.crc", "_last_checkpoint"):
        for file in log.glob(pattern):
            file.unlink()


def _rewrite(file: Path, change: Callable[[Path], bytes]) -> None:
    content = change(file)
    file.write_bytes(content)


def _aged_commit(file: Path, millis: int) -> bytes:
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    for action in actions:
        for fields in action.values():
            for name in _TIMES & fields.keys():
                fields[name] -= millis
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def _aged_checkpoint(file: Path, millis: int) -> bytes:
    table = pq.read_table(file)
    for number, name in enumerate(table.column_names):
        if name in ("add", "remove"):
            table = table.set_column(number, name, _aged(table[name].combine_chunks(), millis))
    written = pa.BufferOutputStream()
    pq.write_table(table, written)
    return bytes(written.getvalue())


def _aged(structs: pa.StructArray, millis: int) -> pa.StructArray:
    fields = list(structs.type)
    columns: Iterable[pa.Array] = (
        pc.subtract(column, millis) if one.name in _TIMES else column
        for one, column in zip(fields, map(structs.field, range(len(fields))), strict=True)
    )
    return pa.StructArray.from_arrays(list(columns), fields=fields, mask=structs.is_null())


def _earlier(value: Any, by: timedelta) -> Any:
    """A JSON value with every moment in it so much earlier."""
    if isinstance(value, dict):
        return {name: _earlier(one, by) for name, one in value.items()}
    if isinstance(value, str) and _MOMENT.match(value):
        return (datetime.fromisoformat(value) - by).isoformat()
    return value
