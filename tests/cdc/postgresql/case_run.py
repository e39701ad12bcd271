"""All cases in one database, followed from their first rows to the remedies of what stopped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from openmirror.cdc.postgresql.reload_limits import ReloadLimits
from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.errors import CannotStart
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected
from tests.cdc.postgresql.case_facts import AS_TEXT, WITHOUT_COLUMN, outcome_of, run_files
from tests.cdc.postgresql.driven import DrivenStream, make_marks, with_remedy
from tests.cdc.postgresql.selected import Source, SourceTable
from tests.zone import MIRROR

_MOST_ROUNDS = 4
"""More than one table has columns that are refused one after another."""
_COLUMN = {
    option: re.compile(rf"{option} ('[^']+'|\S*[^\s.,;:`)])")
    for option in (AS_TEXT, WITHOUT_COLUMN)
}
_STATEMENT = "ALTER PUBLICATION "
"""The remedy of a start that is refused begins so."""
_NOTICED_WITHIN = 60.0
"""Seconds within which a change of the catalogue has to be noticed, and mended or named."""

Problems = Mapping[str, list[str]]
"""What is wrong with tables, by case; a case without problems has an empty list."""


@dataclass(frozen=True)
class TableBefore:
    """A table before its case changes anything."""

    load: str | None
    """The number of its newest load."""
    columns: frozenset[str]


Before = Mapping[TablePath, TableBefore]


@dataclass(frozen=True)
class CaseRun:
    """What was found after each part of the run."""

    cases: Sequence[str]
    first: Problems
    again: Problems
    """After another start."""
    remedied: Problems
    """Where tables went on by the remedies of their stops."""
    stream: DrivenStream
    source: Source
    root: Path


@contextmanager
def case_run(server: PostgresServer, root: Path, cases: Sequence[str]) -> Iterator[CaseRun]:
    """Run cases in a database of their own, which is there for the block."""
    zone = landing_zone(MIRROR)
    (root / zone).mkdir(parents=True)
    with server.database("cases") as url, connected(url) as connection:
        make_marks(connection)
        run_files(url, "before.sql", cases)
        settings = StreamSettings(
            url=url, stream="cases", reloads=ReloadLimits(a_day=1000, at_once=8)
        )
        stream = DrivenStream(LocalStore(root), zone, settings)
        with stream.open():
            stream.catch_up(connection)
            before = _before(stream, Source(connection), cases)
            run_files(url, "after.sql", cases)
            ends = time.monotonic() + _NOTICED_WITHIN
            stream.catch_up(connection)
            # The types that after.sql made are known from here on.
            source = Source(connection)
            first = _problems(stream, source, cases, before)
            while any(first.values()) and time.monotonic() < ends:
                stream.catch_up(connection)
                first = _problems(stream, source, cases, before)
        refused = _start_again(stream, connection, settings)
        again = _problems(stream, source, cases, before)
        for case in cases:
            if f"{case}." in refused:
                again[case].append(f"another start was refused: {refused}")
        for _ in range(_MOST_ROUNDS):
            if (wanted := _with_remedies(stream)) == stream.settings:
                break
            _start_again(stream, connection, wanted)
        remedied = _remedied(stream, source, cases)
        yield CaseRun(cases, first, again, remedied, stream, source, root)


def _start_again(
    stream: DrivenStream, connection: psycopg.Connection, settings: StreamSettings
) -> str:
    """Open the stream and let it catch up; follow the remedy of a start that is refused.

    Returns:
        Why the start was refused, without its remedy; empty where it was not.
    """
    refused = ""
    try:
        with stream.open(settings):
            stream.catch_up(connection)
    except CannotStart as error:
        refused, _, tables = str(error).partition(_STATEMENT)
        if not tables:
            raise
        connection.execute(f"{_STATEMENT}{tables}".encode())
        with stream.open(settings):
            stream.catch_up(connection)
    return refused


def _before(stream: DrivenStream, source: Source, cases: Sequence[str]) -> Before:
    paths = [TablePath(one.schema, one.name) for case in cases for one in source.tables(case)]
    return {
        path: TableBefore(stream.newest_load(path), source.columns(path.schema, path.table))
        for path in paths
    }


def _problems(
    stream: DrivenStream, source: Source, cases: Sequence[str], before: Before
) -> Problems:
    """Compare every table that the database has. A table that is gone may keep its last rows."""
    reasons = stream.reasons()
    return {
        case: [
            f"{table.name if table.schema == case else table.title}: {problem}"
            for table in source.tables(case)
            for problem in _of_table(stream, source, table, reasons, before)
        ]
        for case in cases
    }


def _of_table(
    stream: DrivenStream,
    source: Source,
    table: SourceTable,
    reasons: Mapping[str, str],
    before: Before,
) -> list[str]:
    title, path = table.title, TablePath(table.schema, table.name)
    outcome, reason = outcome_of(path.schema, path.table, source.version), reason_of(table, reasons)
    if reason is not None:
        found = [
            f"does not name {word}: {reason}" for word in outcome.words if not _has(reason, word)
        ]
        if not outcome.words:
            found.append(f"stopped: {reason}")
        if outcome.remedies and not any(one in reason for one in outcome.remedies):
            found.append(f"has none of the remedies {outcome.remedies}: {reason}")
        if not outcome.lands and stream.landed_files(path):
            found.append("has rows of a load that is not whole")
        return found
    if not outcome.may_be_exact:
        return ["has neither stopped, nor is it left out by name"]
    unnamed = [name for name in outcome.left_out if f"{title}.{name}" not in reasons]
    found = [f"does not name the column {name}, which is left out" for name in unnamed]
    if outcome.is_loaded_once and stream.newest_load(path) != before[path].load:
        found.append("was loaded again, though nothing of it needed that")
    had = before[path].columns if path in before else frozenset()
    return found + stream.problems(
        path,
        source.select(path.schema, path.table, without=outcome.left_out),
        gone=had - source.columns(path.schema, path.table),
    )


def reason_of(table: SourceTable, reasons: Mapping[str, str]) -> str | None:
    """Return why a table is not mirrored.

    A partition may be named by the reason of the partitioned table at the top.
    """
    reason, of_root = reasons.get(table.title), reasons.get(table.root or "")
    if reason is None and of_root is not None and _has(of_root, table.title):
        return f"{table.root}: {of_root}"
    return reason


def _has(reason: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", reason) is not None


def _with_remedies(stream: DrivenStream) -> StreamSettings:
    """Return the settings that the stops ask for, the first option of each."""
    found: dict[str, set[str]] = {AS_TEXT: set(), WITHOUT_COLUMN: set()}
    for reason in stream.reasons().values():
        for option, pattern in _COLUMN.items():
            if match := pattern.search(reason):
                found[option].add(match[1].strip("'"))
                break
    return with_remedy(stream.settings, found[AS_TEXT], found[WITHOUT_COLUMN])


def _remedied(stream: DrivenStream, source: Source, cases: Sequence[str]) -> Problems:
    """Compare the tables of which a column is text now, or left out."""
    reasons, settings = stream.reasons(), stream.settings
    found: dict[str, list[str]] = {case: [] for case in cases}
    chosen = {name.rpartition(".")[0] for name in (*settings.as_text, *settings.without_columns)}
    for schema, title in ((title.partition(".")[0], title) for title in sorted(chosen)):
        case, path = schema.partition("__")[0], TablePath(schema, title.removeprefix(f"{schema}."))
        if title in reasons:
            found[case].append(f"{title} still does not go on: {reasons[title]}")
            continue
        selected = source.select(
            path.schema,
            path.table,
            as_text=columns_of(settings.as_text, title),
            without=columns_of(settings.without_columns, title),
        )
        found[case] += [f"{title}: {one}" for one in stream.problems(path, selected)]
    return found
