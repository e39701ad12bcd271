"""The rules a publisher or an operator can break, each with its code (PROTOCOL §9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Every problem and warning there is; docs/OPERATIONS.md has a row for each.

    Names are Fabric's own where it has one (`SchemaMergeFailure`).
    """

    METADATA_INVALID = "MetadataInvalid"
    MIRROR_SETTINGS_INVALID = "MirrorSettingsInvalid"
    FILE_FORMAT_UNDECLARED = "FileFormatUndeclared"
    KEY_COLUMNS_CHANGED = "KeyColumnsChanged"
    PINNED_OPTION_CHANGED = "PinnedOptionChanged"
    KEY_COLUMNS_UNDECLARED = "KeyColumnsUndeclared"
    KEY_COLUMN_MISSING = "KeyColumnMissing"
    ROW_MARKER_INVALID = "RowMarkerInvalid"
    NO_ROW_TO_UPDATE = "NoRowToUpdate"
    FILE_INCOMPLETE = "FileIncomplete"
    FILE_UNREADABLE = "FileUnreadable"
    VALUE_INVALID = "ValueInvalid"
    NOT_A_FILE = "NotAFile"
    SEQUENCE_TWICE = "SequenceTwice"
    COLUMNS_DUPLICATE = "ColumnsDuplicate"
    COLUMN_NAME_RESERVED = "ColumnNameReserved"
    COLUMN_TYPE_UNSUPPORTED = "ColumnTypeUnsupported"
    SCHEMA_MERGE_FAILURE = "SchemaMergeFailure"
    APPLIED_FILE_CHANGED = "AppliedFileChanged"
    APPLY_FAILED = "ApplyFailed"
    RESEED_INCOMPLETE = "ReseedIncomplete"
    TABLE_NAME_COLLISION = "TableNameCollision"
    TABLE_NAME_INVALID = "TableNameInvalid"
    TABLE_NOT_OURS = "TableNotOurs"
    TABLE_LOG_BROKEN = "TableLogBroken"
    TABLE_LOST = "TableLost"
    CONTROL_DOCUMENT_INVALID = "ControlDocumentInvalid"
    ACCESS_DENIED = "AccessDenied"
    # Warnings: the table goes on.
    SEQUENCE_REUSED = "SequenceReused"
    FILE_NAME_INVALID = "FileNameInvalid"
    FILE_NEVER_READ = "FileNeverRead"
    FILE_MISPLACED = "FileMisplaced"
    STREAM_TABLE_STOPPED = "StreamTableStopped"
    STREAM_DOWN = "StreamDown"
    STREAM_RETENTION_SHORT = "StreamRetentionShort"
    STREAM_SLOT_GROWS = "StreamSlotGrows"
    FILE_FORMAT_ASSUMED = "FileFormatAssumed"
    METADATA_REPAIRED = "MetadataRepaired"
    METADATA_KEY_UNKNOWN = "MetadataKeyUnknown"
    CONTROL_DOCUMENT_REBUILT = "ControlDocumentRebuilt"
    TABLE_SETTING_UNMET = "TableSettingUnmet"
    FILE_TIME_AHEAD = "FileTimeAhead"
    FRACTIONS_TRUNCATED = "FractionsTruncated"
    CATALOG_REGISTRATION_FAILED = "CatalogRegistrationFailed"
    FILE_REWRITTEN = "FileRewritten"
    OVERWRITE_IGNORED = "OverwriteIgnored"


WARNINGS = frozenset(
    {
        Code.SEQUENCE_REUSED,
        Code.FILE_NAME_INVALID,
        Code.FILE_NEVER_READ,
        Code.FILE_MISPLACED,
        Code.STREAM_TABLE_STOPPED,
        Code.STREAM_DOWN,
        Code.STREAM_RETENTION_SHORT,
        Code.STREAM_SLOT_GROWS,
        Code.FILE_FORMAT_ASSUMED,
        Code.METADATA_REPAIRED,
        Code.METADATA_KEY_UNKNOWN,
        Code.CONTROL_DOCUMENT_REBUILT,
        Code.TABLE_SETTING_UNMET,
        Code.FILE_TIME_AHEAD,
        Code.FRACTIONS_TRUNCATED,
        Code.CATALOG_REGISTRATION_FAILED,
        Code.FILE_REWRITTEN,
        Code.OVERWRITE_IGNORED,
    }
)


@dataclass(frozen=True)
class Broken:
    """A rule that something broke: what is wrong here, in words that name the culprit."""

    code: Code
    detail: str
    remedy: str | None = None
    """What ends it, where that is something else than for most mistakes of this code."""
