"""Whatever functions, runner, operators and publishers do to storage, in one run of a mirror."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from openmirror.ingress.start_runner import Starter
from openmirror.ports.jobs import AlreadyActive, StartOutcome
from openmirror.ports.work_items import EVENTS_QUEUE, WORK_QUEUE
from openmirror.protocol.names import TableFolder, table_name
from openmirror.reconcile import leftovers
from openmirror.settings import Settings
from openmirror.stores.azure.dead_letters import CONTAINER as DEAD_LETTERS
from openmirror.table import layout
from openmirror.wiring import root_ports
from openmirror.wiring.azure import work_queue
from tests.harness.publishing import parquet, table
from tests.infra.at_work import MIRROR, QUEUES, Deployment, settings_of


def everything_happens(work: Deployment) -> None:
    """Each thing that functions, runner and publishers ever do to storage, at least once."""
    orders, ledger = table(MIRROR, "Sales.schema/Orders"), table(MIRROR, "Ledger")
    _land_and_archive(work, orders, ledger)
    _stop_and_go_on(work, orders)
    _dead_letters(work)
    _drop_and_bring_back(work, orders)
    work.timer("sweep")
    work.open_status_page()
    _publisher_observes(work)


def _land_and_archive(work: Deployment, orders: TableFolder, ledger: TableFolder) -> None:
    """Reported, swept, applied, archived and purged."""
    work.describe(orders)
    work.describe(ledger, fileDetectionStrategy="LastUpdateTimeFileDetection")
    work.land(orders, 1, 2)
    work.land(ledger, 1)
    work.timer("sweep")
    work.timer("start_runner")
    work.run()
    work.land(orders, 3)
    work.deliver_messages()
    _see_that_a_run_is_active(work)
    work.run()
    work.timer("cleanup")
    work.days_pass(orders)
    work.timer("cleanup")
    _clear_a_conversion(work)


def _stop_and_go_on(work: Deployment, orders: TableFolder) -> None:
    """A problem that the event filter finds, a gap, and the operator's verbs."""
    name, bad = "Sales.Orders", f"{4:020d}.parquet"
    work.publish(orders, bad, parquet(other=[1]))
    work.deliver_messages()
    work.operate("retry", table=name)
    work.operate("skip", table=name, file=bad, why="a test")
    work.land(orders, 6)
    work.operate("skip", table=name, through=5, why="a test")
    for verb in ("pause", "resume", "adopt"):
        work.operate(verb, table=name)
    work.operate("reseed", table="dbo.Ledger")
    work.deliver_messages()


def _drop_and_bring_back(work: Deployment, orders: TableFolder) -> None:
    """Its folder goes; it comes back held, goes again, and is deleted when its time has come."""
    work.delete(orders)
    work.deliver_messages()
    work.operate("confirm-drops")
    work.run(lambda: _is_retained(work, orders))
    work.operate("undrop", table="Sales.Orders")
    work.run(lambda: not _is_retained(work, orders))
    work.operate("resume", table="Sales.Orders")
    work.run(lambda: _is_retained(work, orders))
    work.days_pass(orders)
    work.timer("cleanup")
    assert not _is_retained(work, orders)


def _is_retained(work: Deployment, folder: TableFolder) -> bool:
    records = layout.dropped_incarnations(folder.mirror, table_name(folder.path, "dbo"))
    return any((work.server.root / records).glob("*"))


def _dead_letters(work: Deployment) -> None:
    """Messages that nobody can handle, from all three sources; then they go back."""
    text = work.azurite.connection_string
    with QueueServiceClient.from_connection_string(text) as queues:
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            queues.get_queue_client(name).send_message("no message")
    work.run()  # dead-letters the one
    work.deliver_messages()  # gives up the other, and keeps both
    with BlobServiceClient.from_connection_string(text) as blobs:
        container = blobs.get_container_client(DEAD_LETTERS)
        container.upload_blob(
            "TOPIC/SUBSCRIPTION/2026/11/21/9/x.json", b'[{"deadLetterReason": "x"}]'
        )
        work.timer("dead_letters")
        work.open_status_page()
        work.requeue()
    with QueueServiceClient.from_connection_string(text) as queues:
        for name in QUEUES:
            queues.get_queue_client(name).clear_messages()


def _publisher_observes(work: Deployment) -> None:
    """What publishers read: their own files and how it goes; and a file by the other endpoint."""
    zone = layout.landing_zone(MIRROR).partition("/")[2]
    with work.service() as service:
        files = service.get_file_system_client(layout.LANDING)
        assert list(files.get_paths(zone))
        status = layout.monitoring(MIRROR).partition("/")[2]
        files.get_file_client(f"{status}/tables.json").download_file().readall()
        files.get_directory_client(f"{zone}/New").create_directory()
    with BlobServiceClient(work.publisher.lake.url, credential=work.server.credential) as blobs:
        container = blobs.get_container_client(layout.LANDING)
        container.upload_blob(f"{zone}/New/{1:020d}.parquet", parquet(id=[1]))
        container.delete_blob(f"{zone}/New/{1:020d}.parquet")
        assert [one.name for one in container.list_blobs(name_starts_with=f"{MIRROR}/")]


class _Active:
    """A job of which a run is there."""

    identity = "1"

    def start(self) -> StartOutcome:
        return AlreadyActive("1")


def _see_that_a_run_is_active(work: Deployment) -> None:
    """What the functions ask of the queue where a job is named, but for asking the job."""
    settings = Settings.load(settings_of(work.functions, work.server, work.azurite))
    starter = Starter(work_queue(settings), _Active(), lambda: datetime.now(UTC))
    assert starter.start_if_needed() == AlreadyActive("1")


def _clear_a_conversion(work: Deployment) -> None:
    """What a runner left behind a day ago, but for the day: the account dates it itself."""
    left = work.server.root / layout.conversion(MIRROR, "broken-off")
    left.mkdir(parents=True)
    ports = root_ports(Settings.load(settings_of(work.functions, work.server, work.azurite)))
    with patch.object(leftovers, "_KEPT", timedelta(0)):
        assert leftovers.clear_leftovers(ports, MIRROR) == ("broken-off",)
