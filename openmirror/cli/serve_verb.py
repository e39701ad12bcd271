"""The verb `serve`: a storage account on this machine, and how to reach it."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openmirror.cli.console import say
from openmirror.cli.onelake_lines import WARNING, how_to_reach_onelake
from openmirror.cli.onelake_run import RunBy
from openmirror.cli.onelake_run import run as run_command
from openmirror.cli.options import RootOption, settings_for
from openmirror.errors import CannotStart
from openmirror.runtime.stop_signals import heard_signals, stop_signals

if TYPE_CHECKING:
    from openmirror.emulator.events import Sink
    from openmirror.settings import Settings

_STOPPING = b"\nstopping; once more stops at once\n"


def serve(
    root: RootOption = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on. Default: 127.0.0.1, which only this machine reaches.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", help="Port to listen on. Default: 10080, with --onelake 443; 0: any."
        ),
    ] = None,
    https: Annotated[
        bool | None,
        typer.Option(
            "--https",
            help="Speak https, with a certificate made here: for clients with bearer tokens.",
        ),
    ] = None,
    events_to: Annotated[
        str | None,
        typer.Option(
            "--events-to",
            metavar="QUEUE-CONNECTION",
            help="Connection string of a storage account (Azurite's, say): events about `landing` "
            "go to its queue `landing-events`, as Event Grid would send them.",
        ),
    ] = None,
    onelake: Annotated[
        bool | None,
        typer.Option(
            "--onelake",
            help="Stand for OneLake, Entra ID and Fabric as well, for publishers that know nothing "
            "else: their host names, their tokens. Loopback only.",
        ),
    ] = None,
    mapped: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="WORKSPACE/ITEM=MIRROR",
            help="What publishers call a mirror in OneLake, by names or GUIDs; may be repeated. "
            "Default: each mirror is an item of its name in the workspace `openmirror`.",
        ),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            "--mirror",
            metavar="NAME",
            help="With --onelake: make this mirror's landing zone if it is not there; may be "
            "repeated.",
        ),
    ] = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="With --onelake: start the command behind `--` so that OneLake's names lead it "
            "here, serve until it ends, and end with its exit code.",
        ),
    ] = False,
    run_by: Annotated[
        RunBy,
        typer.Option(
            "--run-by",
            help="How: by an /etc/hosts of its own, by a network of its own, or by a proxy. "
            "Default: the first that this machine allows.",
        ),
    ] = RunBy.AUTO,
    command: Annotated[
        list[str] | None, typer.Argument(help="What --run starts.", metavar="COMMAND")
    ] = None,
) -> None:
    """Be a storage account on this machine, over a root.

    Publishers that write to Azure Data Lake Storage Gen2 can be tried against it, with the Azure
    SDKs and with Spark. Files lie below the root as plain files: `landing` and `lake` are its
    containers. Whatever else runs on the same root, such as `up`, sees each file at once.

    It prints URL, account, key and lines to copy, then a line for each event and each refused
    request. The key is the public one of storage emulators, unless OPENMIRROR_SERVE_KEY has
    another: do not let others reach it with that.

    With --onelake it is OneLake, for publishers that were made for Fabric: unmodified, with their
    own credentials. It prints what to change on this machine, and changes nothing itself; --run
    needs no change at all, and mostly no root.

    \b
    Examples:
      openmirror serve --root ~/mirrors
      openmirror serve --root ~/mirrors --onelake --mirror sales --run -- python publisher.py
      sudo openmirror serve --root ~/mirrors --onelake --map "My Workspace/Sales=sales"
      openmirror up --serve --root ~/mirrors      the same, and mirrors what comes
    """
    options = {
        "serve_host": host,
        "serve_port": port,
        "serve_https": https,
        "serve_events": events_to,
        "serve_onelake": onelake,
        "serve_map": tuple(mapped) if mapped else None,
    }
    settings = settings_for(root, options=options)
    _check(settings, mirror, command, run=run)
    report_refusals(say)
    if command:
        raise typer.Exit(_run(settings, mirror or [], command, run_by))
    with serving(settings, report_event, mirrors=mirror or []) as words:
        typer.echo(words)
        if warning := exposure(settings):
            say(warning)
        say("Ctrl-C stops")
        with stop_signals(message=_STOPPING) as stop:
            stop.wait()
    say("stopped")


@contextmanager
def serving(settings: Settings, *sinks: Sink, mirrors: Sequence[str] = ()) -> Iterator[str]:
    """The endpoint as the settings say, until the block ends; gives what a client needs to know."""
    from openmirror import wiring

    if settings.serve_onelake:
        with wiring.onelake_served(settings, os.environ, *sinks, mirrors=mirrors) as onelake:
            yield how_to_reach_onelake(onelake, settings.root)
        return
    with wiring.served(settings, *sinks) as server:
        yield how_to_reach(settings, server.url, server.certificate)


def _check(
    settings: Settings, mirror: list[str] | None, command: list[str] | None, *, run: bool
) -> None:
    """Raises CannotStart for options that do not go together."""
    if not settings.serve_onelake and (settings.serve_map or mirror or run):
        raise CannotStart("--map, --mirror and --run go with --onelake")
    if run and not command:
        raise CannotStart("--run has no command: openmirror serve --onelake --run -- COMMAND")
    if command and not run:
        raise CannotStart(f"{command[0]} is no option; to start it, write --run -- before it")


def refuse_map_alone(settings: Settings) -> None:
    """Raises CannotStart for names in OneLake where nobody stands for it."""
    if settings.serve_map and not settings.serve_onelake:
        raise CannotStart(
            "OPENMIRROR_SERVE_MAP says what publishers call the mirrors in OneLake, and goes with "
            "OPENMIRROR_SERVE_ONELAKE=true"
        )


def _run(settings: Settings, mirrors: list[str], command: list[str], run_by: RunBy) -> int:
    """Serve while the command runs; its exit code."""
    from openmirror import wiring

    with (
        heard_signals() as heard,
        wiring.onelake_served(
            settings, os.environ, report_event, mirrors=mirrors, any_port=True
        ) as onelake,
    ):
        say(WARNING)
        to = mirrors[0] if mirrors else None
        return run_command(onelake, command, run_by, os.environ, heard, to)


def how_to_reach(settings: Settings, address: str, certificate: Path | None) -> str:
    """Everything that a client needs, in lines to copy."""
    account, key = settings.serve_account, settings.serve_key.get_secret_value()
    url = f"{address}/{account}"
    host = address.partition("://")[2]
    connection = connection_string(address, account, key)
    lines = [
        f"storage account over {settings.root}",
        f"  URL      {url}",
        f"  account  {account}",
        f"  key      {key}",
        *_trust(certificate),
        "",
        "Python:",
        "  from azure.storage.filedatalake import DataLakeServiceClient",
        f'  service = DataLakeServiceClient("{url}",',
        f'      credential={{"account_name": "{account}", "account_key": "{key}"}})',
        '  landing = service.get_file_system_client("landing")',
        "",
        "az:",
        f"  export AZURE_STORAGE_CONNECTION_STRING='{connection}'",
        "  az storage fs file list --file-system landing",
        "",
        *_spark(account, key, host, certificate),
    ]
    return "\n".join(lines)


def connection_string(address: str, account: str, key: str) -> str:
    """What Azure's SDKs and az find an account by."""
    url = f"{address}/{account}"
    scheme = address.partition("://")[0]
    return (
        f"DefaultEndpointsProtocol={scheme};AccountName={account};AccountKey={key};"
        f"BlobEndpoint={url};DfsEndpoint={url}"
    )


