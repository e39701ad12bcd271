"""What may become of each table of the cases: exact rows, or a stop of that table alone."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.postgres import postgres_programs

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
AS_TEXT, WITHOUT_COLUMN = "--as-text", "--without-column"
_SENDS_GENERATED = 180000
_PATIENCE = 120.0
"""Seconds that all files may take, of which some sleep for a while."""
_VALUE = (AS_TEXT, WITHOUT_COLUMN)
_ANEW = ("cdc resnapshot",)
_PUBLISHED = (*_ANEW, "ALTER PUBLICATION")
_HARMLESS = (
    "add_nullable",
    "to_text",
    "indexed",
    "checked",
    "defaults",
    "settings",
    "parent",
    "child",
)
"""Tables of `ddl_harmless` that need no new load. `rewritten` may be loaded again, because a
VACUUM FULL leaves the same traces in the catalogue as a statement that changes rows."""


@dataclass(frozen=True)
class Outcome:
    """What counts as right for one table."""

    words: tuple[str, ...] = ()
    """What the reason of a stop, or of a refusal, has to name; empty where neither is right."""
    remedies: tuple[str, ...] = ()
    """The words of a remedy. One of them has to be there."""
    may_be_exact: bool = True
    lands: bool = True
    """Whether a table that does not go on has landed before; otherwise nothing of it lands."""
    left_out: tuple[str, ...] = ()
    """Columns that are left out by name while the table goes on."""
    is_loaded_once: bool = False
    """Whether a new load of the table is wrong, because nothing of it needs one."""


EXACT = Outcome()
ONCE = Outcome(is_loaded_once=True)


def refused(*words: str, remedies: tuple[str, ...] = ()) -> Outcome:
    """Never lands: Delta has no place for its rows, or the log does not say which rows change."""
    return Outcome(words, remedies, may_be_exact=False, lands=False)


def stops(*words: str, remedies: tuple[str, ...] = ()) -> Outcome:
    """Lands, and stops at a change after which it cannot be mirrored."""
    return Outcome(words, remedies, may_be_exact=False)


def may_stop(*words: str, remedies: tuple[str, ...] = (), lands: bool = True) -> Outcome:
    """Exact, or stops."""
    return Outcome(words, remedies, lands=lands)


OUTCOMES: Mapping[tuple[str, str], Outcome] = {
    ("values_added_later", "t28"): stops("x", "regclass", remedies=(WITHOUT_COLUMN,)),
    ("values_arrays", "dims"): refused("v", remedies=_VALUE),
    ("values_dates", "bc"): refused("d", remedies=_VALUE),
    ("values_dates", "endless"): refused("d", remedies=_VALUE),
    ("values_dates", "far"): refused("d", remedies=_VALUE),
    ("values_dates", "one_bad"): refused("d", remedies=_VALUE),
    ("values_numbers", "with_scale"): refused("n", remedies=_VALUE),
    ("values_numbers", "large_scale"): refused("n", remedies=_VALUE),
    ("values_other_types", "reg"): refused("c", "regclass", remedies=(WITHOUT_COLUMN,)),
    ("values_generated", "gen"): Outcome(left_out=("b",)),
    ("values_generated", "gen_first"): Outcome(left_out=("g",)),
    ("values_generated", "gen_key"): refused("b"),
    ("keys_equal_values", "k_array"): may_stop("k", lands=False),
    ("keys_equal_values", "k_date"): may_stop("k", lands=False),
    ("keys_text", "k_enum"): may_stop("k", remedies=_ANEW),
    ("keys_not_finite", "k_scaled"): refused("k"),
    ("keys_not_finite", "not_null"): refused("n", remedies=_VALUE),
    ("names_case_columns", "twice"): refused("Name", "name"),
    ("names_case_columns", "key_twice"): refused("Id", "id"),
    ("names_case_columns", "accents"): refused("É", "é"),
    ("names_case_columns", "later"): stops("v", "V"),
    ("names_columns", "marks"): refused("__rowMarker__"),
    ("names_columns", "marker_case"): refused("__ROWMARKER__"),
    ("names_columns", "marker_key"): refused("__rowMarker__"),
    ("names_columns", "later"): stops("__rowMarker__"),
    ("names_tables", "_x"): refused("_x"),
    ("names_tables", "__x"): refused("__x"),
    ("names_tables", "_delta_log"): refused("_delta_log"),
    ("names_tables", "a/b"): refused("a/b"),
    ("names_tables", ".."): refused(".."),
    ("names_tables", "same"): refused("Same"),
    ("dml_statements", "source"): refused("key"),
    ("dml_toast", "by_index"): refused("REPLICA IDENTITY"),
    ("dml_toast", "key_change"): may_stop("t", remedies=(*_ANEW, "REPLICA IDENTITY FULL")),
    ("ddl_type_back", "dates_back"): may_stop("d", remedies=_ANEW),
    ("ddl_type_back", "numbers_back"): may_stop("n", remedies=_ANEW),
    ("ddl_type_in_transaction", "rows_before"): may_stop("n", remedies=_ANEW),
    ("ddl_type_in_transaction", "rows_after"): may_stop("n", remedies=_ANEW),
    ("ddl_type_in_transaction", "rows_both"): may_stop("n", remedies=_ANEW),
    ("admin_drop_create", "no_key_again"): stops("key"),
    ("admin_drop_create", "bystander"): ONCE,
    ("admin_publication", "dropped"): may_stop("publication", remedies=_PUBLISHED),
    ("admin_publication", "dropped_and_added"): may_stop("publication", remedies=_PUBLISHED),
    ("admin_publication", "filtered"): may_stop("publication", remedies=_PUBLISHED),
    ("admin_publication", "fewer_columns"): may_stop("publication", remedies=_PUBLISHED),
    ("admin_publication", "bystander"): ONCE,
    ("admin_rename", "bystander"): ONCE,
    ("admin_table_swap", "bystander"): ONCE,
    ("ddl_generated", "added"): Outcome(left_out=("g",)),
    **{("ddl_harmless", table): ONCE for table in _HARMLESS},
    ("ddl_harmless", "widen"): Outcome(("n",), _ANEW, is_loaded_once=True),
    ("ddl_key_change", "removed"): stops("key"),
    ("ddl_key_change", "appears"): may_stop("key", lands=False),
    ("ddl_key_change", "bystander"): ONCE,
    ("ddl_type_no_room", "bystander"): ONCE,
    ("ddl_type_rewrite", "untouched"): ONCE,
    ("harm_deferrable_key", "deferrable_key"): refused("DEFERRABLE"),
    ("harm_deferrable_key", "deferred_key"): refused("DEFERRABLE"),
    ("harm_deferrable_key", "deferred_full"): may_stop("DEFERRABLE", lands=False),
    ("harm_deferrable_key", "no_key"): refused("key"),
    ("harm_deferrable_key", "unique_only"): refused("key"),
    ("harm_foreign", "foreign_table"): refused("foreign"),
    ("harm_foreign", "split"): refused("partitioned"),
    ("harm_foreign", "split_near"): refused("harm_foreign.split"),
    ("harm_foreign", "split_far"): refused("harm_foreign.split"),
    ("harm_identity", "nothing"): refused("REPLICA IDENTITY"),
    ("harm_identity", "full_no_key"): refused("key"),
    ("harm_identity", "by_index"): refused("REPLICA IDENTITY"),
    ("harm_identity", "by_index_zero"): refused("REPLICA IDENTITY"),
    ("harm_identity", "by_two"): refused("REPLICA IDENTITY"),
    ("harm_identity", "by_index_no_key"): refused("key"),
    ("harm_identity", "changes"): may_stop("REPLICA IDENTITY", remedies=_ANEW),
    ("harm_inheritance", "child_no_key"): refused("key"),
    ("harm_not_logged", "unlogged_table"): refused("unlogged"),
    ("harm_not_logged", "becomes_logged"): may_stop("unlogged", lands=False),
    ("harm_partitions", "sales"): refused("partitioned"),
    ("harm_partitions", "sales_2023"): refused("harm_partitions.sales"),
    ("harm_partitions", "sales_2024"): refused("harm_partitions.sales"),
    ("harm_partitions", "sales_2025"): refused("harm_partitions.sales"),
    ("harm_partitions", "ready"): stops("harm_partitions.sales"),
    ("harm_partitions", "deep"): refused("partitioned"),
    ("harm_partitions", "deep_eu"): refused("harm_partitions.deep"),
    ("harm_partitions", "deep_eu_0"): refused("harm_partitions.deep"),
    ("harm_partitions", "deep_eu_1"): refused("harm_partitions.deep"),
    ("harm_partitions", "no_key"): refused("partitioned"),
    ("mig_add_notnull", "users"): ONCE,
    ("mig_archive", "orders"): ONCE,
    ("mig_archive", "order_lines"): ONCE,
    ("mig_archive", "orders_archive"): ONCE,
    ("mig_archive", "orders_2025"): refused("key"),
    ("mig_online_swap", "bystander"): ONCE,
    ("mig_split_column", "users"): ONCE,
    ("mig_table_rebuild", "stock"): ONCE,
}
"""Every other table has to be exact."""


def outcome_of(schema: str, table: str, version: int) -> Outcome:
    """Return what counts as right for a table; `version` is the server's `server_version_num`."""
    if schema in ("values_generated", "ddl_generated") and version >= _SENDS_GENERATED:
        return EXACT
    return OUTCOMES.get((schema, table), EXACT)


