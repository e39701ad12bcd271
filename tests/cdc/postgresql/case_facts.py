"""What may become of each table of the cases: exact rows, or a stop of that table alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.postgres import postgres_programs

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
AS_TEXT, WITHOUT_COLUMN = "--as-text", "--without-column"
_SENDS_GENERATED = 180000
_VALUE = (AS_TEXT, WITHOUT_COLUMN)
_ANEW = ("cdc resnapshot",)


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


EXACT = Outcome()


def refused(*words: str, remedies: tuple[str, ...] = ()) -> Outcome:
    """Never lands; exact rows would be wrong, because Delta has no place for them."""
    return Outcome(words, remedies, may_be_exact=False, lands=False)


def stops(*words: str, remedies: tuple[str, ...] = ()) -> Outcome:
    """Lands, and stops at a change that has no place in Delta."""
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
}
"""Every other table has to be exact."""


def outcome_of(schema: str, table: str, version: int) -> Outcome:
    """Return what counts as right for a table; `version` is the server's `server_version_num`."""
    if schema == "values_generated" and version >= _SENDS_GENERATED:
        return EXACT
    return OUTCOMES.get((schema, table), EXACT)


def run_files(url: DatabaseUrl, name: str, cases: Iterable[str] = CASES) -> None:
    """Run one file of each case by psql; fail with its messages where one of them fails.

    The files have COPY with its data, and statements between transactions: psql reads both.
    """
    words = [f"--file={FOLDER / case / name}" for case in cases]
    # Each file begins with settings of its own.
    between = [word for file in words for word in (file, "--command=DISCARD ALL")]
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
    )
    assert done.returncode == 0, done.stderr
