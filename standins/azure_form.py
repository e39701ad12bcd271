"""The demo as a deployment on Azure runs it: account, events, queues, functions and a runner."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from azure.core.exceptions import ResourceExistsError
from azure.storage.queue import QueueServiceClient
from rich.console import Console

from openmirror import wiring
from openmirror.demo.form import AtWork, Opened
from openmirror.demo.publisher import MIRROR
from openmirror.demo.publishing import DemoFailed
from openmirror.demo.report import command, lies_in
from openmirror.emulator.account import ENDPOINT_FOLDER
from openmirror.ports.work_items import EVENTS_QUEUE, WORK_QUEUE
from openmirror.progress.runner import SweepFoundWork, WorkItemTaken
from openmirror.progress.union import EventSink, ProgressEvent
from openmirror.runtime.runner import Runner
from openmirror.settings import Settings, variable
from standins.account import ServedAccount, account_process
from standins.azurite import running as azurite_running
from standins.functions_front import status_page
from standins.functions_host import Died, host
from standins.functions_platform import Platform
from standins.functions_pump import Pump

LOG = "functions.log"
_PACE = {"runner_poll": timedelta(milliseconds=500), "runner_status": timedelta(seconds=2)}
_OF_A_DEPLOYMENT = ("root", "account_key", "queues", "dead_letters", "job", "catalog", "serve")


@dataclass
class Passed:
    """What went through the parts."""

    events: int = 0
    """Events of the landing zone that were sent to the queue."""
    wake_ups: int = 0
    """Messages that the runner took, but for those of sweeps."""
    invoked: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)


class LikeOnAzure:
    """Everything of a deployment, on this machine."""

    how: Sequence[str] = (
        "On the way from it to the Delta tables is all that a deployment on Azure has: a storage",
        "account (`openmirror serve`), its events on a queue (Azurite), the Function App in",
        "Microsoft's own runtime library, work items on another queue, and the Spark runner.",
    )

    def __init__(self) -> None:
        self._passed = Passed()

    @contextmanager
    def open(self, root: Path, emit: EventSink, console: Console) -> Iterator[Opened]:
        """See Form."""
        shutil.rmtree(root / ENDPOINT_FOLDER, ignore_errors=True)
        console.print("Starting queues, storage account and Function App …")
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            queues = stack.enter_context(azurite_running(Path(folder))).connection_string
            _make_queues(queues)
            account = stack.enter_context(self._account(root, queues))
            env = {
                variable("root"): account.url,
                variable("account_key"): account.key,
                variable("queues"): queues,
                variable("dead_letters"): queues,
            }
            log = stack.enter_context((root / LOG).open("w"))
            app = stack.enter_context(host(env, log=log))
            page = stack.enter_context(status_page(app))
            console.print(f"Storage account: {account.url}", markup=False)
            console.print(f"Status page:     {page}  (while this runs)\n", markup=False)
            pump = Pump.of(app, queues)
            stack.callback(pump.service.close)
            platform = stack.enter_context(Platform(app, pump))
            self._passed.invoked, self._passed.failed = platform.invoked, platform.failed
            settings = Settings.load({**_kept(os.environ), **env}, _PACE)

            @contextmanager
            def start() -> Iterator[AtWork]:
                with wiring.runner(settings, env, [MIRROR], emit=self._counting(emit)) as runner:
                    at_work = _Deployment(runner, platform, root / LOG)
                    try:
                        yield at_work
                    finally:
                        at_work.stop()

            ports = wiring.root_ports(settings)
            yield Opened(account.url, ports, start, account.key)

    def passed(self, console: Console) -> None:
        """See Form."""
        functions = ", ".join(f"{name} {n:,}" for name, n in self._passed.invoked.most_common())
        failed = len(self._passed.failed)
        for line in (
            f"Through: {self._passed.events:,} events on the queue `{EVENTS_QUEUE}`; "
            f"{self._passed.invoked.total():,} runs of functions ({functions}; {failed} failed);",
            f"{self._passed.wake_ups:,} work items that they sent for events on the queue "
            f"`{WORK_QUEUE}`, taken by the runner.",
        ):
            console.print(line, markup=False, soft_wrap=True)
        for name, why in self._passed.failed[:3]:
            console.print(f"{name} failed: {why}", style="red", markup=False, soft_wrap=True)

    def next_steps(self, console: Console, root: Path) -> None:
        """See Form."""
        settings = Settings.load(_kept(os.environ))
        key = settings.serve_key.get_secret_value()
        url = f"http://127.0.0.1:{settings.serve_port}/{settings.serve_account}"
        openmirror = command()
        ask = f"{variable('account_key')}={key} {openmirror}"
        lies_in(console, root)
        console.print("The storage account is gone with the demo. To have it as one again:")
        for what, line in (
            ("be the account again", f"{openmirror} serve --root {shlex.quote(str(root))}"),
            ("in another terminal: how every table stands", f"{ask} status --root {url}"),
            ("what happened to one", f"{ask} history dbo.flights --root {url} --limit 10"),
        ):
            console.print(f"  [dim]# {what}[/]", soft_wrap=True)
            console.print(f"  {line}", markup=False, soft_wrap=True)

    @contextmanager
    def _account(self, root: Path, queues: str) -> Iterator[ServedAccount]:
        with account_process(root, queues, _kept(os.environ)) as account:
            yield account
        self._passed.events = account.events

    def _counting(self, emit: EventSink) -> EventSink:
        def count(event: ProgressEvent) -> None:
            match event:
                case WorkItemTaken():
                    self._passed.wake_ups += event.reason != "sweep"
                case SweepFoundWork():
                    pass
                case _:
                    emit(event)

        return count


class _Deployment:
    """The runner in this process, beside the functions in theirs."""

    def __init__(self, runner: Runner, platform: Platform, log: Path) -> None:
        self._runner = runner
        self._platform = platform
        self._log = log

    def serve(self, seconds: float) -> None:
        try:
            self._platform.check()
        except Died as error:
            raise DemoFailed(f"the Function App ended: {error}; see {self._log}") from error
        self._runner.serve(seconds)

    def stop(self) -> bool:
        run_result = self._runner.stop()
        self._platform.stop()  # last, since it hears of what the runner wrote in the end
        return bool(run_result.abandoned)


def _make_queues(connection: str) -> None:
    with QueueServiceClient.from_connection_string(connection) as service:
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            try:
                service.create_queue(name)
            except ResourceExistsError:
                continue


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without what would lead out of the demo, to somebody's real deployment."""
    led = tuple(variable(name) for name in _OF_A_DEPLOYMENT)
    return {name: value for name, value in env.items() if not name.startswith(led)}
