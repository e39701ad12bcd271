"""The verbs of `openmirror azure`: before and after a deployment."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.cli.console import progress_console, result_console, say
from openmirror.cli.options import Json

if TYPE_CHECKING:
    from openmirror.deployment.rules.findings import Finding

EXIT_FAULTS = 1
TIMEOUT = "15min"
"""A job's cluster takes minutes to start."""

SubscriptionOption = Annotated[
    str | None,
    typer.Option(
        "--subscription",
        metavar="ID",
        envvar="AZURE_SUBSCRIPTION_ID",
        help="Id or name; by default the one that `az account set` chose.",
        show_default=False,
    ),
]
ResourceGroup = Annotated[
    str,
    typer.Option(
        "--resource-group",
        "-g",
        metavar="NAME",
        envvar="AZURE_RESOURCE_GROUP",
        help="The resource group of the deployment.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="The deployment's `name`, where a group holds several.",
        show_default=False,
    ),
]

azure = typer.Typer(
    help="Check a subscription before a deployment and the deployment after it.\n\n"
    "Azure is asked as whoever `az login` knows.\n\n"
    "\b\n"
    "Example:\n"
    "  openmirror azure preflight --resource-group mirrors",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@azure.command()
def preflight(
    resource_group: ResourceGroup,
    parameters: Annotated[
        Path | None,
        typer.Option(
            "--parameters",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="The parameters file that will be deployed; without it, all defaults.",
        ),
    ] = None,
    location: Annotated[
        str | None,
        typer.Option(
            "--location",
            metavar="REGION",
            envvar="AZURE_LOCATION",
            help="The region; by default that of the parameters, or of the group.",
            show_default=False,
        ),
    ] = None,
    subscription: SubscriptionOption = None,
    as_json: Json = False,
) -> None:
    """Say what would make a deployment fail, before it is begun. Changes nothing.

    \b
    Example:
      openmirror azure preflight --resource-group mirrors --parameters mine.parameters.json
    """
    from openmirror.deployment.preflight import Intended
    from openmirror.deployment.rules.parameters import Parameters, read_parameters
    from openmirror.wiring import deployment

    try:
        given = (
            read_parameters(parameters.read_text(), os.environ) if parameters else Parameters({})
        )
    except ValueError as error:
        raise typer.BadParameter(f"--parameters: {parameters} is {error}") from None
    with deployment.management(os.environ, subscription) as management:
        intended = Intended(resource_group, given, location)
        _show(management.preflight().findings(intended), as_json=as_json)


@azure.command()
def verify(
    resource_group: ResourceGroup,
    name: Name = None,
    subscription: SubscriptionOption = None,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample/--no-sample",
            help="Land a row in the mirror openmirror-verify, wait until its table has it, and "
            "take it away again. The empty table stays for the next time.",
        ),
    ] = True,
    timeout: Annotated[
        str,
        typer.Option("--timeout", metavar="TIME", help="How long the sample's row is waited for."),
    ] = TIMEOUT,
    as_json: Json = False,
) -> None:
    """Check a deployment: every part is there, may do its work, and a row comes through.

    \b
    Example:
      openmirror azure verify --resource-group mirrors
    """
    from openmirror.wiring import deployment

    with deployment.management(os.environ, subscription) as management:
        verification = management.verification(
            resource_group, name, with_sample=sample, timeout=_duration(timeout), emit=_emit
        )
        _show(verification.findings(), as_json=as_json)


@azure.command()
def outputs(
    resource_group: ResourceGroup,
    name: Name = None,
    subscription: SubscriptionOption = None,
    as_json: Json = False,
) -> None:
    """Print what a deployment made, as variables for a shell and for the Databricks bundle.

    \b
    Example:
      openmirror azure outputs --resource-group mirrors
      eval "$(openmirror azure outputs --resource-group mirrors)"
    """
    from openmirror.wiring import deployment

    with deployment.management(os.environ, subscription) as management:
        found = management.variables(resource_group, name)
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    for variable, value in found.items():
        typer.echo(f"export {variable}={shlex.quote(value)}")


@azure.command()
def publish(
    package: Annotated[
        Path,
        typer.Argument(
            metavar="ZIP",
            exists=True,
            dir_okay=False,
            help="The package, made by `./dev package --vendor`.",
        ),
    ],
    resource_group: ResourceGroup,
    name: Name = None,
    subscription: SubscriptionOption = None,
) -> None:
    """Put a package that has its requirements in it into the Function App. Nothing is built.

    `az functionapp deployment source config-zip` has Azure build an app in Python in any case,
    which fails where the build reaches no package index.

    \b
    Example:
      openmirror azure publish dist/openmirror-functions-1.0.0.zip --resource-group mirrors
    """
    from openmirror.wiring import deployment

    with deployment.management(os.environ, subscription) as management:
        for line in management.publish(resource_group, name, package.read_bytes()):
            say(line)
    say("published")


def _show(findings: Iterable[Finding], *, as_json: bool) -> None:
    """Say each as it comes, then all of them; exit code 1 when one is a fault."""
    from openmirror.cli.findings_table import findings_json, findings_table
    from openmirror.deployment.rules.findings import has_faults

    found: list[Finding] = []
    try:
        for finding in findings:
            found.append(finding)
            _emit(f"{finding.verdict:8}{finding.check}: {finding.what}")
    finally:
        # Whatever ended it: what was found until then is worth reading.
        if as_json:
            typer.echo(json.dumps(findings_json(found), indent=1, ensure_ascii=False))
        elif found:
            result_console().print(findings_table(found))
    if has_faults(found):
        raise typer.Exit(EXIT_FAULTS)


def _emit(text: str) -> None:
    progress_console().print(text, style="dim", markup=False, soft_wrap=True)


def _duration(text: str) -> timedelta:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"--timeout must be {error}") from None
