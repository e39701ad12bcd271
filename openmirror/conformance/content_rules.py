"""Rules about what change files hold: markers, keys, columns, types and values."""

from __future__ import annotations

from functools import partial

from openmirror.conformance import tried, zone_checks
from openmirror.conformance.rules import Basis, RuleSeverity, rule
from openmirror.conformance.zone_findings import by_codes, by_tables, of_text
from openmirror.plan.decisions import WaitKind
from openmirror.protocol.rules import Code

_ERROR, _WARNING, _ADVICE = RuleSeverity.ERROR, RuleSeverity.WARNING, RuleSeverity.ADVICE
_rule = partial(rule, Basis.ZONE)

CONTENT_RULES = (
    _rule(
        "markers",
        "5.1",
        _ERROR,
        "Row markers are 0, 1, 2 or 4, in a column of numbers or text.",
        by_codes(tried.MARKERS, Code.ROW_MARKER_INVALID),
        "Write 0 insert, 1 update, 2 delete, 4 upsert in every row.",
    ),
    _rule(
        "markers-need-keys",
        "5.1",
        _ERROR,
        "Updates, deletes and upserts go to tables with keyColumns alone.",
        by_codes(tried.ROWS, Code.KEY_COLUMNS_UNDECLARED),
        "Declare keyColumns.",
    ),
    _rule(
        "key-columns-there",
        "5.1",
        _ERROR,
        "Every file with rows has every key column, typed.",
        by_codes(
            tried.KEYED,
            Code.KEY_COLUMN_MISSING,
            only=lambda found: not zone_checks.is_about_dialect(found),
        ),
        "Write the key columns into every file, with their types.",
    ),
    _rule(
        "whole-rows",
        "12.8",
        _ADVICE,
        "Rows are whole: what a file lacks becomes NULL.",
        by_tables(tried.SEVERAL, zone_checks.partial_rows),
        "Write all columns of the table into every file that is not of deletes alone.",
    ),
    _rule(
        "column-names",
        "6.1",
        _ERROR,
        "No two columns of a file have one name, whatever the case.",
        by_codes(tried.FILES, Code.COLUMNS_DUPLICATE),
        "Give each column a name of its own.",
    ),
    _rule(
        "types-merge",
        "6.3",
        _ERROR,
        "A column's type only grows: integers to wider ones, decimals, dates to timestamps.",
        by_codes(tried.SEVERAL, Code.SCHEMA_MERGE_FAILURE),
        "Keep the type, or delete the folder and make it anew.",
    ),
    _rule(
        "types-supported",
        "6.5",
        _ERROR,
        "Every column has a type that tables can hold.",
        by_codes(tried.PARQUET, Code.COLUMN_TYPE_UNSUPPORTED),
        "Write the column in a type of PROTOCOL §6.5.",
    ),
    _rule(
        "some-typed-column",
        "6.2",
        _ERROR,
        "Some file has a column with a type, or no table can be made.",
        by_codes(tried.ROWS, WaitKind.SCHEMA),
        "Give columns types, also where all values are NULL.",
    ),
    _rule(
        "columns-typed",
        "12.9",
        _ADVICE,
        "Columns have types, also where all their values are NULL.",
        by_tables(tried.PARQUET, zone_checks.untyped_columns),
        "Write the file with the table's schema, not with one that was guessed from its rows.",
    ),
    _rule(
        "values-fit",
        "6.5",
        _ERROR,
        "Parquet values fit their columns' types.",
        of_text(by_codes(tried.PARQUET, Code.VALUE_INVALID), text=False),
        "Correct the value, and replace the file under its name.",
    ),
    _rule(
        "no-nanoseconds",
        "6.5",
        _WARNING,
        "Times are no finer than a microsecond.",
        by_codes(tried.TIMES, Code.FRACTIONS_TRUNCATED),
        "Write timestamps in microseconds.",
    ),
    _rule(
        "no-conversion",
        "12.10",
        _ADVICE,
        "Parquet files have types and encodings that need no conversion.",
        by_tables(tried.PARQUET, zone_checks.converted_files),
        "Write timestamps in microseconds with a zone, times and nested values as text.",
    ),
    _rule(
        "no-index-column",
        "12.10",
        _ADVICE,
        "The index of pandas is not published.",
        by_tables(tried.PARQUET, zone_checks.index_columns),
        "Write with index=False.",
    ),
    _rule(
        "parquet-readable",
        "3.8",
        _ERROR,
        "Parquet files can be read, footer and pages.",
        of_text(by_codes(tried.PARQUET, Code.FILE_UNREADABLE), text=False),
        "Replace the file under its name.",
    ),
    _rule(
        "text-readable",
        "4.6",
        _ERROR,
        "Delimited text is what it is declared as: separators, quotes, encoding, compression.",
        of_text(
            by_codes(
                tried.TEXT,
                Code.FILE_UNREADABLE,
                Code.KEY_COLUMN_MISSING,
                only=lambda found: (
                    found.rule == Code.FILE_UNREADABLE or zone_checks.is_about_dialect(found)
                ),
            ),
            text=True,
        ),
        "Write it as _metadata.json says, or declare how it is written.",
    ),
    _rule(
        "text-values",
        "4.6",
        _ERROR,
        "Values of delimited text fit the types of SchemaDefinition.",
        of_text(by_codes(tried.TEXT, Code.VALUE_INVALID), text=True),
        "Correct the value, or declare another type.",
    ),
    _rule(
        "batches",
        "12.11",
        _ADVICE,
        "Files hold batches of rows, not one row each.",
        by_tables(tried.MANY, zone_checks.small_files),
        "Publish a file every few seconds with all rows since the one before.",
    ),
)
