"""The verb of publishers: files and snapshots into a landing zone."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import say_error
from openmirror.cli.options import Json
from openmirror.errors import CannotStart

if TYPE_CHECKING:
    from openmirror.protocol.rows import Marker
    from openmirror.publishing.reading import InputKind

EXIT_ASKS = 3
_STDIN = "-"
_EXTRA = "openmirror[cli,publish]"
_MODES = "insert, upsert, update or delete"


def publish(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Parquet, CSV, text of a spreadsheet, or JSON lines; a folder of them; - for "
            "standard input.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="ZONE",
            help="The landing zone: a folder, or its URL on a storage account or OneLake.  "
            "[env: OPENMIRROR_ZONE]",
            envvar="OPENMIRROR_ZONE",
            show_envvar=False,
        ),
    ],
    table: Annotated[str, typer.Option("--table", metavar="TABLE", help="schema.table, or table.")],
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="A key column; may be repeated."),
    ] = None,
    snapshot: Annotated[
        bool,
        typer.Option(
            "--snapshot",
            help="FILE is the whole table as it is now: send what differs from the last one.",
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Read and compare, say what would be sent, send nothing.")
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help=f"What the rows do: {_MODES}. Default: upsert with a key, else insert; "
            "with a column __rowMarker__ each row says it.",
            show_default=False,
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="The type of a column of text or JSON: long, double, decimal(18,2), boolean, "
            "date, timestamp, string, …; may be repeated. Text is never guessed at.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, jsonl or parquet, where a name does not say it.",
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="CHARACTER",
            help="Between columns of text; by default what the header has of , ; | and tab.",
            show_default=False,
        ),
    ] = None,
    encoding: Annotated[
        str,
        typer.Option(
            "--encoding", metavar="NAME", help="Of text that does not begin with a mark of its own."
        ),
    ] = "utf-8",
    null: Annotated[
        str,
        typer.Option(
            "--null",
            metavar="TEXT",
            help="What stands for NULL in text, without quotes; by default nothing at all.",
            show_default=False,
        ),
    ] = "",
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Publish FILE as a batch of this source, at --position; one that landed before is "
            "passed over.",
            show_default=False,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            metavar="P",
            help="A whole number, which grows from batch to batch, or a text.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Publish also what would be asked about first."),
    ] = False,
    most_deleted: Annotated[
        int,
        typer.Option(
            "--most-deleted",
            metavar="PERCENT",
            min=0,
            max=100,
            help="With --snapshot: ask before more of the table's rows are deleted.",
        ),
    ] = 50,
    rebase: Annotated[
        bool,
        typer.Option(
            "--rebase",
            help="With --snapshot: delete the table's folder and begin it anew with this snapshot.",
        ),
    ] = False,
    default_schema: Annotated[
        str,
        typer.Option(
            "--default-schema",
            metavar="NAME",
            help="The mirror's: the schema of tables whose folder has none.",
        ),
    ] = "dbo",
    as_json: Json = False,
) -> None:
    """Send rows of files into a landing zone, each file once.

    A file that was sent with these very bytes is passed over, so a folder may be published again
    whenever it has new files. After a crash the same command goes on where it was. With --snapshot
    the file is the whole table: rows that are new or changed are upserted, and those that are gone
    are deleted.

    Exit code 0 when all is sent, 3 when a person is asked first and nothing was sent.

    \b
    Example:
      openmirror publish orders.csv --to ./LandingZone --table dbo.orders --key id --type id=long
      openmirror publish crm.parquet --to ./LandingZone --table crm.people --key id --snapshot
      openmirror publish ./exports --to ./LandingZone --table dbo.events --mode insert --plan
      cat rows.jsonl | openmirror publish - --format jsonl --to ./LandingZone --table log --key id
    """
    _need_duckdb()
    from openmirror.cli.publish_lines import outcome_json, outcome_lines
    from openmirror.cli.publish_progress import PublishProgress
    from openmirror.cli.publish_run import PublishRequest, run
    from openmirror.publishing.reading import TextOptions
    from openmirror.publishing.sending import PublishedBefore
    from openmirror.publishing.snapshots import SnapshotLost

    _need_sense(snapshot=snapshot, key=key, mode=mode, rebase=rebase)
    request = PublishRequest(
        file=None if file == _STDIN else Path(file),
        zone=_zone(to),
        table=table,
        key=tuple(key or ()),
        is_snapshot=snapshot,
        is_plan=plan,
        mode=_mode(mode),
        types=_types(types or []),
        kind=_kind(kind),
        text=TextOptions(_separator(separator), encoding, null),
        source=source,
        position=_position(source, position),
        yes=yes,
        most_deleted=most_deleted / 100,
        rebase=rebase,
        default_schema=default_schema,
    )
    try:
        with PublishProgress() as progress:
            outcome = run(request, sys.stdin.buffer, progress)
    except (SnapshotLost, PublishedBefore) as error:
        say_error(str(error))
        raise typer.Exit(EXIT_ASKS) from error
    if as_json:
        typer.echo(json.dumps(outcome_json(outcome), indent=1, ensure_ascii=False))
    else:
        for line in outcome_lines(outcome):
            typer.echo(line)
    if outcome.refused is not None:
        say_error(f"{outcome.refused}. Nothing was sent; --yes sends it")
        raise typer.Exit(EXIT_ASKS)


def _need_duckdb() -> None:
    try:
        import_module("duckdb")
    except ModuleNotFoundError as error:
        raise CannotStart(f"`publish` needs {error.name}: pip install '{_EXTRA}'") from None


def _need_sense(*, snapshot: bool, key: list[str] | None, mode: str | None, rebase: bool) -> None:
    if snapshot and not key:
        raise typer.BadParameter("--snapshot needs --key: rows are compared by their key")
    if snapshot and mode is not None:
        raise typer.BadParameter("--snapshot finds out what each row does: leave out --mode")
    if rebase and not snapshot:
        raise typer.BadParameter("--rebase is for --snapshot alone")


def _zone(to: str) -> str | Path:
    if "://" in to:
        return to
    folder = Path(to).expanduser()
    if not folder.is_dir():
        raise typer.BadParameter(f"--to: there is no folder {to}: mkdir -p {folder}")
    return folder


def _mode(text: str | None) -> Marker | None:
    from openmirror.protocol.rows import PUBLISHED

    modes = {marker.name.lower(): marker for marker in sorted(PUBLISHED)}
    if text is not None and text not in modes:
        raise typer.BadParameter(f"--mode is {text!r}; it must be {_MODES}")
    return None if text is None else modes[text]


def _kind(text: str | None) -> InputKind | None:
    from openmirror.publishing.reading import InputKind

    try:
        return None if text is None else InputKind(text)
    except ValueError:
        allowed = ", ".join(InputKind)
        raise typer.BadParameter(f"--format is {text!r}; it must be one of {allowed}") from None


def _types(given: list[str]) -> dict[str, str]:
    from openmirror.publishing.reading import declared_types

    found: dict[str, str] = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--type is {text!r}; write COLUMN=TYPE, such as id=long")
        if name in found:
            raise typer.BadParameter(f"--type names {name!r} twice")
        found[name] = kind
    try:
        declared_types(found)
    except ValueError as error:
        raise typer.BadParameter(f"--type: {error}") from None
    return found


def _separator(text: str | None) -> str | None:
    text = "\t" if text in ("\\t", "tab") else text
    if text is not None and (len(text) != 1 or text in '\r\n"'):
        raise typer.BadParameter(f"--separator is {text!r}; it must be one character")
    return text


def _position(source: str | None, text: str | None) -> int | str | None:
    if (source is None) != (text is None):
        raise typer.BadParameter("--source and --position go together")
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
