"""A mirror in its plainest form: file after file, row after row, no batches and no Spark.

It shares the rules of `openmirror.protocol` and the footer inspector with the product, and none
of its plans, folds and commits. Rows come from pyarrow.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.formats.inspect import ChangeFileInspector
from openmirror.mirroring import Mirroring, parse_mirroring
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.plan.observed import (
    DeletePolicy,
    HistoryPolicy,
    InsertPolicy,
    OverwrittenFiles,
    TablePolicy,
    TypeChange,
    WholeFloats,
    ZonelessTimestamps,
)
from openmirror.plan.read_rules import Fractions
from openmirror.ports import Entry
from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import (
    TableFolder,
    TableName,
    TablePath,
    fold_case,
    is_reserved,
    table_name,
)
from openmirror.protocol.naming_scheme import (
    NamingScheme,
    ParsedName,
    Through,
    is_partition,
    may_hold_changes,
    read_name,
)
from openmirror.protocol.rows import (
    DELETED_AT,
    Change,
    ChangeFile,
    Marker,
    NoRowToUpdate,
    Row,
    SoftDeletes,
    Table,
    apply_file,
    empty_table,
)
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import (
    Column,
    ColumnType,
    SchemaUnion,
    TableSchema,
    in_table,
    union_schema,
)
from openmirror.protocol.sequence import NotAChangeFile
from openmirror.protocol.text_format import TextFormat
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from tests.conformance import delimited
from tests.conformance.incarnations import Incarnation, Incarnations
from tests.conformance.ledger import Done, Filed, Gap, has_ledger, heads, in_order
from tests.conformance.losing import Losing
from tests.conformance.nestedtext import held, refuse_times_beyond_a_day
from tests.conformance.pasts import Now, Pasts
from tests.conformance.row_types import NotWhole, row_in, table_in, typed, without_marked
from tests.conformance.vectors import Outcome, Step, encoded


class _Stop(Exception):
    """The table stops here, in the state of a vector."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        self.state = state


def _pause(code: Code, file: str | None = None) -> _Stop:
    return _Stop({"paused": code.value, "file": file})


@dataclass
class _Folder:
    """One landing folder and the table that it has become."""

    path: Path
    policy: TablePolicy
    applied: int = 0
    schema: TableSchema = field(default_factory=TableSchema)
    table: Table = field(default_factory=lambda: empty_table([]))
    frozen: TableMetadata | None = None
    state: Any = "idle"
    warnings: tuple[str, ...] = ()
    incarnation: Incarnation | None = None
    """The incarnation of the folder that the rows are of; None to begin anew."""
    marks: bool = False
    """Whether its deletes are soft."""
    has_lineage: bool = False
    """Whether it has columns of lineage, filled or not."""
    confirmed: bool = False
    """Whether somebody allowed that marked rows go."""
    has_lost: bool = False
    """Whether a time of it lost what is finer than a microsecond."""
    given_up: int = 0
    """Up to which number those that are missing are passed over."""
    skipped: set[tuple[str, bytes]] = field(default_factory=set)
    done: Done = field(default_factory=Done)
    """What names alone do not show of a table that has a ledger."""
    held: bool = False
    stop: int | None = None
    """The number of the file behind which it is held."""
    missed: int = 0
    """How many drains in a row have missed the folder."""

    @property
    def is_dropped(self) -> bool:
        return self.missed > 1

    @property
    def shown(self) -> tuple[str, ...]:
        """Its warnings, those among them that stay."""
        is_accepted = self.policy.fractions is Fractions.TRUNCATE
        stays = (Code.FRACTIONS_TRUNCATED.value,) if self.has_lost and not is_accepted else ()
        hard = self.policy.delete is DeletePolicy.HARD
        is_unmet = self.marks and hard and not self.confirmed
        unmet = (Code.TABLE_SETTING_UNMET.value,) if is_unmet else ()
        return (*self.warnings, *stays, *unmet)

    @property
    def has_table(self) -> bool:
        return bool(self.schema.columns) and not self.is_dropped


