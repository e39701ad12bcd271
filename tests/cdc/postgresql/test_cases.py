"""Cases of types, keys, names, statements and migrations, all in one database and in one run.

Each table is exact in the end, or it stops alone, by column, reason and remedy. Each remedy is then
followed word for word.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from openmirror.cdc.postgresql.settings import columns_of
from openmirror.protocol.names import TablePath
from standins.postgres import postgres_server
from standins.postgres_versions import VERSIONS, programs_of
from tests.cdc.postgresql.case_facts import CASES, outcome_of
from tests.cdc.postgresql.case_run import CaseRun, case_run
from tests.cdc.postgresql.selected import canonical_rows, differences
from tests.zone import Mirror, Zone, read_delta

_NOT_FOR_DELTA_RS = frozenset({"a%41", "a\\b"})
"""Tables in whose folders delta-rs finds no file; Spark reads them."""
_SETTINGS = {"max_prepared_transactions": "10"}
_NOT_IN = {
    # MERGE, numeric(5,-2), and a publication's row filters and column lists
    "14": {"dml_statements", "values_numbers", "admin_publication"},
    "18": {"dml_statements"},  # whose COPY needs a psql of version 18
}
"""Cases that cannot run on a version."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaseRun]:
    root = tmp_path_factory.mktemp("cases")
    with postgres_server(_SETTINGS) as server, case_run(server, root, CASES) as found:
        yield found


@pytest.mark.parametrize("case", CASES)
def test_each_table_is_exact_or_stops_alone(run: CaseRun, case: str) -> None:
    assert not run.first[case], "\n".join(run.first[case])


@pytest.mark.parametrize("case", CASES)
def test_another_start_changes_nothing(run: CaseRun, case: str) -> None:
    assert not run.again[case], "\n".join(run.again[case])


@pytest.mark.parametrize("case", CASES)
def test_the_remedy_of_each_stop_works(run: CaseRun, case: str) -> None:
    assert not run.remedied[case], "\n".join(run.remedied[case])


@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, version: str
) -> None:
    cases = [case for case in CASES if case not in _NOT_IN.get(version, ())]
    root = tmp_path_factory.mktemp("cases")
    with (
        postgres_server(_SETTINGS, programs_of(version)) as server,
        case_run(server, root, cases) as run,
    ):
        wrong = [
            f"{case}: {problem}"
            for problems in (run.first, run.again, run.remedied)
            for case in cases
            for problem in problems[case]
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_delta_tables_have_what_the_source_has(run: CaseRun, spark: SparkSession) -> None:
    mirror = Mirror(Zone(run.root), spark)
    mirror.reconcile_all()
    reasons, settings, found = run.stream.reasons(), run.stream.settings, []
    for case in run.cases:
        for table in run.source.tables(case):
            title, path = table.title, TablePath(table.schema, table.name)
            if title in reasons or table.root is not None:
                continue
            left_out = outcome_of(table.schema, table.name, run.source.version).left_out
            selected = run.source.select(
                *(table.schema, table.name),
                as_text=columns_of(settings.as_text, title),
                without=[*left_out, *columns_of(settings.without_columns, title)],
            )
            if not selected.rows and not run.stream.landed_files(path):
                continue
            zoneless = {c.name.lower() for c in selected.columns if c.arrow == "timestamp[us]"}
            rows = [
                {name.lower(): value for name, value in row.items()}
                for row in _delta_rows(mirror, path)
            ]
            for row in rows:
                for name in zoneless & row.keys():
                    row[name] = _without_zone(row[name])
            problems = differences(selected.rows, canonical_rows(selected.columns, rows))
            found += [f"{title}: {problem}" for problem in problems]
    assert not found, "\n".join(found)


def _without_zone(value: object) -> object:
    """Return a value of a timestamp that has no zone in the source, and is UTC in Delta."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _delta_rows(mirror: Mirror, path: TablePath) -> list[dict[str, object]]:
    place = mirror.delta_path(str(path))
    if path.table not in _NOT_FOR_DELTA_RS:
        return read_delta(place)
    table: pa.Table = mirror.spark.read.format("delta").load(str(place)).toArrow()
    return table.to_pylist()
