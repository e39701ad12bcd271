"""All cases in one database, followed from their first rows to the remedies of what stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.protocol.names import TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from standins.postgres import PostgresServer, connected
from tests.cdc.postgresql.case_facts import AS_TEXT, WITHOUT_COLUMN, outcome_of, run_files
from tests.cdc.postgresql.driven import DrivenStream, make_marks, with_remedy
from tests.cdc.postgresql.selected import Source
from tests.zone import MIRROR

_MOST_ROUNDS = 4
"""More than one table has columns that are refused one after another."""
_COLUMN = {
    option: re.compile(rf"{option} ('[^']+'|\S*[^\s.,;:`)])")
    for option in (AS_TEXT, WITHOUT_COLUMN)
}

Problems = Mapping[str, list[str]]
"""What is wrong with tables, by case; a case without problems has an empty list."""


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
        settings = StreamSettings(url=url, stream="cases")
        stream = DrivenStream(LocalStore(root), zone, settings)
        with stream.open():
            stream.catch_up(connection)
            run_files(url, "after.sql", cases)
            stream.catch_up(connection)
        source = Source(connection)
        first = _problems(stream, source, cases)
        with stream.open():
            stream.catch_up(connection)
        again = _problems(stream, source, cases)
        for _ in range(_MOST_ROUNDS):
            if (wanted := _with_remedies(stream)) == stream.settings:
                break
            with stream.open(wanted):
                stream.catch_up(connection)
        remedied = _remedied(stream, source, cases)
        yield CaseRun(cases, first, again, remedied, stream, source, root)


def _problems(stream: DrivenStream, source: Source, cases: Sequence[str]) -> Problems:
    reasons = stream.reasons()
    return {
        case: [
            f"{table}: {problem}"
            for table in source.tables(case)
            for problem in _of_table(stream, source, TablePath(case, table), reasons)
        ]
        for case in cases
    }


def _of_table(
    stream: DrivenStream, source: Source, path: TablePath, reasons: Mapping[str, str]
) -> list[str]:
    title = f"{path.schema}.{path.table}"
    outcome, reason = outcome_of(path.schema, path.table, source.version), reasons.get(title)
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
    return found + stream.problems(
        path, source.select(path.schema, path.table, without=outcome.left_out)
    )


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
    for case, title in ((title.partition(".")[0], title) for title in sorted(chosen)):
        path = TablePath(case, title.removeprefix(f"{case}."))
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
