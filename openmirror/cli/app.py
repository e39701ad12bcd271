"""The command line as a whole: its verbs in the order of need, and what its errors look like."""

from __future__ import annotations

import os
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import openmirror
from openmirror.cli import asking, running, serving, showing
from openmirror.cli.azure import azure
from openmirror.cli.console import say_error
from openmirror.errors import OpenmirrorError, RootLocked

EXIT_FAILED = 1
EXIT_LOCKED = 4


class Verbs(TyperGroup):
    """Turns the errors of this package into one message and an exit code."""

    def invoke(self, ctx: Any) -> object:
        """Run one verb."""
        try:
            return super().invoke(ctx)
        except OpenmirrorError as error:
            _tell(error)
            raise typer.Exit(
                EXIT_LOCKED if isinstance(error, RootLocked) else EXIT_FAILED
            ) from error
        except OSError as error:
            # A full disk or a missing right: the message says all that a traceback would.
            _tell(error)
            raise typer.Exit(EXIT_FAILED) from error


def _tell(error: Exception) -> None:
    if os.environ.get("OPENMIRROR_DEBUG", "").lower() in ("1", "true", "yes", "on"):
        say_error("".join(traceback.format_exception(error)).rstrip())
    else:
        say_error(str(error) or type(error).__name__)


# Plain help is both faster and easier to read in a log than boxes.
app = typer.Typer(
    cls=Verbs,
    help=(
        "Mirror tables into Delta Lake from change files that publishers drop, by the open "
        "mirroring protocol.\n\n"
        "A root is a folder that holds `landing`, where publishers write, and `lake`, where the "
        "tables are. TABLE is [mirror/]schema.table; a part with a dot goes in backquotes.\n\n"
        "Begin with:  openmirror demo\n\n"
        "Every setting is an environment variable too, such as OPENMIRROR_ROOT."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"openmirror {openmirror.__version__}")
        raise typer.Exit


@app.callback()
def _before_any_verb(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say which this is."),
    ] = False,
) -> None:
    pass


for verb in (running.up, running.drain, serving.serve):
    app.command()(verb)
for view in (showing.status, showing.history, showing.validate):
    app.command()(view)
for request in (asking.pause, asking.resume, asking.retry, asking.skip, asking.reseed):
    app.command()(request)
app.command()(asking.undrop)
app.command("confirm-drops")(asking.confirm_drops)
app.command()(asking.adopt)
app.command()(running.clean)
app.command()(running.demo)
app.add_typer(azure, name="azure")