class Interpreter:
    """One mirror over one landing zone; call `take` for each step."""

    def __init__(self, zone: Path, settings: bytes | None) -> None:
        self._zone = zone
        self._inspector = ChangeFileInspector(LocalStore(zone))
        parsed = parse_mirroring(settings or b"{}")
        assert isinstance(parsed, Mirroring)
        self._settings = parsed
        self._folders: dict[TablePath, _Folder] = {}
        self._pasts = Pasts()
        self._incarnations = Incarnations()

    @property
    def folders(self) -> set[TableFolder]:
        current = {TableFolder("", path) for path in self._folders}
        return current | {TableFolder("", path).history for path in self._pasts.paths}

    def take(self, step: Step) -> None:
        """What publishers did is on disk already; here it takes effect."""
        self._incarnations.take(step)
        if step.settings:
            parsed = parse_mirroring(step.settings)
            assert isinstance(parsed, Mirroring)
            # The default schema is frozen when a mirror is first used.
            self._settings = replace(parsed, default_schema=self._settings.default_schema)
        for asked in step.asked:
            folder = TableFolder.of_key("", asked["folder"])
            if folder.is_history:
                self._pasts.begin_anew(folder.path)
            else:
                self._ask(self._folders[folder.path], asked)
        self._drain()

    def _ask(self, folder: _Folder, asked: Mapping[str, str]) -> None:
        match asked["verb"]:
            case "pause":
                folder.held = True
            case "undrop":
                folder.held, folder.missed = True, 0
            case "resume":
                folder.held = False
            case "reseed":
                folder.incarnation = None
                folder.stop = int(asked["through"]) if "through" in asked else None
            case "skip" if "file" in asked:
                content = (folder.path / asked["file"]).read_bytes()
                folder.skipped.add((asked["file"], content))
            case "skip":
                through = Through.parse(asked["through"])
                if through.partition is None:
                    folder.given_up = through.last
                else:
                    folder.done.given_up[through.partition] = through.last
            case "confirm-hard-deletes":
                folder.confirmed = True
            case "clean":
                parsed = _change_files(folder, _declared(folder))
                archive = folder.path / "_ProcessedFiles"
                folder.done.archive(parsed, _skipped(folder, parsed), archive)
            case verb:
                raise AssertionError(f"there is no verb {verb}")

    def _drain(self) -> None:
        landed = dict(sorted(_table_folders(self._zone)))
        owners = {self._name(p): p for p, folder in self._folders.items() if folder.has_table}
        for path in self._folders.keys() - landed.keys():
            if self._folders[path].applied or self._folders[path].has_table:
                self._miss(self._folders[path])
            else:
                del self._folders[path]  # nothing of it is left
        for path, place in landed.items():
            policy = self._settings.policy_of(self._name(path))
            folder = self._folders.setdefault(path, _Folder(place, policy))
            folder.policy = policy
            if folder.held:
                folder.state = "held"
                folder.applied *= folder.incarnation is self._incarnations.of(str(path))
            elif owners.setdefault(self._name(path), path) != path:
                folder.state = _pause(Code.TABLE_NAME_COLLISION).state
            else:
                self._folders[path] = self._reconcile(folder, self._incarnations.of(str(path)))

        for path in landed:
            folder = self._folders[path]
            is_wanted = folder.policy.history is HistoryPolicy.SCD2
            if is_wanted:
                self._pasts.without_file(path, _now_of(folder))

    def _name(self, path: TablePath) -> TableName:
        return table_name(path, self._settings.default_schema).folded

    def _miss(self, folder: _Folder) -> None:
        """The folder is not there: after two drains its table is dropped."""
        if folder.held:
            folder.state = "held"
        else:
            folder.missed += 1
            folder.state = "dropped" if folder.is_dropped else {"waiting": "grace"}

    def _reconcile(self, folder: _Folder, incarnation: Incarnation) -> _Folder:
        """The folder after this drain: a new incarnation takes the table with its first file."""
        new = (
            folder
            if folder.incarnation is incarnation
            else _Folder(folder.path, folder.policy, incarnation=incarnation)
        )
        if folder.incarnation is None:
            new.done.to_reread = list(folder.done.contents)
            new.done.archived, new.done.given_up = folder.done.archived, folder.done.given_up
            new.skipped, new.given_up = folder.skipped, folder.given_up
            new.stop = folder.stop
        new.missed = folder.missed = 0
        try:
            self._apply_all(new)
            new.held, new.stop = new.stop is not None, None
            new.state = "held" if new.held else "idle"
        except _Stop as stop:
            new.state = stop.state
        if new.applied and not new.schema.columns:
            new.state = {"waiting": "schema"}
        if new is folder or new.schema.columns or not folder.schema.columns:
            return new
        folder.state, folder.warnings, folder.applied = new.state, new.warnings, 0
        return folder

    def outcome(self, of: TableFolder) -> Outcome:
        if of.is_history:
            return self._pasts.outcome(of.path)
        folder = self._folders[of.path]
        columns = () if folder.is_dropped else folder.schema.columns
        rows = [
            encoded({c.name: typed(row[c.name], c.type) for c in columns}, columns)
            for row in folder.table.rows
        ]
        warnings = tuple(sorted(folder.shown))
        if not columns and not folder.is_dropped:
            return Outcome((), [], folder.state, "0", warnings)
        if not columns:
            return Outcome((), [], folder.state, str(folder.applied), warnings)
        return Outcome(columns, rows, folder.state, str(folder.applied), warnings)

    def order(self, path: TablePath) -> list[str]:
        """Names of what is applied, in that order, where a table has a ledger."""
        return list(self._folders[path].done.contents)

    def _apply_all(self, folder: _Folder) -> None:
        parsed = _change_files(folder, _declared(folder))
        metadata = _rules(folder)
        if has_ledger(metadata):
            self._apply_in_turn(folder, parsed, metadata)
            return
        files = {one.number or 0: one.path for one in parsed}
        sequence = folder.applied
        end = max(files, default=0)
        while sequence < (end if folder.stop is None else min(end, folder.stop)):
            sequence += 1
            if sequence not in files:
                if sequence <= folder.given_up:
                    continue
                raise _Stop({"waiting": "gap", "sequence": str(sequence)})
            file = files[sequence]
            if file.is_file() and (file.name, file.read_bytes()) in folder.skipped:
                continue
            self._apply(folder, file, metadata, file.name, sequence)
            folder.applied, folder.frozen = sequence, metadata

    def _apply_in_turn(self, folder: _Folder, parsed: list[Filed], rules: TableMetadata) -> None:
        done, archive = folder.done, folder.path / "_ProcessedFiles"
        skipped = _skipped(folder, parsed)
        if any(done.again(parsed, skipped)):
            folder.warnings = (*folder.warnings, Code.SEQUENCE_REUSED.value)
        self._accept(folder, parsed)
        while done.to_reread and (folder.stop is None or folder.applied < folder.stop):
            name = done.to_reread.pop(0)
            place = (archive if name in done.archived else folder.path) / name
            self._apply_next(folder, Filed(place, name, None), rules)
        if folder.stop is not None:
            return
        unready: dict[str, _Stop] = {}
        while ready := in_order(
            [
                head
                for head in heads(parsed, done, skipped)
                if isinstance(head, Filed) and head.worker not in unready
            ]
        ):
            try:
                self._apply_next(folder, ready[0], rules)
            except _Stop as stop:
                if "waiting" not in stop.state:
                    raise
                unready[ready[0].worker] = stop
        left = list(heads(parsed, done, skipped))
        for file in in_order([head for head in left if isinstance(head, Filed)]):
            raise unready[file.worker]
        for gap in sorted((g for g in left if isinstance(g, Gap)), key=lambda gap: gap.since):
            of = {"sequence": str(gap.number), "partition": gap.partition}
            raise _Stop({"waiting": "gap", **of})

    def _accept(self, folder: _Folder, parsed: list[Filed]) -> None:
        """What was written over after it was applied."""
        done, there = folder.done, {one.name: one for one in parsed}
        for one in done.written_again(parsed):
            done.ages[one.name] = one.age
            done.written_over[Code.FILE_REWRITTEN.value] = None
        for name in list(done.overwritten(parsed)):
            if folder.policy.overwritten is OverwrittenFiles.PAUSE:
                raise _pause(Code.APPLIED_FILE_CHANGED, name)
            done.contents[name], done.ages[name] = there[name].content, there[name].age
            done.written_over[Code.OVERWRITE_IGNORED.value] = None
        folder.warnings = (*folder.warnings, *done.written_over)

    def _apply_next(self, folder: _Folder, one: Filed, rules: TableMetadata) -> None:
        try:
            self._apply(folder, one.path, rules, one.name, folder.applied + 1)
        except _Stop as stop:
            if "waiting" in stop.state:
                of = {"sequence": str(one.number), "partition": one.partition}
                raise _Stop({"waiting": "incomplete", **(of if one.number else {})}) from stop
            raise _Stop({**stop.state, "file": one.name}) from stop
        folder.done.contents[one.name], folder.done.ages[one.name] = one.content, one.age
        folder.applied, folder.frozen = folder.applied + 1, rules

    def _apply(
        self, folder: _Folder, file: Path, rules: TableMetadata, name: str, number: int
    ) -> None:
        facts = self._facts(file, rules.text)
        keyless = [key for key in rules.key_columns if facts.schema.find(key) is None]
        if keyless and facts.rows:
            raise _pause(Code.KEY_COLUMN_MISSING, file.name)
        ntz = folder.policy.zoneless is ZonelessTimestamps.NTZ
        zoneless = ColumnType("timestamp_ntz" if ntz else "timestamp")
        incoming = facts.schema
        if folder.policy.whole_floats is WholeFloats.INTEGER and rules.text is None:
            incoming = _floats_as_integers(incoming, folder.schema)
        if folder.confirmed and folder.marks and folder.policy.delete is DeletePolicy.HARD:
            left = tuple(c for c in folder.schema.columns if c.name != DELETED_AT)
            folder.schema, folder.marks = TableSchema(left), False
            folder.table = without_marked(folder.table)
        folder.confirmed = False
        soft, lineage = _soft(folder, rules), _lineage(folder)
        self._check_names(folder, facts.schema, soft, lineage, rules, file)
        union = union_schema(folder.schema, in_table(incoming, folder.schema, zoneless))
        stops = folder.policy.type_change is TypeChange.STOP
        if not isinstance(union, SchemaUnion) or (stops and union.widened):
            raise _pause(Code.SCHEMA_MERGE_FAILURE, file.name)
        seen = _with_ours(union.schema, soft, lineage)
        if soft and soft.time_column and seen.columns and not _has_time(seen, soft.time_column):
            raise _pause(Code.MIRROR_SETTINGS_INVALID, file.name)
        losing = Losing(folder.policy, rules)
        try:
            rows = list(_read(file, facts, seen, losing))
        except NotWhole as error:
            raise _pause(Code.VALUE_INVALID, file.name) from error
        for marker, absent, _ in rows:
            if marker not in set(Marker):
                raise _pause(Code.ROW_MARKER_INVALID, file.name)
            if marker not in (Marker.INSERT, Marker.TRUNCATE) and not rules.key_columns:
                raise _pause(Code.KEY_COLUMNS_UNDECLARED, file.name)
            known = {fold_case(name) for name in facts.schema.names}
            known -= {fold_case(name) for name in rules.key_columns}
            if absent is not None and (rules.version_column or not absent or absent - known):
                raise _pause(Code.ROW_MARKER_INVALID, file.name)
        table = table_in(folder.table, seen, rules.key_columns, rules.version_column, soft, lineage)
        upserts = folder.policy.insert is InsertPolicy.UPSERT and rules.key_columns
        changes = [
            Change(
                Marker.UPSERT if upserts and marker == 0 else Marker(marker),  # type: ignore[arg-type]
                row,
                absent or frozenset(),
            )
            for marker, absent, row in rows
        ]
        try:
            changed = ChangeFile(facts.schema.names, changes, name, number)
            apply_file(table, changed, datetime.now(UTC))
        except NoRowToUpdate:
            raise _pause(Code.NO_ROW_TO_UPDATE, file.name) from None
        if folder.policy.history is HistoryPolicy.SCD2:
            path = TablePath.parse(str(folder.path.relative_to(self._zone)))
            read = ChangeFile(facts.schema.names, changes)
            ours = {DELETED_AT} if soft else set[str]()
            ours.update(LINEAGE if lineage is not Lineage.NONE else ())
            own = tuple(c for c in seen.columns if c.name not in ours)
            before = _now_of(folder)
            self._pasts.take(path, before, rules, TableSchema(own), read, file.name)
        folder.schema, folder.table, folder.marks = seen, table, soft is not None
        folder.has_lineage = lineage is not Lineage.NONE
        folder.has_lost |= losing.has_lost

    def _check_names(
        self,
        folder: _Folder,
        found: TableSchema,
        soft: SoftDeletes | None,
        lineage: Lineage,
        rules: TableMetadata,
        file: Path,
    ) -> None:
        ours = {DELETED_AT} if soft else set[str]()
        kept = {DELETED_AT} if soft and folder.marks else set[str]()
        if lineage is not Lineage.NONE:
            ours.update(LINEAGE)
            kept.update(LINEAGE if folder.has_lineage else ())
        declared = fold_case(rules.version_column or "")
        if declared in ours or any(folder.schema.find(name) for name in ours - kept):
            raise _pause(Code.COLUMN_NAME_RESERVED)
        if any(found.find(name) for name in ours):
            raise _pause(Code.COLUMN_NAME_RESERVED, file.name)

    def _facts(self, file: Path, text: TextFormat | None) -> FileFacts:
        if file.is_dir():
            raise _pause(Code.NOT_A_FILE, file.name)
        path = StorePath(file.relative_to(self._zone).as_posix())
        entry = Entry(file.name, False, 0, None, "")  # type: ignore[arg-type]
        facts = self._inspector.inspect(path, entry, text)
        if facts.completeness is Completeness.INCOMPLETE:
            if time.time() - file.stat().st_mtime > 600:
                raise _pause(Code.FILE_INCOMPLETE, file.name)
            raise _Stop(
                {"waiting": "incomplete", "sequence": file.name.partition(".")[0].lstrip("0")}
            )
        if facts.completeness is Completeness.BROKEN:
            raise _pause(Code.FILE_UNREADABLE, file.name)
        if facts.broken:
            raise _pause(facts.broken.code, file.name)
        return facts


