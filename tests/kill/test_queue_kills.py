"""A runner of the queue may be killed anywhere: its messages come back, and nothing is done twice.

All of it goes over a storage account and a real queue. Three runners die one after the other, each
with both tables at the very same step, one of them as a process (in the soak all); the runner as it
is started then goes on until idle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from azure.storage.blob import BlobLeaseClient, BlobServiceClient
from azure.storage.queue import QueueServiceClient

from openmirror.ports import Step, WorkItem
from openmirror.ports.work_items import POISON_SUFFIX, WORK_QUEUE
from openmirror.protocol.names import TableFolder, TablePath, table_name
from openmirror.settings import Settings
from openmirror.stores.azure.queue import StorageWorkQueue
from openmirror.table import layout
from openmirror.wiring import root_engine, root_ports
from openmirror.wiring.azure import leases
from openmirror.wiring.runner import working
from spark_jobs.run import run
from standins.azurite import Azurite
from tests.emulator_server import EndpointServer
from tests.kill.dying import Death, Killed
from tests.kill.publishing import Published
from tests.kill.queue_driver import SWEPT, serve_until_idle, short_lived
from tests.kill.runners import ENVIRONMENT, killed_at
from tests.spark_accounts import applied
from tests.zone import MIRROR, Zone, bag, read_delta

_PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _threads_of_the_dead_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a dead runner's timers are due before they are stopped."""
    report = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if not issubclass(args.exc_type, Killed):
            report(args)

    monkeypatch.setattr(threading, "excepthook", hook)


class Account:
    """Two tables on an account, one of them without keys, whose rows would show a repetition."""

    def __init__(
        self, served: EndpointServer, azurite: Azurite, processes: Collection[Step]
    ) -> None:
        self._processes = processes
        self.zone = Zone(served.root)
        self.tables = [
            Published(self.zone, "merged", 5),
            Published(self.zone, "appended", 6, keyed=False),
        ]
        self.env = ENVIRONMENT | {
            "OPENMIRROR_ROOT": f"{served.url}/{served.account}",
            "OPENMIRROR_ACCOUNT_KEY": served.key,
            "OPENMIRROR_QUEUES": azurite.connection_string,
            "OPENMIRROR_RUNNER_POLL": "100ms",
        }
        (self.zone.root / layout.landing_zone(SWEPT)).mkdir(parents=True)
        self._ports = root_ports(Settings.load(self.env))
        self._credential = served.credential

    def folders(self) -> list[TableFolder]:
        return [TableFolder(MIRROR, TablePath.parse(table.name)) for table in self.tables]

    def dies_at(self, step: Step) -> None:
        """A runner dies with all tables at this step."""
        if step in self._processes:
            driver = "tests.kill.queue_driver"
            killed_at(self.zone, step, len(self.tables), driver=driver, env=self.env)
        else:
            self._dies_here_at(step)

    def _dies_here_at(self, step: Step) -> None:
        settings, death = Settings.load(self.env), Death(step, len(self.tables))
        ports, queue = death.ports(root_ports(settings)), death.port(short_lived(settings))
        with root_engine(settings, self.env) as engine:
            held = death.leases(leases(settings))
            runner = working(settings, ports, death.port(engine), queue, held, [SWEPT])
            with pytest.raises(Killed):
                serve_until_idle(runner)
            with pytest.raises(Killed):
                runner.stop()  # its threads end; it can do nothing else any more

    def end_leases(self) -> None:
        """What a minute would do to the leases of the dead."""
        with BlobServiceClient(self.env["OPENMIRROR_ROOT"], self._credential) as blobs:
            for folder in self.folders():
                container, _, path = layout.lock_file(folder).partition("/")
                BlobLeaseClient(blobs.get_blob_client(container, path)).break_lease(0)

    def applied(self) -> list[list[int]]:
        return [applied(self._ports, folder) for folder in self.folders()]

    def commits(self) -> list[Path]:
        paths = [layout.delta_table(MIRROR, table_name(f.path, "dbo")) for f in self.folders()]
        return [c for p in paths for c in (self.zone.root / p).glob("_delta_log/*.json")]

    def assert_rows(self) -> None:
        for table, folder in zip(self.tables, self.folders(), strict=True):
            path = layout.delta_table(MIRROR, table_name(folder.path, "dbo"))
            assert bag(read_delta(self.zone.root / path)) == bag(table.expected()), table.name


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "processes",
    [{Step.COMMITTED}, pytest.param(set(Step), marks=pytest.mark.soak)],
    ids=["one-is-a-process", "all-are-processes"],
)
def test_messages_outlive_every_runner_that_is_killed_and_their_files_are_applied_once(
    served: EndpointServer,
    azurite: Azurite,
    work_queue: StorageWorkQueue,
    capfd: pytest.CaptureFixture[str],
    processes: Collection[Step],
) -> None:
    account = Account(served, azurite, processes)
    for table, folder in zip(account.tables, account.folders(), strict=True):
        table.send(2)
        work_queue.send(WorkItem(folder, "a test"))

    account.dies_at(Step.BEFORE_COMMIT)
    assert not account.commits()
    assert work_queue.length() == 2
    account.end_leases()

    account.dies_at(Step.COMMITTED)
    assert account.applied() == [[1, 2], [1, 2]]
    account.assert_rows()
    assert work_queue.length() == 2
    account.end_leases()

    for table in account.tables:
        table.send(
            1
        )  # and nobody sends a wake-up: the messages that are there do for these files as well
    account.dies_at(Step.IDLE)
    assert account.applied() == [[1, 2, 3], [1, 2, 3]]
    assert work_queue.length() == 2, "they are deleted last"

    with QueueServiceClient.from_connection_string(azurite.connection_string) as queues:
        _wait_until_visible(queues, 2)
        code = run(["--set", "runner_idle=1s"], account.env)
        assert code == 0, capfd.readouterr().err
        assert work_queue.length() == 0
        assert StorageWorkQueue(queues, WORK_QUEUE + POISON_SUFFIX).length() == 0
    assert account.applied() == [[1, 2, 3], [1, 2, 3]]
    account.assert_rows()


def _wait_until_visible(queues: QueueServiceClient, count: int) -> None:
    """Until the messages of the dead have come back; that is when the queue says so."""
    queue = queues.get_queue_client(WORK_QUEUE)
    until = time.monotonic() + _PATIENCE
    while len(queue.peek_messages(32)) < count:
        assert time.monotonic() < until, "they never came back"
        time.sleep(0.1)
