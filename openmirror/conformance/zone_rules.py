"""Rules that are assessed by what lies in a landing zone.

What is wrong there is found by the plan's own rules (`operate/validate.py`); here stands which of
its codes belongs to which rule, and what must lie there for the rule to have been tried at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from openmirror.conformance import tried, zone_checks
from openmirror.conformance.evidence import Evidence, TableContents
from openmirror.conformance.rules import Basis, Breach, ConformanceRule, RuleSeverity, Untried
from openmirror.conformance.tried import TriedBy
from openmirror.operate.validate import FolderFinding
from openmirror.plan.decisions import WaitKind
from openmirror.protocol.rules import Code

_Assess = Callable[[Evidence], Iterable[Breach] | Untried]
_ERROR, _WARNING, _ADVICE = RuleSeverity.ERROR, RuleSeverity.WARNING, RuleSeverity.ADVICE


def _codes(
    by: TriedBy, *codes: str, only: Callable[[FolderFinding], bool] | None = None
) -> _Assess:
    """Breaches are the findings of a folder with these codes."""

    def assess(evidence: Evidence) -> Iterable[Breach] | Untried:
        found = [
            Breach(
                what=finding.detail,
                place=evidence.place(zone, table, finding.file),
                remedy=finding.remedy,
            )
            for zone, table in evidence.tables
            for finding in table.findings
            if finding.rule in codes and (only is None or only(finding))
        ]
        return found or by.missing(evidence) or ()

    return assess


def _tables(
    by: TriedBy, found: Callable[[TableContents], Iterable[tuple[str | None, str]]]
) -> _Assess:
    """Breaches come as a file, or None for the table folder, with what is wrong there."""

    def assess(evidence: Evidence) -> Iterable[Breach] | Untried:
        return by.missing(evidence) or [
            Breach(what=what, place=evidence.place(zone, table, name))
            for zone, table in evidence.tables
            for name, what in found(table)
        ]

    return assess


def _text_alone(assess: _Assess, *, text: bool) -> _Assess:
    """The same, of the tables of delimited text alone, or of the others."""

    def assess_those(evidence: Evidence) -> Iterable[Breach] | Untried:
        zones = tuple(
            replace(zone, tables=tuple(one for one in zone.tables if one.is_text == text))
            for zone in evidence.zones
        )
        return assess(replace(evidence, zones=zones))

    return assess_those


def _rule(
    id: str, section: str, severity: RuleSeverity, says: str, assess: _Assess, remedy: str
) -> ConformanceRule:
    return ConformanceRule(
        id=id,
        section=section,
        says=says,
        severity=severity,
        basis=Basis.ZONE,
        remedy=remedy,
        assess=assess,
    )


ZONE_RULES = (
    _rule(
        "tables-in-zone",
        "2.1",
        _ERROR,
        "Everything lies in a table folder, directly in the landing zone or in a NAME.schema.",
        zone_checks.misplaced,
        "Move it into its table folder.",
    ),
    _rule(
        "table-names",
        "2.2",
        _ERROR,
        "A table folder's name has at most 250 bytes of valid UTF-8.",
        zone_checks.names_refused,
        "Give the folder another name.",
    ),
    _rule(
        "one-folder-a-table",
        "2.2",
        _ERROR,
        "No two folders map to one table, by case or by the default schema.",
        zone_checks.colliding,
        "Send all of a table's files into one folder.",
    ),
    _rule(
        "file-names",
        "3",
        _ERROR,
        "Change files are called by 20 digits and the extension, or as _metadata.json declares.",
        _codes(tried.FILES, Code.FILE_NEVER_READ),
        "Rename it to the next number with the table's extension.",
    ),
    _rule(
        "other-names",
        "3",
        _WARNING,
        "What is no change file has a name that begins with _.",
        _codes(tried.TABLES, Code.FILE_NAME_INVALID),
        "Delete it, or give it a name that begins with _.",
    ),
    _rule(
        "file-is-no-folder",
        "3",
        _ERROR,
        "What has a change file's name is a file.",
        _codes(tried.FILES, Code.NOT_A_FILE),
        "Publish one file under the name; Spark writes folders.",
    ),
    _rule(
        "one-file-a-number",
        "3",
        _ERROR,
        "No two files have one number.",
        _codes(tried.FILES, Code.SEQUENCE_TWICE),
        "Delete one of them.",
    ),
    _rule(
        "begins-with-1",
        "3.1",
        _ERROR,
        "The first change file has the number 1.",
        _codes(tried.FILES, WaitKind.GAP, only=zone_checks.is_about_one),
        "Count from 1 in every new folder.",
    ),
    _rule(
        "no-gaps",
        "3.4",
        _ERROR,
        "No number is missing before one that is there.",
        _codes(tried.FILES, WaitKind.GAP, only=lambda found: not zone_checks.is_about_one(found)),
        "Publish the missing number; a Parquet file without rows gives one up.",
    ),
    _rule(
        "no-empty-promises",
        "3.8",
        _ERROR,
        "No file is left empty to keep its number.",
        _codes(
            tried.FILES,
            WaitKind.INCOMPLETE,
            Code.FILE_INCOMPLETE,
            only=zone_checks.is_empty,
        ),
        "Take a number when its file is finished; a Parquet file without rows gives one up.",
    ),
    _rule(
        "files-whole",
        "3.8",
        _ERROR,
        "Files are whole: Parquet has its footer, text its header and the end of its compression.",
        _codes(
            tried.FILES,
            WaitKind.INCOMPLETE,
            Code.FILE_INCOMPLETE,
            only=lambda found: not zone_checks.is_empty(found),
        ),
        "Upload it whole, under the same name.",
    ),
    _rule(
        "number-used-once",
        "8.2",
        _ERROR,
        "A number that was archived is never published again.",
        _codes(tried.ARCHIVED, Code.SEQUENCE_REUSED),
        "To start over, delete the folder and make it anew.",
    ),
    _rule(
        "applied-untouched",
        "8.3",
        _ERROR,
        "A file that was applied keeps its content.",
        _codes(
            tried.ARCHIVED, Code.APPLIED_FILE_CHANGED, Code.FILE_REWRITTEN, Code.OVERWRITE_IGNORED
        ),
        "Send changes as further files.",
    ),
    _rule(
        "times",
        "3.8",
        _WARNING,
        "No file's time lies ahead of the store's clock.",
        _codes(tried.FILES, Code.FILE_TIME_AHEAD),
        "Set the clock of the machine that publishes.",
    ),
    _rule(
        "metadata-there",
        "4.4",
        _WARNING,
        "Each table folder has a _metadata.json that is not empty.",
        zone_checks.metadata_missing,
        "Write _metadata.json with keyColumns before the first change file.",
    ),
    _rule(
        "metadata-valid",
        "4.2",
        _ERROR,
        "_metadata.json can be read, and its values are allowed.",
        _codes(tried.METADATA, Code.METADATA_INVALID),
        "Write valid JSON with the values of PROTOCOL §4.2.",
    ),
    _rule(
        "metadata-strict",
        "4.1",
        _WARNING,
        "_metadata.json is JSON as every reader takes it.",
        _codes(tried.METADATA, Code.METADATA_REPAIRED),
        "Write it with a JSON library.",
    ),
    _rule(
        "metadata-spelt",
        "4.2",
        _WARNING,
        "Keys of _metadata.json are spelt as the protocol has them.",
        _codes(tried.METADATA, Code.METADATA_KEY_UNKNOWN),
        "Correct the key.",
    ),
    _rule(
        "format-declared",
        "4.3",
        _WARNING,
        "A table of delimited text declares its format.",
        _codes(tried.TEXT, Code.FILE_FORMAT_ASSUMED),
        "Write FileFormat into _metadata.json.",
    ),
    _rule(
        "one-format",
        "4.3",
        _ERROR,
        "No table has both formats without saying which one counts.",
        _codes(tried.FILES, Code.FILE_FORMAT_UNDECLARED),
        "Write FileFormat into _metadata.json, and remove the files of the other format.",
    ),
    _rule(
        "keys-unchanged",
        "4.4",
        _ERROR,
        "keyColumns stay as they were when rows were first matched by them.",
        _codes(tried.ARCHIVED, Code.KEY_COLUMNS_CHANGED),
        "Delete the folder and make it anew with other keys.",
    ),
    _rule(
        "options-unchanged",
        "4.4",
        _ERROR,
        "Options that the first batch froze stay as they were.",
        _codes(tried.ARCHIVED, Code.PINNED_OPTION_CHANGED),
        "Delete the folder and make it anew with other options.",
    ),
    _rule(
        "partner-events",
        "4.5",
        _ADVICE,
        "_partnerEvents.json lies at the root of the landing zone and names the partner.",
        zone_checks.partner_events,
        "Write it once, at the root of the landing zone.",
    ),
    _rule(
        "markers",
        "5.1",
        _ERROR,
        "Row markers are 0, 1, 2 or 4, in a column of numbers or text.",
        _codes(tried.MARKERS, Code.ROW_MARKER_INVALID),
        "Write 0 insert, 1 update, 2 delete, 4 upsert in every row.",
    ),
    _rule(
        "markers-need-keys",
        "5.1",
        _ERROR,
        "Updates, deletes and upserts go to tables with keyColumns alone.",
        _codes(tried.ROWS, Code.KEY_COLUMNS_UNDECLARED),
        "Declare keyColumns.",
    ),
    _rule(
        "key-columns-there",
        "5.1",
        _ERROR,
        "Every file with rows has every key column, typed.",
        _codes(
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
        _tables(tried.SEVERAL, zone_checks.partial_rows),
        "Write all columns of the table into every file that is not of deletes alone.",
    ),
    _rule(
        "column-names",
        "6.1",
        _ERROR,
        "No two columns of a file have one name, whatever the case.",
        _codes(tried.FILES, Code.COLUMNS_DUPLICATE),
        "Give each column a name of its own.",
    ),
    _rule(
        "types-merge",
        "6.3",
        _ERROR,
        "A column's type only grows: integers to wider ones, decimals, dates to timestamps.",
        _codes(tried.SEVERAL, Code.SCHEMA_MERGE_FAILURE),
        "Keep the type, or delete the folder and make it anew.",
    ),
    _rule(
        "types-supported",
        "6.5",
        _ERROR,
        "Every column has a type that tables can hold.",
        _codes(tried.PARQUET, Code.COLUMN_TYPE_UNSUPPORTED),
        "Write the column in a type of PROTOCOL §6.5.",
    ),
    _rule(
        "some-typed-column",
        "6.2",
        _ERROR,
        "Some file has a column with a type, or no table can be made.",
        _codes(tried.ROWS, WaitKind.SCHEMA),
        "Give columns types, also where all values are NULL.",
    ),
    _rule(
        "columns-typed",
        "12.9",
        _ADVICE,
        "Columns have types, also where all their values are NULL.",
        _tables(tried.PARQUET, zone_checks.untyped_columns),
        "Write the file with the table's schema, not with one that was guessed from its rows.",
    ),
    _rule(
        "values-fit",
        "6.5",
        _ERROR,
        "Parquet values fit their columns' types.",
        _text_alone(_codes(tried.PARQUET, Code.VALUE_INVALID), text=False),
        "Correct the value, and replace the file under its name.",
    ),
    _rule(
        "no-nanoseconds",
        "6.5",
        _WARNING,
        "Times are no finer than a microsecond.",
        _codes(tried.TIMES, Code.FRACTIONS_TRUNCATED),
        "Write timestamps in microseconds.",
    ),
    _rule(
        "no-conversion",
        "12.10",
        _ADVICE,
        "Parquet files have types and encodings that need no conversion.",
        _tables(tried.PARQUET, zone_checks.converted_files),
        "Write timestamps in microseconds with a zone, times and nested values as text.",
    ),
    _rule(
        "no-index-column",
        "12.10",
        _ADVICE,
        "The index of pandas is not published.",
        _tables(tried.PARQUET, zone_checks.index_columns),
        "Write with index=False.",
    ),
    _rule(
        "parquet-readable",
        "3.8",
        _ERROR,
        "Parquet files can be read, footer and pages.",
        _text_alone(_codes(tried.PARQUET, Code.FILE_UNREADABLE), text=False),
        "Replace the file under its name.",
    ),
    _rule(
        "text-readable",
        "4.6",
        _ERROR,
        "Delimited text is what it is declared as: separators, quotes, encoding, compression.",
        _text_alone(
            _codes(
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
        _text_alone(_codes(tried.TEXT, Code.VALUE_INVALID), text=True),
        "Correct the value, or declare another type.",
    ),
    _rule(
        "batches",
        "12.11",
        _ADVICE,
        "Files hold batches of rows, not one row each.",
        _tables(tried.MANY, zone_checks.small_files),
        "Publish a file every few seconds with all rows since the one before.",
    ),
    _rule(
        "staging-cleared",
        "12.2",
        _WARNING,
        "What was staged is renamed or deleted.",
        _tables(tried.TABLES, zone_checks.left_staged),
        "Delete staged files of earlier runs at the start.",
    ),
)
NOT_OF_PUBLISHERS = frozenset(
    {
        Code.MIRROR_SETTINGS_INVALID,
        Code.APPLY_FAILED,
        Code.RESEED_INCOMPLETE,
        Code.TABLE_NAME_COLLISION,
        Code.TABLE_NAME_INVALID,
        Code.TABLE_NOT_OURS,
        Code.TABLE_LOG_BROKEN,
        Code.TABLE_LOST,
        Code.CONTROL_DOCUMENT_INVALID,
        Code.ACCESS_DENIED,
        Code.FILE_MISPLACED,
        Code.CONTROL_DOCUMENT_REBUILT,
        Code.TABLE_SETTING_UNMET,
        Code.CATALOG_REGISTRATION_FAILED,
    }
)
"""Codes that no rule here has: an operator's, or found without them."""
