"""The command line as a whole: its verbs in the order of need, and what its errors look like."""

from __future__ import annotations

import logging
import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import openmirror
from openmirror.cli import (
    cdc_database,
    cdc_follow,
    cdc_resnapshot,
    cdc_run,
    cdc_template,
    check_verb,
    read_verbs,
    request_verbs,
    run_verbs,
    serve_verb,
)
from openmirror.cli.as_of_verb import as_of
from openmirror.cli.azure_verbs import azure
from openmirror.cli.cdc_verbs import cdc
from openmirror.cli.console import say_error
from openmirror.cli.maintain_verb import maintain
from openmirror.cli.publish_verb import publish
from openmirror.cli.readers_verb import readers
from openmirror.errors import OpenmirrorError, RootLocked, is_debug, shown

EXIT_FAILED = 1
EXIT_LOCKED = 4


class Verbs(TyperGroup):
    """Turns the errors of this package into one message and an exit code."""

    def invoke(self, ctx: Any) -> object:
        """Run one verb."""
        try:
            return super().invoke(ctx)
        except OpenmirrorError as error:
            say_error(shown(error, os.environ))
            raise typer.Exit(
                EXIT_LOCKED if isinstance(error, RootLocked) else EXIT_FAILED
            ) from error
        except OSError as error:
            # A full disk or a missing right: the message says all that a traceback would.
            say_error(shown(error, os.environ))
            raise typer.Exit(EXIT_FAILED) from error


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
    # An SDK's refusal is our one sentence already, and its warnings would be pages around it.
    if not is_debug(os.environ):
        for name in ("azure", "azure.identity"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


for verb in (run_verbs.up, run_verbs.drain, serve_verb.serve):
    app.command()(verb)
for view in (read_verbs.status, read_verbs.history, read_verbs.validate, check_verb.check):
    app.command()(view)
app.command("as-of")(as_of)
app.command()(readers)
app.command()(publish)
for request in (
    request_verbs.pause,
    request_verbs.resume,
    request_verbs.retry,
    request_verbs.skip,
    request_verbs.reseed,
):
    app.command()(request)
app.command()(request_verbs.undrop)
app.command("confirm-drops")(request_verbs.confirm_drops)
app.command("confirm-hard-deletes")(request_verbs.confirm_hard_deletes)
app.command()(request_verbs.adopt)
app.command()(run_verbs.clean)
app.command()(maintain)
app.command()(run_verbs.demo)
app.add_typer(azure, name="azure")
cdc.command()(cdc_run.run)
cdc.command()(cdc_resnapshot.resnapshot)
cdc.command()(cdc_follow.follow)
cdc.command()(cdc_template.template)
cdc.command()(cdc_database.check)
cdc.command()(cdc_database.drop)
app.add_typer(cdc, name="cdc")
