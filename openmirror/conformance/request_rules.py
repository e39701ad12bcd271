"""Rules that only a publisher's requests show: how files appear, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from openmirror.conformance import request_checks as checks
from openmirror.conformance.evidence import Evidence
from openmirror.conformance.history import PublisherHistory, Touch
from openmirror.conformance.rules import (
    Basis,
    Breach,
    ConformanceRule,
    RuleSeverity,
    Untried,
    rule,
)

_ERROR, _WARNING, _ADVICE = RuleSeverity.ERROR, RuleSeverity.WARNING, RuleSeverity.ADVICE


def _rule(
    id: str,
    section: str,
    severity: RuleSeverity,
    says: str,
    assess: Callable[[PublisherHistory], Iterable[Breach] | Untried],
    remedy: str,
) -> ConformanceRule:
    def of_requests(evidence: Evidence) -> Iterable[Breach] | Untried:
        if evidence.history is None:
            return checks.NO_REQUESTS
        return assess(evidence.history)

    return rule(Basis.REQUESTS, id, section, severity, says, of_requests, remedy)


REQUEST_RULES = (
    _rule(
        "stays-in-zone",
        "2",
        _ERROR,
        "A publisher writes, renames and deletes below its landing zone alone.",
        checks.stays_in_zone,
        "Stage below _scratchPad or in the table folder; the zone itself is there already.",
    ),
    _rule(
        "reserved-left-alone",
        "2.1",
        _ERROR,
        "What is the mirror's is not written: _ProcessedFiles, _openmirror, Files/Monitoring.",
        checks.reserved_left_alone,
        "Read it or leave it; archived files may be deleted, no more.",
    ),
    _rule(
        "text-appears-whole",
        "3.7",
        _ERROR,
        "Delimited text is written under another name and renamed, or put by one request.",
        checks.appears_whole(text=True),
        "Write _<name> first, then rename: text does not say where it ends.",
    ),
    _rule(
        "appears-whole",
        "3.7",
        _WARNING,
        "A Parquet file is written under another name and renamed, or put by one request.",
        checks.appears_whole(text=False),
        "Write _<name> first, then rename.",
    ),
    _rule(
        "flush-closes",
        "3.7",
        _WARNING,
        "A file that is filled under its final name is flushed with close=true at its end.",
        checks.flush_closes,
        "Flush with close=true: without it the account announces nothing but an empty file.",
    ),
    _rule(
        "new-names-only",
        "12.2",
        _WARNING,
        "A final name is taken with If-None-Match: *, so that it cannot be another's.",
        checks.new_names_only,
        "Send If-None-Match: * with the rename (MatchConditions.IfMissing in Azure's SDKs).",
    ),
    _rule(
        "never-grows",
        "3.6",
        _ERROR,
        "Nothing is appended to a change file that was seen with content.",
        checks.never(Touch.GROWN, "grew after it had been seen"),
        "Send further rows as the next file.",
    ),
    _rule(
        "never-overwritten",
        "3.6",
        _ERROR,
        "A published name is not written again.",
        checks.never(Touch.OVERWRITTEN, "was written over"),
        "Send changes as the next file. Only a file that status names may be replaced.",
    ),
    _rule(
        "never-touched",
        "12.5",
        _WARNING,
        "Properties and metadata of a published file stay as they are.",
        checks.never(Touch.CHANGED, "has other properties, and so another ETag"),
        "Set them on the staged file, before it is renamed.",
    ),
    _rule(
        "never-deleted",
        "12.5",
        _ERROR,
        "A published file is left where it is: the mirror moves it to the archive.",
        checks.never(Touch.DELETED, "was deleted, or renamed away"),
        "Leave it: the mirror moves what it has applied.",
    ),
    _rule(
        "number-never-again",
        "8.2",
        _ERROR,
        "No number is given twice in one folder.",
        checks.number_never_again,
        "To start over, delete the folder and make it anew.",
    ),
    _rule(
        "next-number",
        "3.1",
        _WARNING,
        "Each file gets the number after the last one.",
        checks.next_number,
        "Publish in order; a number that is skipped stops the table until it comes.",
    ),
    _rule(
        "anew-from-1",
        "7.4",
        _ERROR,
        "In a new folder, and in one that was made anew, files begin with 1.",
        checks.anew_from_1,
        "Forget the numbers of a folder when you delete it.",
    ),
    _rule(
        "metadata-first",
        "12.1",
        _ERROR,
        "_metadata.json is there before the first change file.",
        checks.metadata_first,
        "Write _metadata.json right after the folder was made.",
    ),
    _rule(
        "keys-kept",
        "4.4",
        _ERROR,
        "keyColumns are not changed once there are files; they may be added.",
        checks.options_kept(keys=True),
        "Delete the folder and make it anew with other keys.",
    ),
    _rule(
        "options-kept",
        "4.4",
        _ERROR,
        "Options of _metadata.json are not changed once there are files.",
        checks.options_kept(keys=False),
        "Delete the folder and make it anew with other options.",
    ),
    _rule(
        "lists-one-level",
        "12.4",
        _ADVICE,
        "The next number is found in the table folder itself, not in its archive.",
        checks.lists_one_level,
        "List without recursive=true; Blob lists with a delimiter.",
    ),
    _rule(
        "status-read",
        "12.13",
        _ADVICE,
        "Status in Files/Monitoring is read, and read alone.",
        checks.status_read,
        "Read Files/Monitoring/tables.json: it names the file that stops a table.",
    ),
    _rule(
        "leaves-nothing-staged",
        "12.2",
        _WARNING,
        "What was staged is renamed or deleted.",
        checks.leaves_nothing_staged,
        "Delete what was staged when its upload fails, and what an earlier run left.",
    ),
)
