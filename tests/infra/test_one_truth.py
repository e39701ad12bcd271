"""What stands in Bicep and in the code is the same: names, and which events are delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openmirror.cdc.relay.reporting import RelayReports
from openmirror.deployment.rules.function_app import NEEDED_SETTINGS
from openmirror.deployment.rules.roles import GRANTS, ROLE_NAMES, Kind, Who
from openmirror.emulator.events import Envelope
from openmirror.emulator.subscription import SUBSCRIBED
from openmirror.ingress.event_filter import Ignored
from openmirror.ports.storage_account import AccountUrl
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.protocol.relay_reports import RelayState
from openmirror.reconcile.clean import clean_table
from openmirror.runtime.sweeping import publish_all
from openmirror.stores.azure import failures
from openmirror.stores.azure.dead_letters import CONTAINER as DEAD_LETTERS
from openmirror.table import layout
from tests.harness.account import Account, Event, served_account
from tests.harness.publishing import file_name, parquet, table
from tests.infra.access import INSIGHTS, LAKE, RUNTIME
from tests.infra.bicep.expansion import Deployed
from tests.infra.role_definitions import ROLES
from tests.infra.role_matrix import FUNCTIONS, RUNNER, TOPIC
from tests.infra.sample_deployment import assignments, deployment

DOCS = Path(__file__).parents[2] / "docs"


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
    found = subscription().properties
    to = found["deliveryWithResourceIdentity"]["destination"]["properties"]
    given_up = found["deadLetterWithResourceIdentity"]["deadLetterDestination"]["properties"]
    (runtime,) = [
        one.id
        for one in deployment().of("Microsoft.Storage/storageAccounts")
        if one.path == "runtime.bicep"
    ]
    assert (to["resourceId"], to["queueName"]) == (runtime, EVENTS_QUEUE)
    assert given_up == {"resourceId": runtime, "blobContainerName": DEAD_LETTERS}
    assert found["eventDeliverySchema"] in set(Envelope)


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
    pages = (DOCS / "FUNCTIONS.md").read_text() + (DOCS / "OPERATIONS.md").read_text()
    (settings,) = deployment().of("Microsoft.Web/sites/config")
    assert [name for name in settings.properties if f"`{name}`" not in pages] == []


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


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with served_account(tmp_path, "m", "Files") as made:
        yield made


FOLDERS = (
    table("m", "Sales.schema/Orders 100% [1]#"),
    table("m", "Files.schema/Monitoring"),
    table("Files", "Monitoring"),
    table("m", "ProcessedFiles"),
)
"""Also tables that are called like the folders that are left out."""


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_whatever_the_event_filter_acts_on_is_delivered(account: Account, folder: Any) -> None:
    landing = account.landing
    place = layout.table_folder(folder).partition("/")[2]
    zone = layout.landing_zone(folder.mirror).partition("/")[2]
    staged = f"{zone}/_staged/T"

    def upload(path: str, data: bytes) -> Callable[[], object]:
        return lambda: account.upload(path, data)

    def put(path: str) -> Callable[[], object]:
        blob = account.blobs.get_blob_client(layout.LANDING, path)
        return lambda: blob.upload_blob(parquet(), overwrite=True)

    def rename(path: str, to: str) -> Callable[[], object]:
        return lambda: landing.get_file_client(path).rename_file(f"{layout.LANDING}/{to}")

    first, second, third = (file_name(number) for number in (1, 2, 3))
    acts = [
        upload(f"{place}/_metadata.json", b'{"keyColumns": ["id"]}'),
        upload(f"{place}/{first}", parquet()),
        put(f"{place}/{second}"),
        upload(f"{place}/_{third}", parquet()),
        rename(f"{place}/_{third}", f"{place}/{third}"),
        upload(f"{zone}/_partnerEvents.json", b"{}"),
        lambda: landing.get_directory_client(staged).create_directory(),
        put(f"{staged}/{first}"),
        lambda: landing.get_directory_client(staged).rename_directory(
            f"{layout.LANDING}/{zone}/Moved in"
        ),
        lambda: account.reconcile_until_idle(folder),
        lambda: landing.get_file_client(f"{place}/{second}").delete_file(),
        lambda: landing.get_directory_client(place).delete_directory(),
    ]
    reported = [pair for act in acts for pair in account.reported(act)]
    acted = [event for event, answer in reported if not isinstance(answer, Ignored)]
    assert len(acted) >= 4
    assert [event["subject"] for event in acted if not passes(event)] == []


def test_what_openmirror_writes_itself_wakes_nobody(account: Account) -> None:
    folder = FOLDERS[0]
    store = account.ports.store
    place = layout.table_folder(folder)
    store.write(layout.join(place, "_metadata.json"), b'{"keyColumns": ["id"]}')
    for number in (1, 2, 3):
        store.write(layout.join(place, file_name(number)), parquet())
        account.reconcile_until_idle(folder)
    account.server.events.clear()
    assert clean_table(account.ports, folder).moved
    publish_all(account.ports, ["m"])
    RelayReports(store, layout.landing_zone("m"), "shop").troubled(RelayState.ENDED)
    assert any("/_streams/" in str(event["subject"]) for event in account.server.events)
    own = list(account.server.events)
    reported = {event["eventType"].rpartition(".")[2] for event in own}
    assert {"BlobRenamed", "BlobCreated", "DirectoryCreated"} <= reported
    assert [event["subject"] for event in own if passes(event)] == []