def run_files(url: DatabaseUrl, name: str, cases: Iterable[str] = CASES) -> None:
    """Run one file of each case by psql; fail with its messages where one of them fails."""
    _run(url, [FOLDER / case / name for case in cases])


def run_sql(url: DatabaseUrl, texts: Iterable[str]) -> None:
    """Run statements by psql, like files; each text begins with settings of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate(texts):
            files.append(Path(folder) / f"{number}.sql")
            files[-1].write_text(text)
        _run(url, files)


def _run(url: DatabaseUrl, files: Iterable[Path]) -> None:
    """Run files by psql; fail with its messages where one of them fails.

    The files have COPY with its data, and statements between transactions: psql reads both.
    """
    # Each file begins with settings of its own.
    between = [word for file in files for word in (f"--file={file}", "--command=DISCARD ALL")]
    done = subprocess.run(
        [postgres_programs() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *between],
        env={
            "PGHOST": url.host,
            "PGPORT": str(url.port),
            "PGUSER": url.user,
            "PGPASSWORD": url.password or "",
            "PGDATABASE": url.database,
            "PGCLIENTENCODING": "UTF8",
        },
        check=False,
        capture_output=True,
        text=True,
        # A statement of the source that waits for the stream is harm to the source.
        timeout=_PATIENCE,
    )
    assert done.returncode == 0, done.stderr
