"""The union of progress events: names, severities, log fields, and the page that lists them."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import pytest
from rich.console import Console

from openmirror.cli.reporter import Reporter
from openmirror.plan.decisions import WaitKind
from openmirror.progress import runner, streams, tables
from openmirror.progress.base import Event, MirrorEvent, Severity, TableEvent
from openmirror.progress.context import detail_of, folder_of, log_context, subject_of
from openmirror.progress.runner import (
    LeaseLost,
    MessageDeadLettered,
    PeriodicTask,
    PeriodicTaskFailed,
)
from openmirror.progress.tables import (
    BatchCommitted,
    ControlDocumentInvalid,
    MirrorUnreadable,
    RegistrationFailed,
    TablePaused,
    TableUnreadable,
    TableWaiting,
)
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.control import BatchKind

KINDS: tuple[type[ProgressEvent], ...] = get_args(ProgressEvent)
ORDERS = TableFolder("m", TablePath("Sales", "Orders"))
NOW = datetime(2026, 1, 2, tzinfo=UTC)
WORD = re.compile(r"`([^`]+)`")
PAGE = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text()


def example(kind: type[ProgressEvent]) -> Any:
    """An event of this class, made up from the types of its fields, with a value for each."""
    hints = get_type_hints(kind)
    return kind(**{f.name: value_of(hints[f.name]) for f in fields(kind)})


def value_of(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    plain = getattr(hint, "__supertype__", hint)
    if plain is TableFolder:
        return ORDERS
    if plain is datetime:
        return NOW
    if issubclass(plain, Enum):
        return next(iter(plain))
    return {str: "text", int: 7, float: 1.5, bool: True}[plain]


def test_the_union_has_every_event_class_of_the_package() -> None:
    defined = [value for module in (tables, runner, streams) for value in vars(module).values()]
    events = {kind for kind in defined if isinstance(kind, type) and issubclass(kind, Event)}
    assert set(KINDS) == events - {Event, TableEvent, MirrorEvent}


def test_each_name_is_one_events_and_in_kebab_case() -> None:
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names)
    for kind in KINDS:
        assert kind.name == re.sub(r"(?<!^)([A-Z])", r"-\1", kind.__name__).lower()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_event_is_frozen_and_says_its_severity_and_why(kind: type[ProgressEvent]) -> None:
    assert is_dataclass(kind)
    with pytest.raises(FrozenInstanceError):
        example(kind).reason = "another"
    assert "severity" in vars(kind)
    docstring = " ".join((kind.__doc__ or "").split())
    word = {Severity.WARNING: "Warning"}.get(kind.severity, kind.severity.name.capitalize())
    assert re.search(rf"\b{word}[:.]", docstring), docstring


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_every_event_is_in_its_log_context(kind: type[ProgressEvent]) -> None:
    event = example(kind)
    names = [f.name for f in fields(kind)]
    expected = set(names) - {"folder"}
    if "folder" in names:
        expected |= {"mirror", "landing_folder"}
    context = log_context(event)
    assert set(context) == expected
    assert all(type(value) in (str, int, float, bool) for value in context.values())
    reserved = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "event"}
    assert not reserved & set(context), "the logging module refuses such an extra field"
    assert folder_of(event) == (ORDERS if "folder" in names else None)


def test_the_log_context_has_plain_values_and_leaves_out_what_is_none() -> None:
    event = TableWaiting(ORDERS, WaitKind.GAP, "2 is missing", NOW)
    assert log_context(event) == {
        "mirror": "m",
        "landing_folder": "Sales.schema/Orders",
        "kind": "gap",
        "detail": "2 is missing",
        "until": "2026-01-02T00:00:00+00:00",
    }
    assert subject_of(event) == "m/Sales.schema/Orders"
    assert "until" not in log_context(TableWaiting(ORDERS, WaitKind.GAP, "2 is missing"))
    assert detail_of(MirrorUnreadable("m", "gone")) == {"reason": "gone"}
    assert subject_of(MirrorUnreadable("m", "gone")) == "m"
    task = PeriodicTaskFailed(PeriodicTask.SWEEP, "gone")
    assert (subject_of(task), detail_of(task)) == ("-", {"task": "sweep", "reason": "gone"})


def test_what_nobody_corrects_by_waiting_is_an_error_and_other_failures_are_warnings() -> None:
    by = {kind.name: kind.severity for kind in KINDS}
    assert by[MessageDeadLettered.name] is Severity.ERROR
    assert by[ControlDocumentInvalid.name] is Severity.ERROR
    assert by[RegistrationFailed.name] is by[LeaseLost.name] is Severity.WARNING
    failed = {kind for kind in KINDS if kind.__name__.endswith(("Failed", "Lost", "Unreadable"))}
    assert all(kind.severity >= Severity.WARNING for kind in failed)


def test_operations_lists_every_event_with_its_severity_and_no_other() -> None:
    rows = PAGE.partition("| Event | Severity |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    listed = {name.strip("`"): (severity, WORD.findall(own)) for name, severity, own, _ in cells}
    assert len(listed) == len(rows)
    assert listed == {
        kind.name: (kind.severity.name.lower(), [*detail_of(example(kind))]) for kind in KINDS
    }


# --- On the terminal ----------------------------------------------------------------------------


def lines(*events: ProgressEvent) -> list[str]:
    shown = io.StringIO()
    reporter = Reporter(Console(file=shown, width=200), str, lambda: NOW)
    for event in events:
        reporter(event)
    return [line.partition("  ")[2] for line in shown.getvalue().splitlines()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_event_but_steps_on_the_way_has_a_line(kind: type[ProgressEvent]) -> None:
    shown = lines(example(kind))
    assert len(shown) == (kind.severity > Severity.DEBUG)


def test_a_commit_is_one_line_with_files_rows_and_times() -> None:
    event = BatchCommitted(
        folder=ORDERS,
        kind=BatchKind.REPLACE,
        first=Sequence(1),
        last=Position(3),
        files=3,
        inserts=1200,
        updates=0,
        deletes=4,
        bytes=9,
        duration_seconds=2.0,
        lag_seconds=None,
        wait_seconds=None,
        list_seconds=0.01,
        inspect_seconds=0.04,
        plan_seconds=0.0,
        read_seconds=0.3,
        fold_seconds=0.0,
        commit_seconds=1.62,
        operation_id="x",
    )
    [line] = lines(event)
    assert line.startswith(f"{ORDERS}  files 1-3  whole table  +1,200 -4  ")
    assert line.endswith("  2 s (read 0.3 s, commit 1.6 s)")


def test_what_every_pass_repeats_is_one_line_until_it_changes_or_a_commit_ends_it() -> None:
    gone, busy = TableUnreadable(ORDERS, "gone"), TableUnreadable(ORDERS, "busy")
    assert len(lines(gone, gone, busy, busy, gone)) == 3
    assert len(lines(gone, example(BatchCommitted), gone)) == 3


def test_a_file_that_is_being_written_is_no_line() -> None:
    assert lines(TableWaiting(ORDERS, WaitKind.INCOMPLETE, "it is short")) == []


def test_a_problem_names_its_file_where_it_has_one() -> None:
    pause = TablePaused(ORDERS, Code.FILE_UNREADABLE, "no footer", "7.parquet")
    assert lines(pause) == [f"{ORDERS}  paused by FileUnreadable: 7.parquet: no footer"]
