"""Problems, what to do about them, and the exceptions of this package.

A broken promise of a publisher or an operator is a value, `Problem`. Surprises are exceptions:

    OpenmirrorError
    ├── NotThere               a file or folder that a call needs is missing
    ├── AlreadyThere           a create or a move found its destination taken
    ├── ConditionFailed        a conditional write or move lost its race: observe again
    ├── DocumentUnreadable     a control document that this version cannot read
    │   └── NameRefused        a table folder of whose name no document can be called
    ├── RootLocked             another process holds this local root
    ├── Unavailable            a service cannot be reached now, or is too busy
    ├── AccessDenied           this identity is refused, as a whole or at one place
    ├── WrongRequest           an operator asked for something that cannot be done
    │   └── Malformed          what was asked is not even a request
    ├── UnknownName            an operator named a mirror or a table that is not there
    ├── PublishRefused         what was to be published breaks a rule; nothing of it was written
    ├── FolderReplaced         the table folder was deleted, or made anew, under its publisher
    ├── OtherPublisher         somebody else writes into the folder by other rules
    └── CannotStart            settings or a missing part keep the program from starting
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.rules import Broken, Code


class OpenmirrorError(Exception):
    """Base of every exception that this package raises on purpose."""


class NotThere(OpenmirrorError):
    """A file or folder that a call needs is missing."""


class AlreadyThere(OpenmirrorError):
    """A create or a move found its destination taken."""


class ConditionFailed(OpenmirrorError):
    """A conditional write or move lost its race; the caller observes again."""


class DocumentUnreadable(OpenmirrorError):
    """A control document cannot be read by this version."""

    code: ClassVar[Code] = Code.CONTROL_DOCUMENT_INVALID
    """The problem that its table has."""


class NameRefused(DocumentUnreadable):
    """No control document can be called after this table folder (PROTOCOL §2.2)."""

    code = Code.TABLE_NAME_INVALID


class RootLocked(OpenmirrorError):
    """Another process holds this local root."""


class Unavailable(OpenmirrorError):
    """A service cannot be reached now, or is too busy; it passes without anybody's doing."""


