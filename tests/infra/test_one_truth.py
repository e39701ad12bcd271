"""What stands in Bicep and in the code is the same: names, and which events are delivered."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient

from openmirror.deltalog import LogReplay
from openmirror.deployment.rules.function_app import NEEDED_SETTINGS
from openmirror.deployment.rules.roles import GRANTS, ROLE_NAMES, Kind, Who
from openmirror.emulator.events import Envelope
from openmirror.emulator.subscription import SUBSCRIBED
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.event_filter import Answer, Ignored
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.ports.storage_account import AccountUrl
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import publish_all
from openmirror.stores.azure import failures
from openmirror.stores.azure.dead_letters import CONTAINER as DEAD_LETTERS
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.wiring.local import utc_now
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import table
from tests.infra.access import INSIGHTS, LAKE, RUNTIME
from tests.infra.bicep.expansion import Deployed
from tests.infra.role_definitions import ROLES
from tests.infra.role_matrix import FUNCTIONS, RUNNER, TOPIC
from tests.infra.sample_deployment import assignments, deployment

DOCS = Path(__file__).parents[2] / "docs"
Event = dict[str, Any]


def _names(kind: str, account: str) -> set[str]:
    """What of a kind stands in the account that this file makes."""
    return {one.name.rpartition("/")[2] for one in deployment().of(kind) if one.path == account}


def subscription() -> Deployed:
    (found,) = deployment().of("Microsoft.EventGrid/systemTopics/eventSubscriptions")
    return found


def test_the_accounts_hold_what_the_code_asks_for_and_nothing_else() -> None:
    containers = "Microsoft.Storage/storageAccounts/blobServices/containers"
    assert _names(containers, "lake.bicep") == {layout.LANDING, layout.LAKE}
    assert _names(containers, "runtime.bicep") == {DEAD_LETTERS, "deployments"}
    queues = "Microsoft.Storage/storageAccounts/queueServices/queues"
    assert _names(queues, "runtime.bicep") == {
        queue + kind for queue in (EVENTS_QUEUE, WORK_QUEUE) for kind in ("", POISON_SUFFIX)
    }
    assert _names(queues, "lake.bicep") == set()


def test_events_go_to_the_queue_that_the_app_listens_to_and_else_where_it_collects() -> None:
    stated = subscription().properties
    to = stated["deliveryWithResourceIdentity"]["destination"]["properties"]
    given_up = stated["deadLetterWithResourceIdentity"]["deadLetterDestination"]["properties"]
    (runtime,) = [
        one.id
        for one in deployment().of("Microsoft.Storage/storageAccounts")
        if one.path == "runtime.bicep"
    ]
    assert (to["resourceId"], to["queueName"]) == (runtime, EVENTS_QUEUE)
    assert given_up == {"resourceId": runtime, "blobContainerName": DEAD_LETTERS}
    assert stated["eventDeliverySchema"] in set(Envelope)


def test_the_outputs_are_what_a_command_line_is_given() -> None:
    outputs = deployment().outputs
    (settings,) = deployment().of("Microsoft.Web/sites/config")
    for output, setting in (
        ("OPENMIRROR_ROOT", "OPENMIRROR_ROOT"),
        ("OPENMIRROR_QUEUES", "OPENMIRROR_QUEUES__queueServiceUri"),
        ("OPENMIRROR_DEAD_LETTERS", "OPENMIRROR_DEAD_LETTERS__blobServiceUri"),
    ):
        assert outputs[output] == settings.properties[setting]
    assert AccountUrl.parse(outputs["OPENMIRROR_ROOT"]).account == outputs["LAKE_ACCOUNT"]


def test_a_refusal_names_a_role_that_the_deployment_gives() -> None:
    given = {one.role.name for one in assignments()}
    assert {failures.BLOB_ROLE, failures.QUEUE_ROLE} <= given


def test_verify_checks_the_roles_that_the_deployment_gives() -> None:
    principals = {Who.FUNCTIONS: FUNCTIONS, Who.RUNNER: RUNNER, Who.TOPIC: TOPIC}
    services = {Kind.LAKE_CONTAINER: (LAKE, "blob"), Kind.RUNTIME_CONTAINER: (RUNTIME, "blob")}
    services |= {Kind.QUEUE: (RUNTIME, "queue")}
    wholes = {Kind.LAKE_ACCOUNT: LAKE, Kind.RUNTIME_ACCOUNT: RUNTIME, Kind.INSIGHTS: INSIGHTS}
    searched = {
        (
            principals[one.who],
            ROLE_NAMES[one.role],
            (*services[one.place.kind], one.place.name)
            if one.place.name
            else (wholes[one.place.kind],),
            one.conditioned,
        )
        for one in GRANTS
    }
    given = {
        (one.principal, one.role.name, one.scope, one.condition is not None)
        for one in assignments()
        if one.principal in principals.values()
    }
    assert searched == given
    assert all(ROLES[role].name == name for role, name in ROLE_NAMES.items())


def test_verify_checks_settings_that_the_deployment_gives() -> None:
    (settings,) = deployment().of("Microsoft.Web/sites/config")
    assert set(NEEDED_SETTINGS) <= set(settings.properties)


def test_every_role_that_is_assigned_is_explained() -> None:
    security = (DOCS / "SECURITY.md").read_text()
    assert [one for one in assignments() if one.role.name not in security] == []


def test_every_setting_that_the_app_is_given_stands_in_the_docs() -> None:
    stated = (DOCS / "FUNCTIONS.md").read_text() + (DOCS / "OPERATIONS.md").read_text()
    (settings,) = deployment().of("Microsoft.Web/sites/config")
    assert [name for name in settings.properties if f"`{name}`" not in stated] == []


# -- Which events are delivered


def passes(event: Event) -> bool:
    """Whether the subscription's filter lets an event through, as Event Grid documents it.

    Advanced filters on text ignore case, and several of them must all hold.
    """
    wanted = subscription().properties["filter"]
    subject = str(event["subject"])
    assert wanted["isSubjectCaseSensitive"] is True
    assert "subjectEndsWith" not in wanted
    if event["eventType"] not in wanted["includedEventTypes"]:
        return False
    if not subject.startswith(wanted["subjectBeginsWith"]):
        return False
    for one in wanted["advancedFilters"]:
        assert (one["operatorType"], one["key"]) == ("StringNotContains", "subject")
        if any(value.lower() in subject.lower() for value in one["values"]):
            return False
    return True


def test_the_local_endpoint_subscribes_to_the_same_types() -> None:
    assert set(subscription().properties["filter"]["includedEventTypes"]) == SUBSCRIBED


@dataclass
class World:
    """A publisher, the event filter behind the account's events, and what openmirror writes."""

    server: EndpointServer
    ports: RootPorts
    files: DataLakeServiceClient
    blobs: BlobServiceClient
    work: MemoryWorkQueue = field(default_factory=lambda: MemoryWorkQueue(utc_now))

    def reported(self, act: Callable[[], object]) -> list[tuple[Event, Answer]]:
        """The events of an act, and what the event filter decides on each at once."""
        self.server.events.clear()
        act()
        reported = list(self.server.events)
        starter = Starter(self.work, None, utc_now)
        return [
            (event, answer)
            for event in reported
            for _, answer in receive(
                self.ports, self.work, starter, read_events(json.dumps(event))
            ).answers
        ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    for mirror in ("m", "Files"):
        (tmp_path / layout.landing_zone(mirror)).mkdir(parents=True)
    with endpoint_server(tmp_path) as server:
        account = AccountUrl.parse(f"{server.url}/{server.account}")
        store = AzureStore.connect(account, server.key)
        with (
            DataLakeServiceClient(str(account), credential=server.credential) as files,
            BlobServiceClient(str(account), credential=server.credential) as blobs,
        ):
            ports = RootPorts(
                store=store,
                inspector=ChangeFileInspector(store),
                logs=LogReplay(store),
                clock=utc_now,
            )
            yield World(server, ports, files, blobs)
        store.close()


FOLDERS = (
    table("m", "Sales.schema/Orders 100% [1]#"),
    table("m", "Files.schema/Monitoring"),
    table("Files", "Monitoring"),
    table("m", "ProcessedFiles"),
)
"""Also tables that are called like the folders that are left out."""


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_whatever_the_event_filter_acts_on_is_delivered(world: World, folder: Any) -> None:
    landing = world.files.get_file_system_client(layout.LANDING)
    place = layout.table_folder(folder).partition("/")[2]
    zone = layout.landing_zone(folder.mirror).partition("/")[2]
    staged = f"{zone}/_staged/T"

    def upload(path: str, data: bytes) -> Callable[[], object]:
        return lambda: landing.get_file_client(path).upload_data(data, overwrite=True)

    def put(path: str) -> Callable[[], object]:
        blob = world.blobs.get_blob_client(layout.LANDING, path)
        return lambda: blob.upload_blob(_parquet(), overwrite=True)

    def rename(path: str, to: str) -> Callable[[], object]:
        return lambda: landing.get_file_client(path).rename_file(f"{layout.LANDING}/{to}")

    first, second, third = (f"{number:020d}.parquet" for number in (1, 2, 3))
    acts = [
        upload(f"{place}/_metadata.json", b'{"keyColumns": ["id"]}'),
        upload(f"{place}/{first}", _parquet()),
        put(f"{place}/{second}"),
        upload(f"{place}/_{third}", _parquet()),
        rename(f"{place}/_{third}", f"{place}/{third}"),
        upload(f"{zone}/_partnerEvents.json", b"{}"),
        lambda: landing.get_directory_client(staged).create_directory(),
        put(f"{staged}/{first}"),
        lambda: landing.get_directory_client(staged).rename_directory(
            f"{layout.LANDING}/{zone}/Moved in"
        ),
        lambda: reconcile_until_idle(world.ports, PaperEngine(world.ports.store), folder),
        lambda: landing.get_file_client(f"{place}/{second}").delete_file(),
        lambda: landing.get_directory_client(place).delete_directory(),
    ]
    reported = [pair for act in acts for pair in world.reported(act)]
    acted = [event for event, answer in reported if not isinstance(answer, Ignored)]
    assert len(acted) >= 4
    assert [event["subject"] for event in acted if not passes(event)] == []


def test_what_openmirror_writes_itself_wakes_nobody(world: World) -> None:
    folder = FOLDERS[0]
    store, engine = world.ports.store, PaperEngine(world.ports.store)
    place = layout.table_folder(folder)
    store.write(layout.join(place, "_metadata.json"), b'{"keyColumns": ["id"]}')
    for number in (1, 2, 3):
        store.write(layout.join(place, f"{number:020d}.parquet"), _parquet())
        reconcile_until_idle(world.ports, engine, folder)
    world.server.events.clear()
    assert clean_table(world.ports, folder).moved
    publish_all(world.ports, ["m"])
    own = list(world.server.events)
    reported = {event["eventType"].rpartition(".")[2] for event in own}
    assert {"BlobRenamed", "BlobCreated", "DirectoryCreated"} <= reported
    assert [event["subject"] for event in own if passes(event)] == []
