"""`validate`: a table folder judged as the door would judge it, all of its mistakes at once.

The rules are those of the plan, called one file after another; only a plan stops at the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from openmirror.control import ControlDocument, Pinned
from openmirror.errors import SOLUTIONS, NotThere
from openmirror.layout import StorePath, join, name_of
from openmirror.plan import Limits, Look
from openmirror.plan.cut import check_file, merge_file
from openmirror.plan.decisions import Pause, Stop, Wait, WaitKind
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Oddity
from openmirror.plan.rules import table_rules
from openmirror.ports import Entry, FileStore, Inspector, Listing, MarkerReader
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import (
    ARCHIVE_FOLDER,
    METADATA_FILE,
    Incarnation,
    TableFolder,
    TableName,
    TablePath,
)
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import WARNINGS, Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import ChangeFileName, NotAChangeFile, Sequence, parse_change_file


@dataclass(frozen=True)
class Finding:
    """One thing that is not as the protocol wants it."""

    rule: str
    """The code of the problem that a mirror would show, or the kind of its wait."""
    detail: str
    remedy: str
    file: str | None = None
    stops: bool = True
    """Whether the table would stop or wait here; else a mirror goes on."""


def validate_folder(
    store: FileStore,
    inspector: Inspector,
    markers: MarkerReader,
    folder: StorePath,
    limits: Limits | None = None,
) -> list[Finding]:
    """Everything that is wrong in one table folder, wherever below the store's root it lies.

    Reads only; needs no mirror around the folder. Raises NotThere when there is no such folder.
    """
    look = _look(store, folder)
    return list(_Check(inspector, markers, look, limits or Limits()).findings(_first(store, look)))


def _look(store: FileStore, folder: StorePath) -> Look:
    """A look at a folder that no mirror knows: no control document, no table yet."""
    listing = store.list_folder(folder)
    files, oddities = _sorted_out(folder, listing)
    metadata, etag = None, None
    if any(entry.name == METADATA_FILE and not entry.is_folder for entry in listing.entries):
        content = store.read(join(folder, METADATA_FILE))
        metadata = parse_metadata(content.data) if content.data.strip() else None
        etag = content.etag
    return Look(
        folder=TableFolder("", TablePath("", name_of(folder))),
        name=TableName("", name_of(folder)),
        table=folder,
        at=listing.at,
        incarnation=Incarnation("validated"),
        control=ControlDocument(folder=folder),
        files=files,
        oddities=oddities,
        metadata=metadata,
        metadata_etag=etag,
    )


def _sorted_out(
    folder: StorePath, listing: Listing
) -> tuple[dict[Sequence, LandedFile], tuple[Oddity, ...]]:
    files: dict[Sequence, LandedFile] = {}
    oddities: list[Oddity] = []
    for entry in sorted(listing.entries, key=lambda entry: entry.name):
        parsed = parse_change_file(entry.name)
        if isinstance(parsed, NotAChangeFile):
            oddities.append(Oddity(entry.name, parsed.reason))
        if isinstance(parsed, ChangeFileName):
            twin = files.get(parsed.sequence)
            files[parsed.sequence] = LandedFile(
                sequence=parsed.sequence,
                name=entry.name,
                path=join(folder, entry.name),
                etag=entry.etag,
                size=entry.size,
                modified=entry.modified,
                is_folder=entry.is_folder,
                twin=twin.name if twin else None,
            )
    return dict(sorted(files.items())), tuple(oddities)


def _first(store: FileStore, look: Look) -> int:
    """The number that the folder must begin with: 1, unless earlier files were archived."""
    try:
        archive = store.list_folder(join(look.table, ARCHIVE_FOLDER))
    except NotThere:
        return 1
    names = (parse_change_file(entry.name) for entry in archive.entries)
    archived = [name.sequence for name in names if isinstance(name, ChangeFileName)]
    # Archives are purged after a while, from below: what is gone there is no gap.
    return max(archived, default=0) + 1 if archived else min(look.files, default=Sequence(1))


@dataclass(frozen=True)
class _Check:
    inspector: Inspector
    markers: MarkerReader
    look: Look
    limits: Limits

    def findings(self, first: int) -> Iterator[Finding]:
        metadata = self.look.metadata
        for oddity in self.look.oddities:
            yield _found(Code.FILE_NAME_INVALID, oddity.reason, oddity.name)
        if metadata is None:
            yield Finding(
                WaitKind.METADATA,
                f"no {METADATA_FILE}, or an empty one: a table without key columns, which takes "
                "only inserts",
                f"Write {METADATA_FILE} with keyColumns before the first change file.",
                METADATA_FILE,
                stops=False,
            )
        if isinstance(metadata, TableMetadata) and metadata.repairs:
            yield _found(Code.METADATA_REPAIRED, "; ".join(metadata.repairs), METADATA_FILE)
        rules = table_rules(self.look, self.limits, self.look.at)
        if isinstance(rules, Pause):
            yield replace(_stopped(rules), file=METADATA_FILE)
            if rules.problem.code is Code.NOT_SUPPORTED_YET:
                return  # its files would be judged by rules that are not theirs
        yield from self._gaps(first)
        yield from self._files(rules)

    def _gaps(self, first: int) -> Iterator[Finding]:
        expected = first
        for sequence, file in self.look.files.items():
            if sequence > expected:
                numbers = f"{expected:020d}"
                if sequence > expected + 1:
                    numbers += f" to {sequence - 1:020d}"
                yield Finding(
                    WaitKind.GAP,
                    f"{numbers} missing; {file.name} and what follows would wait for it",
                    "Publish it: numbers start at 1, and only archived ones may be absent.",
                    file.name,
                )
            expected = max(expected, sequence + 1)

    def _files(self, rules: Pinned | Stop) -> Iterator[Finding]:
        # Without rules a file is judged by itself alone.
        pinned = rules if isinstance(rules, Pinned) else Pinned()
        knows_keys = not isinstance(self.look.metadata, Broken)
        schema: TableSchema | None = None
        for landed in self.look.files.values():
            file = landed
            if not landed.is_folder and not landed.twin:
                entry = Entry(landed.name, False, landed.size, landed.modified, landed.etag)
                file = replace(landed, facts=self.inspector.inspect(landed.path, entry))
            stop = check_file(self.look, file, pinned, self.limits, self.look.at)
            merged = stop or merge_file(self.look, schema or TableSchema(), file)
            if isinstance(merged, TableSchema):
                schema = merged
            else:
                yield replace(_stopped(merged), file=file.name)
            if stop is None and file.facts and file.facts.marker is not None:
                keyed = bool(pinned.key_columns) or not knows_keys
                yield from self._marker_values(file, file.facts.marker, keyed)
        if schema is not None and not schema.columns:
            detail = "no file has a typed column yet, so no table could be created"
            yield Finding(WaitKind.SCHEMA, detail, "Publish a file with the table's columns.")

    def _marker_values(self, file: LandedFile, column: str, has_keys: bool) -> Iterator[Finding]:
        """The first wrong marker of a file; a writer that is wrong once is wrong throughout."""
        try:
            for number, value in enumerate(self.markers.markers(file.path, column), start=1):
                where = f"row {number} has {column} = {'NULL' if value is None else repr(value)}"
                marker = _marker(value)
                if marker is None:
                    detail = f"{where}; allowed are 0, 1, 2 and 4"
                    yield _found(Code.ROW_MARKER_INVALID, detail, file.name)
                    return
                if marker is not Marker.INSERT and not has_keys:
                    detail = f"{where}, but no keyColumns are declared"
                    yield _found(Code.KEY_COLUMNS_UNDECLARED, detail, file.name)
                    return
        except ValueError as error:
            yield _found(Code.FILE_UNREADABLE, f"{column} cannot be read: {error}", file.name)


def _marker(value: object) -> Marker | None:
    """A marker as a number or as text; both are written by real publishers."""
    try:
        return Marker(int(str(value)))
    except ValueError:
        return None


def _found(code: Code, detail: str, file: str | None) -> Finding:
    return Finding(code, detail, SOLUTIONS[code], file, stops=code not in WARNINGS)


def _stopped(stop: Stop) -> Finding:
    match stop:
        case Pause(problem):
            return _found(problem.code, problem.detail, problem.file)
        case Wait(waiting):
            remedy = SOLUTIONS[Code.FILE_INCOMPLETE]
            return Finding(waiting.kind, waiting.detail, remedy)