def _now_of(folder: _Folder) -> Now:
    live = without_marked(folder.table) if folder.marks else folder.table
    columns = tuple(c for c in folder.schema.columns if c.name != DELETED_AT or not folder.marks)
    rules = folder.frozen or TableMetadata()
    return Now(live, TableSchema(columns), rules, folder.applied, folder.incarnation)


def _soft(folder: _Folder, rules: TableMetadata) -> SoftDeletes | None:
    """A table that has begun to mark rows goes on, until its rows are replaced."""
    asked = folder.marks or folder.policy.delete is DeletePolicy.SOFT
    return SoftDeletes(folder.policy.deleted_at) if asked and rules.key_columns else None


def _lineage(folder: _Folder) -> Lineage:
    """What is no longer asked for stays as empty columns, until its rows are replaced."""
    if folder.policy.lineage:
        return Lineage.WRITTEN
    return Lineage.EMPTY if folder.has_lineage else Lineage.NONE


_TYPES = ("string", "long", "long", "timestamp", "string")


def _with_ours(schema: TableSchema, soft: SoftDeletes | None, lineage: Lineage) -> TableSchema:
    ours = [(DELETED_AT, "timestamp")] if soft else []
    if lineage is Lineage.WRITTEN:
        ours += zip(LINEAGE, _TYPES, strict=True)
    new = [Column(name, ColumnType(kind)) for name, kind in ours if not schema.find(name)]
    return TableSchema((*schema.columns, *new)) if schema.columns else schema


