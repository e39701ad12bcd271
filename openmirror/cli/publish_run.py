"""`publish` without its command line: reads, asks, sends, and answers what became of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from openmirror.cli.options import account_key
from openmirror.cli.publish_progress import PublishProgress
from openmirror.errors import WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import TableSchema
from openmirror.publishing import Patience, Publisher, PublisherOptions
from openmirror.publishing.naming import table_path
from openmirror.publishing.newest import ZoneState, change_files, zone_state
from openmirror.publishing.patience import PatientStore
from openmirror.publishing.places import zone_place
from openmirror.publishing.positions import SourcePosition, SourceProgress
from openmirror.publishing.reading import (
    InputFile,
    InputKind,
    OpenInput,
    TextOptions,
    declared_types,
    find_inputs,
    input_from_stream,
    open_input,
)
from openmirror.publishing.sending import (
    PublishedBefore,
    Sent,
    checksum,
    mode_of,
    send,
    source_of,
)
from openmirror.publishing.snapshots import (
    Doubt,
    SnapshotOutcome,
    SnapshotRun,
    SnapshotTable,
    Spool,
    preview_snapshot,
    publish_snapshot,
    spool,
)
from openmirror.publishing.snapshots.table import SOURCE
from openmirror.table.layout import StorePath, join


@dataclass(frozen=True, kw_only=True)
class PublishRequest:
    """What the command line asks for."""

    file: Path | None
    """None is standard input."""
    zone: str | Path
    table: str
    key: tuple[str, ...]
    is_snapshot: bool
    is_plan: bool
    mode: Marker | None
    types: Mapping[str, str]
    kind: InputKind | None
    text: TextOptions
    source: str | None
    position: SourcePosition | None
    yes: bool
    most_deleted: float
    """A share, 0 to 1."""
    rebase: bool
    default_schema: str


@dataclass(frozen=True, kw_only=True)
class PublishOutcome:
    """What became of it."""

    table: str
    is_plan: bool
    snapshot: SnapshotOutcome | None = None
    sent: tuple[Sent, ...] = ()
    columns: TableSchema = TableSchema()
    """Of what was read last."""
    newest: int = 0
    """The number of the table's newest change file; 0 without one."""
    refused: str | None = None
    """Why nothing was sent, where a person had to be asked and did not allow it."""


@dataclass(frozen=True)
class _Place:
    """A table's folder in its zone, and who writes into it."""

    store: FileStore
    zone: Publisher
    folder: StorePath

    def state(self) -> ZoneState:
        """How the folder is now; empty where there is none."""
        if self.store.incarnation(self.folder) is None:
            return ZoneState()
        return zone_state(self.store, self.folder, change_files(self.store, self.folder))


def run(request: PublishRequest, stdin: BinaryIO, progress: PublishProgress) -> PublishOutcome:
    """Do it; raises OpenmirrorError with one message for whatever keeps it from being done."""
    with tempfile.TemporaryDirectory(prefix="openmirror-publish-") as made:
        temp = Path(made)
        if request.file is None:
            inputs = [input_from_stream(stdin, request.kind, temp)]
        else:
            inputs = find_inputs(request.file, request.kind)
        if request.source is not None and len(inputs) > 1:
            raise WrongRequest("--source and --position speak of one file, and there are several")
        with _place(request) as place:
            if request.is_snapshot:
                return _snapshot(request, inputs, place, temp, progress)
            return _files(request, inputs, place, temp, progress)


@contextmanager
def _place(request: PublishRequest) -> Iterator[_Place]:
    path = table_path(request.table)
    at = zone_place(request.zone, account_key())
    options = PublisherOptions(default_schema=request.default_schema)
    folder = join(at.path, *str(path).split("/"))
    try:
        with Publisher.of_store(at.store, at.path, options) as zone:
            yield _Place(PatientStore(at.store, Patience()), zone, folder)
    finally:
        at.close()


