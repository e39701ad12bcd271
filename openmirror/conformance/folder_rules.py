"""Rules about what a landing zone consists of: names, numbers, whole files, metadata."""

from __future__ import annotations

from functools import partial

from openmirror.conformance import tried, zone_checks
from openmirror.conformance.rules import Basis, RuleSeverity, rule
from openmirror.conformance.zone_findings import by_codes, by_tables
from openmirror.plan.decisions import WaitKind
from openmirror.protocol.rules import Code

_ERROR, _WARNING, _ADVICE = RuleSeverity.ERROR, RuleSeverity.WARNING, RuleSeverity.ADVICE
_rule = partial(rule, Basis.ZONE)

FOLDER_RULES = (
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
        by_codes(tried.FILES, Code.FILE_NEVER_READ),
        "Rename it to the next number with the table's extension.",
    ),
    _rule(
        "other-names",
        "3",
        _WARNING,
        "What is no change file has a name that begins with _.",
        by_codes(tried.TABLES, Code.FILE_NAME_INVALID),
        "Delete it, or give it a name that begins with _.",
    ),
    _rule(
        "file-is-no-folder",
        "3",
        _ERROR,
        "What has a change file's name is a file.",
        by_codes(tried.FILES, Code.NOT_A_FILE),
        "Publish one file under the name; Spark writes folders.",
    ),
    _rule(
        "one-file-a-number",
        "3",
        _ERROR,
        "No two files have one number.",
        by_codes(tried.FILES, Code.SEQUENCE_TWICE),
        "Delete one of them.",
    ),
    _rule(
        "begins-with-1",
        "3.1",
        _ERROR,
        "The first change file has the number 1.",
        by_codes(tried.FILES, WaitKind.GAP, only=zone_checks.is_about_one),
        "Count from 1 in every new folder.",
    ),
    _rule(
        "no-gaps",
        "3.4",
        _ERROR,
        "No number is missing before one that is there.",
        by_codes(tried.FILES, WaitKind.GAP, only=lambda found: not zone_checks.is_about_one(found)),
        "Publish the missing number; a Parquet file without rows gives one up.",
    ),
    _rule(
        "no-empty-promises",
        "3.8",
        _ERROR,
        "No file is left empty to keep its number.",
        by_codes(
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
        by_codes(
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
        by_codes(tried.ARCHIVED, Code.SEQUENCE_REUSED),
        "To start over, delete the folder and make it anew.",
    ),
    _rule(
        "applied-untouched",
        "8.3",
        _ERROR,
        "A file that was applied keeps its content.",
        by_codes(
            tried.ARCHIVED, Code.APPLIED_FILE_CHANGED, Code.FILE_REWRITTEN, Code.OVERWRITE_IGNORED
        ),
        "Send changes as further files.",
    ),
    _rule(
        "times",
        "3.8",
        _WARNING,
        "No file's time lies ahead of the store's clock.",
        by_codes(tried.FILES, Code.FILE_TIME_AHEAD),
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
        by_codes(tried.METADATA, Code.METADATA_INVALID),
        "Write valid JSON with the values of PROTOCOL §4.2.",
    ),
    _rule(
        "metadata-strict",
        "4.1",
        _WARNING,
        "_metadata.json is JSON as every reader takes it.",
        by_codes(tried.METADATA, Code.METADATA_REPAIRED),
        "Write it with a JSON library.",
    ),
    _rule(
        "metadata-spelt",
        "4.2",
        _WARNING,
        "Keys of _metadata.json are spelt as the protocol has them.",
        by_codes(tried.METADATA, Code.METADATA_KEY_UNKNOWN),
        "Correct the key.",
    ),
    _rule(
        "format-declared",
        "4.3",
        _WARNING,
        "A table of delimited text declares its format.",
        by_codes(tried.TEXT, Code.FILE_FORMAT_ASSUMED),
        "Write FileFormat into _metadata.json.",
    ),
    _rule(
        "one-format",
        "4.3",
        _ERROR,
        "No table has both formats without saying which one counts.",
        by_codes(tried.FILES, Code.FILE_FORMAT_UNDECLARED),
        "Write FileFormat into _metadata.json, and remove the files of the other format.",
    ),
    _rule(
        "keys-unchanged",
        "4.4",
        _ERROR,
        "keyColumns stay as they were when rows were first matched by them.",
        by_codes(tried.ARCHIVED, Code.KEY_COLUMNS_CHANGED),
        "Delete the folder and make it anew with other keys.",
    ),
    _rule(
        "options-unchanged",
        "4.4",
        _ERROR,
        "Options that the first batch froze stay as they were.",
        by_codes(tried.ARCHIVED, Code.PINNED_OPTION_CHANGED),
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
        "staging-cleared",
        "12.2",
        _WARNING,
        "What was staged is renamed or deleted.",
        by_tables(tried.TABLES, zone_checks.left_staged),
        "Delete staged files of earlier runs at the start.",
    ),
)
