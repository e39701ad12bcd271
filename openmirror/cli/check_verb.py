"""The verb `check`: whether a publisher keeps the protocol."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import result_console, say
from openmirror.cli.onelake_lines import how_to_reach_onelake
from openmirror.cli.onelake_run import RunBy, begin, surroundings
from openmirror.cli.options import Json, Mirrors, RootOption, settings_for
from openmirror.runtime.stop_signals import stop_signals

if TYPE_CHECKING:
    from openmirror.conformance.evidence import Evidence
    from openmirror.conformance.exchanges import InjectedFault
    from openmirror.conformance.publisher import PublisherCommand, StartCommand
    from openmirror.conformance.rules import Assessed, RuleSeverity
    from openmirror.settings import Settings
    from openmirror.wiring.checking import ObservedAccount

EXIT_FAILED = 1
EXIT_FOUND = 3
_MIRROR = "check"
_STDERR = 2
"""Where the publisher's own words go: what comes to stdout is the report."""
_STOPPING = b"\nassessing what was seen; once more stops at once\n"


class FailOn(StrEnum):
    """From which severity on a broken rule makes the exit code 3."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


def check(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ZONE | -- COMMAND",
            help="A landing zone: a folder, or its https:// URL in an account. With --serve: the "
            "publisher's command, behind `--`.",
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            help="Be the account that a publisher writes to, over --root or an empty folder; with "
            "an https:// root stand in front of that account, and pass everything on: then only "
            "requests are assessed, never what lies in the zone.",
        ),
    ] = False,
    onelake: Annotated[
        bool | None,
        typer.Option(
            "--onelake",
            help="With --serve: be OneLake, Entra ID and Fabric, as `serve --onelake` is, and "
            "start COMMAND so that their names lead it here.",
        ),
    ] = None,
    run_by: Annotated[
        RunBy, typer.Option("--run-by", help="With --onelake: how, as in `serve --run`.")
    ] = RunBy.AUTO,
    faults: Annotated[
        bool,
        typer.Option(
            "--faults",
            help="With --serve: answer by 503 and 412, lose answers, cut connections and kill "
            "COMMAND, each once; never in front of a remote account.",
        ),
    ] = False,
    root: RootOption = None,
    mirror: Mirrors = None,
    port: Annotated[
        int | None, typer.Option("--port", help="With --serve: port to listen on. Default: any.")
    ] = None,
    https: Annotated[
        bool | None,
        typer.Option("--https", help="With --serve: speak https, as `serve --https` does."),
    ] = None,
    as_json: Json = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write JUnit's XML too: a broken rule is a failure, one not tried is skipped.",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="From which severity on the exit code is 3.")
    ] = FailOn.ERROR,
) -> None:
    """Check whether a publisher keeps the protocol: what lies in its zone, and what it asks for.

    Each rule comes out as kept, broken or untried; what nothing could have broken is untried.
    Exit code 0 when no rule of the severity --fail-on is broken, 3 when one is, 1 when COMMAND
    failed or nothing was seen at all.

    \b
    Examples:
      openmirror check ./LandingZone
      openmirror check https://contoso.dfs.core.windows.net/landing/sales/Files/LandingZone
      openmirror check --serve --faults --junit check.xml -- python publish.py
      openmirror check --serve --onelake --mirror sales -- python onelake_publisher.py
    """
    from openmirror.conformance.catalogue import CATALOGUE
    from openmirror.conformance.rules import RuleSeverity, assess

    only_serving = faults or onelake or port is not None or https
    _refuse_wrong_options(what, serve=serve, only_serving=bool(only_serving))
    begun = time.monotonic()
    if serve:
        any_port = None if onelake else 0
        options = {
            "serve_port": any_port if port is None else port,
            "serve_https": https,
            "serve_onelake": onelake,
        }
        with _root(root) as over:
            settings = settings_for(over, options=options)
            evidence = _seen(settings, what or [], mirror or [_MIRROR], run_by, faults=faults)
    else:
        evidence = _lying(settings_for(root), what or [], mirror or [])
    assessed = assess(CATALOGUE, evidence)
    least = RuleSeverity(fail_on)
    _report(assessed, as_json=as_json)
    if junit is not None:
        from openmirror.conformance.report import as_junit

        junit.write_bytes(as_junit(assessed, least, time.monotonic() - begun))
    _exit(assessed, evidence, least)


def _refuse_wrong_options(what: list[str] | None, *, serve: bool, only_serving: bool) -> None:
    if not serve and only_serving:
        raise typer.BadParameter("--faults, --onelake, --port and --https go with --serve")
    if not serve and what and len(what) > 1:
        raise typer.BadParameter("one landing zone at a time; a COMMAND goes with --serve")


@contextmanager
def _root(given: str | None) -> Iterator[str]:
    """The root that was given, or an empty one; never the one of the environment."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="openmirror-check-") as folder:
        yield folder


def _lying(settings: Settings, what: Sequence[str], chosen: Sequence[str]) -> Evidence:
    """What lies in a zone, or in those of the root."""
    from openmirror import wiring
    from openmirror.conformance.evidence import Evidence
    from openmirror.errors import Malformed

    if not what:
        return Evidence(zones=wiring.zones_of(settings, chosen))
    try:
        if "://" in what[0]:
            return Evidence(zones=(wiring.zone_at(settings, what[0]),))
        folder = Path(what[0])
        if not folder.is_dir():
            raise typer.BadParameter(f"{folder} is no folder")
        return Evidence(zones=(wiring.zone_in_folder(settings, folder),))
    except Malformed as error:
        raise typer.BadParameter(str(error)) from None


