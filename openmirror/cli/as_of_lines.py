"""What `as-of` answers, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from openmirror.operate.as_of import PastAnswer, unapplied
from openmirror.operate.past_statements import statements
from openmirror.plan.as_of import Gone, GoneWhat, PastVersion, Run
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.counts import counted
from openmirror.status import iso
from openmirror.status.words import at_second


def past_lines(answer: PastAnswer, name: str, root: Path | AccountUrl) -> Iterator[str]:
    """What is known, then the statements that read what was asked for."""
    found = answer.as_of.found
    if found is None:
        yield from _none(answer, name)
        return
    run = found.run
    if run.changed is None:
        yield f"version {found.version} of {name} {_holds(run)}{_same(run)}"
    else:
        yield (
            f"no version of {name} holds exactly {_files(run)}: in version {run.changed.version}, "
            f"of {at_second(run.changed.at)}, somebody else changed rows "
            f"({run.changed.operation or 'by a commit without a name'}). Version {found.version} "
            "holds those files and what was changed; `openmirror reseed` makes the table anew"
        )
    if run.lacks_marked:
        yield "rows that were marked as deleted longer ago than purgeAfter are gone from it"
    if found.gone is not None:
        yield f"version {found.version} cannot be read any more: {_gone(found.gone)}"
        yield from _oldest(answer)
        return
    for statement in statements(root, answer.table, found.version):
        yield f"{statement.reader}:"
        yield f"  {statement.text}"


def _none(answer: PastAnswer, name: str) -> Iterator[str]:
    of = answer.as_of
    asked = answer.asked
    if isinstance(asked, datetime):
        yield f"at {at_second(asked)} no version of {name} that is left had any file applied"
    else:
        why = unapplied(answer) or "no batch that the log knows ended there"
        yield f"no version of {name} holds exactly the files up to {asked}: {why}"
    if of.gone is not None:
        yield f"what was before is not known any more: {_gone(of.gone)}"
    for what, version in (("the last before", of.before), ("the first after", of.after)):
        if version is not None:
            lost = f", but cannot be read any more: {_gone(version.gone)}" if version.gone else ""
            yield f"{what}: version {version.version} {_holds(version.run)}{lost}"
    yield from _oldest(answer)


def _oldest(answer: PastAnswer) -> Iterator[str]:
    of = answer.as_of
    if of.oldest is not None:
        yield f"the oldest that can be read: version {of.oldest.version} {_holds(of.oldest.run)}"
    elif of.found is not None and of.found.gone is not None:
        yield "no version with files of this folder can be read any more"


def _holds(run: Run) -> str:
    exactly = "exactly " if run.is_exact else "what somebody else changed, and "
    return f"holds {exactly}{_files(run)}, since {at_second(run.at)}"


def _files(run: Run) -> str:
    passed = f" (what comes up to {run.through} was passed over)"
    return f"the files up to {run.position}" + (passed if run.through > run.position else "")


def _same(run: Run) -> str:
    if run.first == run.last:
        return ""
    return f"; versions {run.first} to {run.last} hold the same rows"


def _gone(gone: Gone) -> str:
    if gone.what is GoneWhat.LOG:
        since = f"begins with the version of {at_second(gone.since)}" if gone.since else "is broken"
        return f"the table's log was cleaned, and {since}"
    since = f"since {at_second(gone.since)}" if gone.since else "since an unknown time"
    return (
        f"{counted(gone.files, 'file')} of it {'is' if gone.files == 1 else 'are'} deleted, "
        f"{since}, among them {gone.example}"
    )


def past_json(answer: PastAnswer, root: Path | AccountUrl) -> dict[str, object]:
    """The same, for programs; sequences are strings, as in `status --json`."""
    of = answer.as_of
    asked = answer.asked
    return {
        "asked": iso(asked) if isinstance(asked, datetime) else str(asked),
        "exact": of.is_exact,
        "incarnation": answer.incarnation,
        "applied": str(answer.applied),
        "found": _version_json(of.found, answer, root),
        "before": _version_json(of.before, answer, root),
        "after": _version_json(of.after, answer, root),
        "gone": _gone_json(of.gone),
        "oldest": _version_json(of.oldest, answer, root),
    }


def _version_json(
    version: PastVersion | None, answer: PastAnswer, root: Path | AccountUrl
) -> dict[str, object] | None:
    if version is None:
        return None
    run = version.run
    read = () if version.gone else statements(root, answer.table, version.version)
    return {
        "version": version.version,
        "sequence": str(run.position),
        "through": str(run.through),
        "incarnation": run.incarnation,
        "at": iso(run.at),
        "sameFrom": run.first,
        "sameTo": run.last,
        "changedBySomebodyElse": None
        if run.changed is None
        else {
            "version": run.changed.version,
            "at": iso(run.changed.at),
            "operation": run.changed.operation,
        },
        "lacksMarkedRows": run.lacks_marked,
        "gone": _gone_json(version.gone),
        "statements": {statement.reader: statement.text for statement in read},
    }


def _gone_json(gone: Gone | None) -> dict[str, object] | None:
    if gone is None:
        return None
    return {
        "what": gone.what.value,
        "since": iso(gone.since) if gone.since else None,
        "files": gone.files,
        "example": gone.example,
    }