def _has_time(schema: TableSchema, name: str) -> bool:
    column = schema.find(name)
    return column is not None and column.type in ("timestamp", "timestamp_ntz", "date")


def _table_folders(zone: Path) -> Iterator[tuple[TablePath, Path]]:
    for place in _visible_folders(zone):
        schema = place.name.removesuffix(".schema")
        if schema == place.name:
            yield TablePath("", place.name), place
        elif schema:
            for inner in _visible_folders(place):
                yield TablePath(schema, inner.name), inner


def _visible_folders(place: Path) -> Iterator[Path]:
    return (p for p in place.iterdir() if p.is_dir() and not is_reserved(p.name))


def _skipped(folder: _Folder, parsed: list[Filed]) -> set[str]:
    return {one.name for one in parsed if (one.name, one.content) in folder.skipped}


def _declared(folder: _Folder) -> TableMetadata:
    """What is declared, as far as it can be read.

    How files are found never changes in an incarnation.
    """
    place = folder.path / "_metadata.json"
    content = place.read_bytes() if place.exists() else b""
    frozen = folder.frozen
    declared = parse_metadata(content) if content.strip() else frozen
    if not isinstance(declared, TableMetadata):
        return frozen or _with_format(folder, TableMetadata())
    if frozen is None:
        return _with_format(folder, declared)
    found = replace(declared, detection=frozen.detection, partitioned=frozen.partitioned)
    return _with_format(folder, found)