class AccessDenied(OpenmirrorError):
    """A service or a file system refuses this identity; the message names it and what it lacks."""

    def __init__(self, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        """The one path that is refused, while others may be open; None when nothing is."""


class WrongRequest(OpenmirrorError):
    """An operator asked for something that cannot be done; the message says why."""


class Malformed(WrongRequest):
    """What was asked is not even a request; the message says what one looks like."""


class UnknownName(OpenmirrorError):
    """An operator named a mirror or a table that is not there; the message says what is."""


class PublishRefused(OpenmirrorError):
    """What was to be published breaks a rule of the protocol; nothing of it was written."""

    def __init__(self, broken: Broken, section: str) -> None:
        solution = broken.remedy or SOLUTIONS[broken.code]
        super().__init__(f"{broken.code}: {broken.detail} (PROTOCOL §{section}). {solution}")
        self.code = broken.code
        """The problem that a mirror would have had with it."""
        self.detail = broken.detail
        """What was found, without code and remedy."""
        self.section = section
        """Where docs/PROTOCOL.md has the rule, such as `4.4`."""
        self.remedy = solution
        """What ends it."""


class FolderReplaced(OpenmirrorError):
    """The table folder was deleted, or made anew, under its publisher, who must open it again."""


class OtherPublisher(OpenmirrorError):
    """Somebody else writes into the table folder by other rules, or moves the same source on."""


class CannotStart(OpenmirrorError):
    """Settings or a missing part keep the program from starting; the message has the remedy."""


class Disposition(StrEnum):
    """What the engine does about something that went wrong."""

    RETRY = "retry"
    """Try again by itself: it was nobody's mistake and may pass."""
    PAUSE = "pause"
    """Stop this table until what is wrong has changed; every other table goes on."""
    FAIL = "fail"
    """Stop the program: nothing can be trusted until a person has examined it."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A broken promise that pauses a table, bound to what it was found in.

    It counts only while the incarnation, the file's ETag and the ETags of the two documents
    are still the ones it was found in; so a replaced file resumes its table by itself.
    """

    code: Code
    detail: str
    file: str | None = None
    etag: ETag | None = None
    incarnation: Incarnation | None = None
    metadata_etag: ETag | None = None
    settings_etag: ETag | None = None
    since: datetime | None = None
    remedy: str | None = None
    """What ends it, where that is something else than for most problems of this code."""

    @property
    def solution(self) -> str:
        """What an operator or a publisher can do."""
        return self.remedy or SOLUTIONS[self.code]

    @property
    def disposition(self) -> Disposition:
        """Problems pause their table; there is no other kind."""
        return Disposition.PAUSE

    def same_as(self, other: Problem | None) -> bool:
        """Whether both say the same thing, whenever each was first seen."""
        return other is not None and _without_since(self) == _without_since(other)


@dataclass(frozen=True)
class Notice:
    """Something that an operator should know while the table goes on."""

    code: Code
    detail: str
    file: str | None = None

    @property
    def solution(self) -> str:
        """What an operator or a publisher can do."""
        return SOLUTIONS[self.code]


def _without_since(problem: Problem) -> tuple[object, ...]:
    return (
        problem.code,
        problem.detail,
        problem.file,
        problem.etag,
        problem.incarnation,
        problem.metadata_etag,
        problem.settings_etag,
    )


MOST_ATTEMPTS = 3
"""A batch that failed this often in a row pauses its table."""


def words_of(error: BaseException) -> str:
    """An exception's kind and message, as the last line of its traceback has them."""
    return "".join(traceback.format_exception_only(error)).strip()


def reason_of(error: BaseException) -> str:
    """Why something failed: in its own words, if they were made for people."""
    return str(error) if isinstance(error, OpenmirrorError) else words_of(error)


def is_debug(env: Mapping[str, str]) -> bool:
    """Whether tracebacks are asked for; by the environment, as settings may be what is wrong."""
    return env.get("OPENMIRROR_DEBUG", "").lower() in ("1", "true", "yes", "on")


def shown(error: Exception, env: Mapping[str, str]) -> str:
    """What a program that ends by an error shows of it; for debugging, where it came from too."""
    if is_debug(env):
        return "".join(traceback.format_exception(error)).rstrip()
    return str(error) or type(error).__name__


def disposition_of(error: BaseException, attempts: int) -> Disposition:
    """The one place that decides between retry, pause and fail.

    `attempts` counts failures in a row on the same files, this one included. The retry list is
    short: a lost race is observed again, a service that is away is asked until it is back,
    anything else is tried twice more, one place that is refused among it. What says that the
    program itself cannot go on (memory, a lock, an identity that is refused everywhere) is never
    retried blindly.
    """
    if isinstance(error, (ConditionFailed, NotThere, AlreadyThere, Unavailable)):
        return Disposition.RETRY
    if isinstance(error, (MemoryError, RootLocked, CannotStart)) or not isinstance(
        error, Exception
    ):
        return Disposition.FAIL
    if isinstance(error, AccessDenied) and error.place is None:
        return Disposition.FAIL
    if isinstance(error, DocumentUnreadable):
        return Disposition.PAUSE
    return Disposition.RETRY if attempts < MOST_ATTEMPTS else Disposition.PAUSE


def is_of_one_place(error: BaseException) -> bool:
    """Whether what went wrong concerns one table, one path or one pass alone: all else goes on."""
    return disposition_of(error, attempts=1) is not Disposition.FAIL


def problem_from(broken: Broken, **bound_to: object) -> Problem:
    """A broken rule as a problem, bound to what it was found in."""
    return Problem(
        code=broken.code,
        detail=broken.detail,
        remedy=broken.remedy,
        **bound_to,  # type: ignore[arg-type]
    )


TEXT_REMEDY = (
    "Where the file is written as it should be, correct FileFormatTypeProperties in "
    "_metadata.json (ColumnSeparator, QuoteCharacter, EscapeCharacter, Encoding); the table is "
    "checked again by itself. Else replace the file, under the same name, or `openmirror skip` it."
)
"""For text that is not written as _metadata.json says: which of the two is wrong, nobody knows."""


SOLUTIONS: dict[Code, str] = {
    Code.METADATA_INVALID: (
        "Write a valid _metadata.json; the table is checked again when it changes."
    ),
    Code.MIRROR_SETTINGS_INVALID: (
        "Correct mirroring.json; every table is checked again when it changes."
    ),
    Code.FILE_FORMAT_UNDECLARED: (
        "Declare FileFormat in _metadata.json (Parquet, CSV or DelimitedText), or remove the files "
        "of the format that the table does not have."
    ),
    Code.KEY_COLUMNS_CHANGED: (
        "Restore the former keyColumns, or delete and re-create the table folder with a new "
        "initial load; `openmirror reseed` rebuilds from the files that are still there."
    ),
    Code.PINNED_OPTION_CHANGED: (
        "Restore the former option in _metadata.json, or delete and re-create the table folder; "
        "`openmirror reseed` rebuilds from the files that are still there."
    ),
    Code.KEY_COLUMNS_UNDECLARED: (
        "Declare keyColumns in _metadata.json (the table is checked again by itself), or "
        "publish only inserts."
    ),
    Code.KEY_COLUMN_MISSING: (
        "Replace the file, under the same name, by one that has every key column, or "
        "`openmirror skip` it."
    ),
    Code.ROW_MARKER_INVALID: (
        "Replace the file, under the same name, by one whose __rowMarker__ is 0, 1, 2 or 4 in "
        "every row, or `openmirror skip` it."
    ),
    Code.NO_ROW_TO_UPDATE: (
        "Rows are missing that the publisher had: take a new snapshot of the table "
        "(`openmirror cdc resnapshot`, or a new initial load in a re-created folder), or replace "
        "the file, under the same name, by one with whole rows, or `openmirror skip` it."
    ),
    Code.FILE_INCOMPLETE: (
        "Finish the upload, or replace the file under the same name; write under a name that "
        "starts with _ and rename when it is complete."
    ),
    Code.FILE_UNREADABLE: (
        "Replace the file, under the same name, by one that is whole, or `openmirror skip` it."
    ),
    Code.VALUE_INVALID: (
        "Replace the file, under the same name, by one whose values fit their column's type, or "
        "`openmirror skip` it."
    ),
    Code.NOT_A_FILE: (
        "A change file must be one file, not a folder: replace it under the same name. Spark "
        "writes folders; publish the part file inside under this name."
    ),
    Code.SEQUENCE_TWICE: "Remove all but one of the files that share this number.",
    Code.COLUMNS_DUPLICATE: (
        "Replace the file, under the same name, by one whose column names differ by more than "
        "their case."
    ),
    Code.COLUMN_NAME_RESERVED: (
        "Replace the file, under the same name, by one whose column has another name; or set "
        "delete to hard, lineage to false or history to none for this table in mirroring.json, "
        "while it has no such column of ours yet."
    ),
    Code.COLUMN_TYPE_UNSUPPORTED: (
        "Replace the file, under the same name, by one with a simple type for this column: "
        "complex values as JSON text, others as binary."
    ),
    Code.SCHEMA_MERGE_FAILURE: (
        "Replace the file, under the same name, by one with the table's type for this column; or "
        "delete and re-create the table folder to start the table anew."
    ),
    Code.APPLIED_FILE_CHANGED: (
        "`openmirror skip --file` keeps what was applied and forgets the new content; "
        "`openmirror reseed` rebuilds the table with it. Publish changes as new files."
    ),
    Code.APPLY_FAILED: (
        "Read the error, remove its cause (space, memory, access), then `openmirror retry`."
    ),
    Code.RESEED_INCOMPLETE: (
        "Put the missing file back into the folder, or `openmirror skip --through` it, or let the "
        "publisher re-create the folder."
    ),
    Code.TABLE_NAME_COLLISION: (
        "Rename one of the folders: two landing folders must not map to one table, nor to names "
        "that differ only in case."
    ),
    Code.TABLE_NAME_INVALID: "Rename the folder: a name is UTF-8, of 250 bytes at most.",
    Code.TABLE_NOT_OURS: (
        "Move the Delta table at this path away, or rename the landing folder: a table that this "
        "mirror did not write is never touched."
    ),
    Code.TABLE_LOG_BROKEN: (
        "Restore the missing or damaged files below _delta_log from a backup, or move the whole "
        "folder away and `openmirror reseed`."
    ),
    Code.TABLE_LOST: (
        "Put the folder of the Delta table back from a backup. Without one, publish the table "
        "anew: delete its landing folder and create it again, with a new initial load."
    ),
    Code.CONTROL_DOCUMENT_INVALID: (
        "Upgrade openmirror if a newer version wrote it; otherwise move the document away: it is "
        "rebuilt from the Delta log."
    ),
    Code.ACCESS_DENIED: (
        "Give the identity that is named access to this path, or put something there that it may "
        "read; then the table goes on by itself. A link must stay inside the root: mount or copy "
        "what it leads to."
    ),
    Code.SEQUENCE_REUSED: (
        "A number that was applied before is never read again. A publisher that starts over must "
        "delete and re-create the table folder."
    ),
    Code.FILE_NAME_INVALID: (
        "Rename it to the next 20-digit number with the table's extension, or give scratch files "
        "a name that starts with _."
    ),
    Code.FILE_NEVER_READ: (
        "Rename it to the next 20-digit number with the table's extension, or declare in "
        "_metadata.json how files are called and written (FileFormat, FileExtension, "
        "fileDetectionStrategy, isPartitionEnabled); what is no change begins with _."
    ),
    Code.FILE_MISPLACED: (
        "Move it into its table folder below landing/<mirror>/Files/LandingZone, or give what is "
        "no change a name that starts with _."
    ),
    Code.STREAM_TABLE_STOPPED: (
        "Mend what its reason names; then take a new snapshot of the table (openmirror cdc "
        "resnapshot, or its connector's), or let it go on from there (openmirror cdc follow … "
        "--retry), as docs/OPERATIONS.md says of the reason's code."
    ),
    Code.STREAM_DOWN: (
        "Do what the reason says, and see that something lands it: `openmirror up`, a runner with "
        "--relay, or `openmirror cdc`. Nothing is lost while the source keeps its log or its "
        "topic. Of a stream that is given up, delete the report: _streams/_relays/<stream>.json."
    ),
    Code.STREAM_RETENTION_SHORT: (
        "Let it catch up, or have its topic keep its records for longer, before those are gone "
        "that it needs."
    ),
    Code.STREAM_SLOT_GROWS: (
        "Let it catch up, before the database's disk is full; drop the replication slot of a "
        "stream that is given up. A transaction that stays open keeps the log, too."
    ),
    Code.FILE_FORMAT_ASSUMED: (
        "Declare FileFormat in _metadata.json, with SchemaDefinition if columns have other types "
        "than text."
    ),
    Code.METADATA_REPAIRED: "Write valid JSON; other readers of the file may refuse it.",
    Code.METADATA_KEY_UNKNOWN: (
        "Correct the key in _metadata.json; a key that is not known is ignored."
    ),
    Code.CONTROL_DOCUMENT_REBUILT: (
        "Nothing to do: the table goes on under a new epoch. Skips and holds are gone, and without "
        "a ledger the manifests of the files that were applied before."
    ),
    Code.TABLE_SETTING_UNMET: (
        "Take the setting back in mirroring.json, or let the publisher change the column; the rest "
        "of the settings holds."
    ),
    Code.FILE_TIME_AHEAD: (
        "Set the clock of the publisher's machine, or copy files without their times. Waits count "
        "from the first observation of such a file; what is ordered by time has it last."
    ),
    Code.FRACTIONS_TRUNCATED: (
        "Set `fractions` in mirroring.json: to truncate where microseconds are enough, which ends "
        "the warning, or to refuse, so that such files stop the table. Text keeps every digit."
    ),
    Code.CATALOG_REGISTRATION_FAILED: (
        "Give the runner the right to create schemas and tables in its catalog, or free the name; "
        "a later commit of the table tries again."
    ),
    Code.FILE_REWRITTEN: (
        "Nothing to do: the bytes are those that were applied. A publisher that does not "
        "know whether it has sent a file should list the folder before it sends it again."
    ),
    Code.OVERWRITE_IGNORED: (
        "Publish changes as new files; `openmirror reseed` rebuilds the table with what lies there "
        "now. Take overwrittenFiles back in mirroring.json if such a file shall stop the table."
    ),
}