def _seen(
    settings: Settings,
    command: Sequence[str],
    chosen: Sequence[str],
    run_by: RunBy,
    *,
    faults: bool,
) -> Evidence:
    """What a publisher asks of an account, and what lies there afterwards."""
    from openmirror import wiring
    from openmirror.conformance.evidence import Evidence
    from openmirror.conformance.faults import RESTARTS, WITHOUT_COMMAND
    from openmirror.conformance.publisher import beginning
    from openmirror.conformance.retracing import read_history
    from openmirror.ports.storage_account import AccountUrl

    remote = isinstance(settings.root_given(), AccountUrl)
    if faults and remote:
        raise typer.BadParameter("faults are never injected in front of a remote account")
    if remote and settings.serve_onelake:
        raise typer.BadParameter("--onelake is on this machine: its root is a folder")
    if not remote:
        _make_zones(settings.root_folder(), chosen)
    kinds = (*WITHOUT_COMMAND, *(RESTARTS if command else ())) if faults else ()
    publisher = _Publisher(command)
    with ExitStack() as parts:
        if settings.serve_onelake:
            account, onelake = parts.enter_context(
                wiring.observed_onelake(settings, os.environ, kinds, publisher.restart, chosen)
            )
            around = surroundings(onelake, os.environ, chosen[0], _STDERR)
            how = how_to_reach_onelake(onelake, settings.root)
            start: StartCommand = partial(begin, onelake, command, run_by, around, parts)
        else:
            account = parts.enter_context(
                wiring.observed_account(settings, kinds, publisher.restart)
            )
            env = environment(settings, account, zone_url(account.url, chosen[0]))
            how = "\n".join(f"{name}={value}" for name, value in env.items())
            start = beginning(command, {**os.environ, **env}, _STDERR)
        ended = _publish(publisher, start, how)
        history = read_history(account.exchanges, account.before)
    zones = () if remote else wiring.zones_of(settings, ())
    return Evidence(zones=zones, history=history, ended=ended)


def _make_zones(root: Path, chosen: Sequence[str]) -> None:
    """An operator makes the zone of a mirror, never its publisher."""
    from openmirror.table import layout

    for name in chosen:
        (root / layout.landing_zone(name)).mkdir(parents=True, exist_ok=True)


@dataclass
class _Publisher:
    """The command behind `--`, once it is known where it publishes to."""

    command: Sequence[str]
    running: PublisherCommand | None = None

    def restart(self, fault: InjectedFault) -> None:
        if self.running is not None:
            say(f"{self.command[0]} is killed and started again")
            self.running.restart(fault)


def _publish(publisher: _Publisher, start: StartCommand, how_to_reach: str) -> int | None:
    """Wait until the publisher is done: its command's exit code, or None after Ctrl-C."""
    if publisher.command:
        from openmirror.conformance.publisher import PublisherCommand

        publisher.running = PublisherCommand(start)
        ended = publisher.running.run()
        say(f"{publisher.command[0]} ended with exit code {ended}")
        return ended
    typer.echo(how_to_reach, err=True)
    say("publish there; Ctrl-C ends it and assesses what was seen")
    with stop_signals(message=_STOPPING) as stop:
        stop.wait()
    return None


def zone_url(account: str, mirror: str) -> str:
    """The address of a mirror's landing zone."""
    from urllib.parse import quote

    from openmirror.table import layout

    return f"{account}/{quote(layout.landing_zone(mirror))}"


def environment(settings: Settings, account: ObservedAccount, zone: str) -> Mapping[str, str]:
    """What a publisher finds the account by."""
    from openmirror.ports.storage_account import AccountUrl

    found = {"OPENMIRROR_LANDING_ZONE": zone, "OPENMIRROR_CHECK_ACCOUNT_URL": account.url}
    if isinstance(settings.root, AccountUrl):
        return found
    from openmirror.cli.serve_verb import connection_string

    name, key = settings.serve_account, settings.serve_key.get_secret_value()
    address = account.url.removesuffix(f"/{name}")
    found |= {
        "AZURE_STORAGE_CONNECTION_STRING": connection_string(address, name, key),
        "AZURE_STORAGE_ACCOUNT": name,
        "AZURE_STORAGE_KEY": key,
    }
    if account.certificate is not None:
        found["REQUESTS_CA_BUNDLE"] = str(account.certificate)
    return found


def _report(assessed: Sequence[Assessed], *, as_json: bool) -> None:
    from openmirror.conformance.report import as_json as shown

    if as_json:
        typer.echo(json.dumps(shown(assessed), indent=1, ensure_ascii=False))
        return
    from openmirror.cli.check_table import check_table

    result_console().print(check_table(assessed))


def _exit(assessed: Sequence[Assessed], evidence: Evidence, least: RuleSeverity) -> None:
    from openmirror.conformance.report import is_at_least, worst

    if is_at_least(worst(assessed), least):
        raise typer.Exit(EXIT_FOUND)
    if evidence.history is not None and not evidence.history.exchanges:
        say("nothing was asked of the account: nothing was checked")
        raise typer.Exit(EXIT_FAILED)
    if evidence.ended:
        say("the command failed: what it would have done after that was not checked")
        raise typer.Exit(EXIT_FAILED)