_CSV = TextFormat()


def _with_format(folder: _Folder, rules: TableMetadata) -> TableMetadata:
    """The rules with the format of the first file, where nothing else says which it is."""
    if rules.declares_format:
        return rules
    if folder.frozen:
        return replace(rules, text=folder.frozen.text)
    return replace(rules, text=_formats(folder, rules)[0])


def _formats(folder: _Folder, rules: TableMetadata) -> list[TextFormat | None]:
    """The formats that files of this folder are called after, that of the first one first."""
    found = []
    for text in (None, _CSV):
        naming = NamingScheme(
            rules.detection, rules.partitioned, text.extension if text else "parquet"
        )
        files = [
            (parsed.number or 0, file.stat().st_mtime, name)
            for file in folder.path.rglob("*")
            if isinstance(
                parsed := read_name(naming, name := str(file.relative_to(folder.path))), ParsedName
            )
        ]
        found += [(min(files), text)] if files else []
    return [text for _, text in sorted(found, key=lambda first: first[0])] or [None]


def _change_files(folder: _Folder, rules: TableMetadata) -> list[Filed]:
    extension = rules.text.extension if rules.text else "parquet"
    naming = NamingScheme(rules.detection, rules.partitioned, extension)
    found: list[Filed] = []
    warnings: dict[str, None] = {}
    places = [folder.path]
    while places:
        for file in sorted(places.pop().iterdir()):
            if rules.partitioned and file.is_dir() and is_partition(file.name):
                places.append(file)
                continue
            name = file.relative_to(folder.path).as_posix()
            match read_name(naming, name):
                case ParsedName(_, number):
                    found.append(Filed(file, name, number))
                case NotAChangeFile():
                    sent = may_hold_changes(naming, name, is_folder=file.is_dir())
                    code = Code.FILE_NEVER_READ if sent else Code.FILE_NAME_INVALID
                    warnings[code.value] = None
    place = folder.path / "_metadata.json"
    content = place.read_bytes() if place.exists() else b""
    declared = parse_metadata(content) if content.strip() else None
    says = isinstance(declared, TableMetadata) and declared.declares_format
    is_open = folder.frozen is None and not says
    broken = isinstance(declared, Broken)
    if is_open and (broken or len(_formats(folder, rules)) > 1):
        warnings.pop(Code.FILE_NEVER_READ.value, None)
    elif rules.text == _CSV and not says and not broken:
        warnings[Code.FILE_FORMAT_ASSUMED.value] = None
    folder.warnings = tuple(warnings)
    return found