def exposure(settings: Settings) -> str | None:
    """What somebody should know who lets other machines in; None when there is nothing."""
    from openmirror.settings import Settings

    host = settings.serve_host
    own = settings.serve_key != Settings.model_fields["serve_key"].default
    if settings.serve_onelake:
        return WARNING
    if own or host == "localhost" or host == "::1" or host.startswith("127."):
        return None
    return (
        f"other machines reach {host}, and the key is the public one of emulators: whoever comes "
        "may read, change and delete everything. Set OPENMIRROR_SERVE_KEY to a key of your own"
    )


def _trust(certificate: Path | None) -> list[str]:
    if certificate is None:
        return []
    return [
        f"  trust    {certificate}",
        f"           export REQUESTS_CA_BUNDLE={certificate}",
        "  Bearer tokens are taken: audience and expiry are checked, signatures are not.",
    ]


def _spark(account: str, key: str, host: str, certificate: Path | None) -> list[str]:
    plain = {
        "fs.azure.always.use.https": "false",
        "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
    }
    settings = {
        "fs.azure.abfs.endpoint": host,
        **({} if certificate else plain),
        "fs.azure.metrics.collection.enabled": "false",
        f"fs.azure.account.key.{account}.dfs.core.windows.net": key,
    }
    return [
        "Spark (with the jar org.apache.hadoop:hadoop-azure):",
        *_trust_of_java(certificate),
        *(f"  --conf spark.hadoop.{name}={value}" for name, value in settings.items()),
        f"  {'abfss' if certificate else 'abfs'}://landing@{account}.dfs.core.windows.net/...",
    ]


def _trust_of_java(certificate: Path | None) -> list[str]:
    if certificate is None:
        return []
    from openmirror.emulator.certificate import JAVA_PASSWORD, java_trust_store

    options = {
        "trustStore": f'"{java_trust_store(certificate)}"',
        "trustStorePassword": JAVA_PASSWORD,
    }
    given = " ".join(f"-Djavax.net.ssl.{name}={value}" for name, value in options.items())
    return [f"  export JAVA_TOOL_OPTIONS={shlex.quote(given)}"]


def report_event(event: Mapping[str, Any]) -> None:
    """One line about an event."""
    data = event["data"]
    size = f"  {data['contentLength']} bytes" if "contentLength" in data else ""
    kind = str(event.get("eventType") or event.get("type")).rpartition(".")[2]
    path = str(event["subject"]).partition("/containers/")[2].replace("/blobs/", "/", 1)
    say(f"{datetime.now().astimezone():%H:%M:%S}  {kind} ({data['api']})  {path}{size}")


def report_refusals(show: Callable[[str], None]) -> None:
    """From now on, a line about each refused request."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(f"{datetime.now().astimezone():%H:%M:%S}  {self.format(record)}")

    logger = logging.getLogger("openmirror.emulator")
    logger.addHandler(Lines())
    logger.setLevel(logging.INFO)
    logger.propagate = False
