"""`openmirror cdc resnapshot`: what it writes, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import LogSource, StreamDocument, StreamIdentity
from openmirror.table.layout import landing_zone

ORDERS = TablePath("public", "orders")
SPACED = TablePath("public", "my orders")
DATABASE: Any = {"system": "7", "database": 5, "timeline": 1, "publication": 9}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document of a stream that has landed two tables."""
    path = tmp_path / landing_zone("shop") / "_streams" / "shop.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(stream(LogSource(**DATABASE, tables={1: ORDERS, 2: SPACED})))
    return path


def stream(log: LogSource | None) -> bytes:
    identity = StreamIdentity("0" * 32)
    return StreamDocument(identity=identity, tables=frozenset({ORDERS, SPACED}), log=log).as_json()


def resnapshot(root: Path, *words: str) -> Result:
    command = ["cdc", "resnapshot", *words, "--mirror", "shop", "--root", str(root)]
    return CliRunner().invoke(app, command)


def test_a_new_snapshot_is_asked_for_once(document: Path, tmp_path: Path) -> None:
    first = resnapshot(tmp_path, "public.orders")
    assert (first.exit_code, "is asked for" in first.output) == (0, True), first.output
    (one,) = StreamDocument.from_json(document.read_bytes()).resnapshots.values()
    again = resnapshot(tmp_path, "public.orders")
    assert (again.exit_code, "was asked for already" in again.output) == (0, True)
    assert StreamDocument.from_json(document.read_bytes()).resnapshots == {ORDERS: one}


def test_a_table_that_is_not_there_is_named_with_those_that_are(
    document: Path, tmp_path: Path
) -> None:
    shown = resnapshot(tmp_path, "public.nothing")
    assert shown.exit_code != 0
    assert "public.nothing" in shown.output
    assert "public.orders" in shown.output


def test_a_table_may_have_any_name(document: Path, tmp_path: Path) -> None:
    shown = resnapshot(tmp_path, "public.my orders")
    assert shown.exit_code == 0, shown.output
    assert list(StreamDocument.from_json(document.read_bytes()).resnapshots) == [SPACED]


def test_a_stream_of_a_topic_is_asked_of_its_own_connector(document: Path, tmp_path: Path) -> None:
    document.write_bytes(stream(None))
    shown = resnapshot(tmp_path, "public.orders")
    assert shown.exit_code != 0
    assert "BLOCKING" in shown.output
    assert not StreamDocument.from_json(document.read_bytes()).resnapshots


def test_a_stream_that_is_not_there_is_named(document: Path, tmp_path: Path) -> None:
    shown = resnapshot(tmp_path, "public.orders", "--stream", "other")
    assert shown.exit_code != 0
    assert "there is no stream other" in " ".join(shown.output.split())


def test_the_only_mirror_of_a_root_needs_no_name(document: Path, tmp_path: Path) -> None:
    command = ["cdc", "resnapshot", "public.orders", "--root", str(tmp_path)]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert list(StreamDocument.from_json(document.read_bytes()).resnapshots) == [ORDERS]
    (tmp_path / landing_zone("other")).mkdir(parents=True)
    second = CliRunner().invoke(app, command)
    assert second.exit_code != 0
    assert "other, shop" in " ".join(second.output.split())