def _rules(folder: _Folder) -> TableMetadata:
    place = folder.path / "_metadata.json"
    content = place.read_bytes() if place.exists() else b""
    if not content.strip() and folder.frozen:
        return folder.frozen
    if not content.strip():
        content = b"{}"
    metadata = parse_metadata(content)
    if isinstance(metadata, Broken):
        raise _pause(metadata.code)
    if metadata.repairs:
        folder.warnings = (*folder.warnings, Code.METADATA_REPAIRED.value)
    if metadata.misspelt:
        folder.warnings = (*folder.warnings, Code.METADATA_KEY_UNKNOWN.value)
    if frozen := folder.frozen:
        if frozen.key_columns and _names(metadata) != _names(frozen):
            raise _pause(Code.KEY_COLUMNS_CHANGED)
        options = [(m.default_marker, m.detection, m.partitioned) for m in (metadata, frozen)]
        if options[0] != options[1]:
            raise _pause(Code.PINNED_OPTION_CHANGED)
        if fold_case(metadata.version_column or "") != fold_case(frozen.version_column or ""):
            raise _pause(Code.PINNED_OPTION_CHANGED)
    if not folder.frozen and not metadata.declares_format and len(_formats(folder, metadata)) > 1:
        raise _pause(Code.FILE_FORMAT_UNDECLARED)
    matches = metadata.default_marker is not Marker.INSERT or metadata.version_column is not None
    if matches and not metadata.key_columns:
        raise _pause(Code.KEY_COLUMNS_UNDECLARED)
    return _with_format(folder, metadata)