def _snapshot(
    request: PublishRequest,
    inputs: list[InputFile],
    place: _Place,
    temp: Path,
    progress: PublishProgress,
) -> PublishOutcome:
    read = TableSchema()

    def snapshot(known: TableSchema) -> Spool:
        nonlocal read
        opened = _opened(request, inputs, known)
        progress.name = f"{len(inputs)} files" if len(inputs) > 1 else inputs[0].name
        made = spool(opened, known, temp / "spool.parquet", _reading(progress))
        read = made.columns
        return made

    given = SnapshotRun(
        key=request.key,
        temp=temp,
        ask=lambda doubt: request.yes or progress.confirm(doubt.why),
        most_deleted=request.most_deleted,
        report=progress.report,
    )
    incarnation = place.store.incarnation(place.folder)
    if request.is_plan or request.rebase:
        is_new = request.rebase or incarnation is None
        table = None if is_new else SnapshotTable(place.store, place.folder, incarnation)
        preview = preview_snapshot(table, snapshot, given)
        doubt = preview.doubt
        if request.is_plan or (doubt is not None and not given.ask(doubt)):
            refused = None if request.is_plan or doubt is None else doubt.why
            return _outcome(request, place, snapshot=preview, columns=read, refused=refused)
        given = replace(given, ask=_allow)
    with place.zone.table(
        request.table, request.key, source=SOURCE, recreate=request.rebase
    ) as writer:
        now = place.store.incarnation(place.folder)
        table = SnapshotTable(place.store, place.folder, now)
        outcome = publish_snapshot(table, writer, snapshot, given)
    refused = outcome.doubt.why if outcome.doubt is not None else None
    return _outcome(request, place, snapshot=outcome, columns=read, refused=refused)


def _files(
    request: PublishRequest,
    inputs: list[InputFile],
    place: _Place,
    temp: Path,
    progress: PublishProgress,
) -> PublishOutcome:
    if request.source == SOURCE:
        raise WrongRequest(f"the source {SOURCE!r} is that of --snapshot: choose another name")
    if place.state().progress(SOURCE).file is not None:
        raise WrongRequest(
            f"{request.table} is kept by snapshots, which would not know of these rows: publish "
            "the whole table with --snapshot, or begin it anew under another name"
        )
    sent: list[Sent] = []
    columns = TableSchema()
    for given in inputs:
        progress.name = given.name
        one, columns = _file(request, given, place, temp, progress)
        sent.append(one)
    return _outcome(request, place, sent=tuple(sent), columns=columns)


def _file(
    request: PublishRequest,
    given: InputFile,
    place: _Place,
    temp: Path,
    progress: PublishProgress,
) -> tuple[Sent, TableSchema]:
    source, position = _position(request, given)
    state = place.state()
    known = state.columns
    again = f"{source} {position}"
    if position is not None and position in (
        state.progress(source).position,
        state.progress(again).position,
    ):
        return Sent(given.name, 0, was_published=True), known
    read = spool(
        _opened(request, [given], known), known, temp / "spool.parquet", _reading(progress)
    )
    mode = mode_of(read, request.mode, has_key=bool(request.key))
    landed = state.progress(source)
    if request.source is None and (why := _repeated(given, mode, landed, position)) is not None:
        if not request.is_plan and not request.yes and not progress.confirm(why):
            raise PublishedBefore(f"{why}. --yes sends all of it; files before it were sent")
        # A batch that was begun with other bytes can be ended by nobody.
        source = again if landed.open is not None else source
    if not request.is_plan:
        if not read.rows and request.source is None:
            position = None  # an empty export is no version of its file that a later one repeats
        with place.zone.table(request.table, request.key or None, source=source) as writer:
            send(writer, read, mode, position, lambda rows: progress.report("sending", rows))
    return Sent(given.name, read.rows), read.columns


def _repeated(
    given: InputFile, mode: Marker | None, landed: SourceProgress, position: SourcePosition | None
) -> str | None:
    """Why rows of a file that was sent before with other bytes may be there twice."""
    if landed.open is not None and landed.open.position != position:
        return f"{given.name} was sent in part, {landed.open.rows:,} rows of it, and has changed"
    if mode is Marker.INSERT and landed.position is not None:
        return f"{given.name} was sent before with other rows, and would be inserted once more"
    return None


def _position(request: PublishRequest, given: InputFile) -> tuple[str, SourcePosition | None]:
    if request.source is not None:
        return request.source, request.position
    if request.file is None:
        return "standard input", None
    return source_of(given.path.name), checksum(given.path)


def _opened(
    request: PublishRequest, inputs: list[InputFile], known: TableSchema
) -> list[OpenInput]:
    types = declared_types(request.types, known)
    opened = [open_input(given, types, request.text) for given in inputs]
    for name in request.types:
        if all(one.columns.find(name) is None for one in opened):
            there = ", ".join(opened[0].columns.names)
            raise WrongRequest(f"--type names {name!r}, which no input has; it has {there}")
    return opened


def _reading(progress: PublishProgress) -> Callable[[int], None]:
    return lambda rows: progress.report("reading", rows)


def _allow(_: Doubt) -> bool:
    return True


def _outcome(request: PublishRequest, place: _Place, **found: object) -> PublishOutcome:
    return PublishOutcome(
        table=request.table,
        is_plan=request.is_plan,
        newest=place.state().sequence,
        **found,  # type: ignore[arg-type]
    )