def _names(metadata: TableMetadata) -> set[str]:
    return {fold_case(name) for name in metadata.key_columns}


def _floats_as_integers(file: TableSchema, table: TableSchema) -> TableSchema:
    of_table = {fold_case(column.name): column.type for column in table.columns}
    return TableSchema(
        tuple(
            replace(column, type=of_table[fold_case(column.name)])
            if column.type in ("float", "double")
            and of_table.get(fold_case(column.name)) in ("byte", "short", "integer", "long")
            else column
            for column in file.columns
        )
    )


def _read(
    file: Path, facts: FileFacts, schema: TableSchema, losing: Losing
) -> Iterator[tuple[int | None, frozenset[str] | None, Row]]:
    rules = losing.rules
    for row in _read_text(file, rules.text, losing) if rules.text else _read_parquet(file, losing):
        marker: int | None = rules.default_marker
        absent = None
        if facts.marker is not None:
            marker, absent = marker_of(row.pop(facts.marker))
        yield marker, absent, row_in(row, schema)


def _read_text(file: Path, text: TextFormat, losing: Losing) -> Iterator[dict[str, Any]]:
    try:
        yield from delimited.rows(file, text, losing.policy.binary_text, losing)
    except delimited.Unreadable as error:
        raise _pause(Code.FILE_UNREADABLE, file.name) from error
    except ValueError as error:
        raise _pause(Code.VALUE_INVALID, file.name) from error


def _read_parquet(file: Path, losing: Losing) -> Iterator[dict[str, Any]]:
    try:
        _refuse_finer_int96(file, losing)
        yield from parquet_rows(open_parquet(file), losing)
    except ValueError as error:  # pyarrow's own, of a time that Python cannot say, is one too
        raise _pause(Code.VALUE_INVALID, file.name) from error


def _refuse_finer_int96(file: Path, losing: Losing) -> None:
    """Of INT96 what is finer is lost without a word, but not in every column."""
    opened = pq.ParquetFile(file)
    if len(opened.schema) != len(opened.schema_arrow):
        return
    silent = replace(losing)
    for number, name in enumerate(opened.schema_arrow.names):
        if opened.schema.column(number).physical_type == "INT96":
            for value in opened.read(columns=[name]).column(0).to_pylist():
                silent.value(name, value)


def open_parquet(source: Path | io.BytesIO) -> pa.Table:
    """The columns of a Parquet file."""
    return pq.ParquetFile(source, coerce_int96_timestamp_unit="us").read()


def parquet_rows(table: pa.Table, losing: Losing | None = None) -> Iterator[dict[str, Any]]:
    """Rows as a table holds them; ValueError for one that none can hold.

    Without `losing`, for columns of which nothing can be lost.
    """
    for number, field_ in enumerate(table.schema):
        if str(field_.type).startswith("duration"):
            table = table.set_column(number, field_.name, table.column(number).cast("int64"))
    kinds = {field_.name: field_.type for field_ in table.schema}
    refuse_times_beyond_a_day(table)
    for row in (losing.times(table) if losing else table).to_pylist():
        yield {
            name: held(losing.value(name, value) if losing else value, kinds[name])
            for name, value in row.items()
        }


def marker_of(value: Any) -> tuple[int | None, frozenset[str] | None]:
    """A marker of a file as a whole number, None for what is none; and the columns it leaves."""
    if isinstance(value, str) and value.startswith("101 "):
        try:
            names = json.loads(value[4:])
        except ValueError:
            return None, None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return None, None
        return Marker.PARTIAL_UPDATE, frozenset(map(fold_case, names))
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None, None
    whole = number.is_finite() and number == int(number) and number != Marker.PARTIAL_UPDATE
    return (int(number) if whole else None), None
