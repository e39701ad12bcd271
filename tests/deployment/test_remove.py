"""Removing a deployment: the data stays by default, and nothing half is left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.wiring import deployment
from openmirror.wiring.deployment import Management
from tests.deployment.azure import NAME, SUBSCRIPTION, Azure, bicep
from tests.deployment.place import Place
from tests.infra.bicep.expansion import GROUP


@pytest.fixture
def openmirror(clients: ManagementClients, monkeypatch: pytest.MonkeyPatch) -> Any:
    @contextmanager
    def management(env: object, subscription: str | None) -> Iterator[Management]:
        yield Management(clients, {})

    monkeypatch.setattr(deployment, "management", management)
    # Nothing listens where the Bicep files say that the queues are.
    monkeypatch.setattr(
        Management, "unhandled", lambda self, group, name: ["3 message(s) in table-work"]
    )

    def run(*words: str, typed: str = "") -> Result:
        return CliRunner().invoke(app, ["azure", "remove", "-g", NAME, *words], input=typed)

    return run


def kinds(azure: Azure) -> list[str]:
    return [one["type"] for one in azure.resources]


def lake_of(azure: Azure) -> dict[str, Any]:
    (lake,) = (one for one in azure.resources if one["name"].startswith("stopenmirrorlake"))
    return lake


def test_everything_goes_but_the_account_with_the_data(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    lake = lake_of(azure)
    done = openmirror("--yes")
    assert done.exit_code == 0, done.output
    assert azure.resources == [lake]
    assert f"keep    {lake['type']} {lake['name']}" in done.stdout
    assert not azure.subscriptions


def test_first_nothing_is_delivered_then_nothing_runs_then_nobody_has_a_role(
    azure: Azure, openmirror: Any
) -> None:
    azure.deploy(bicep())
    openmirror("--yes")
    order = [
        next(at for at, path in enumerate(azure.deleted) if re.search(f"/{kind}/[^/]+$", path))
        for kind in (
            "eventsubscriptions",
            "microsoft.web/sites",
            "roleassignments",
            "microsoft.eventgrid/systemtopics",
            "microsoft.storage/storageaccounts",
            "userassignedidentities",
        )
    ]
    assert order == sorted(order)


def test_roles_of_what_goes_go_too_and_those_of_people_stay(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    lake = lake_of(azure)["id"]
    people = [
        one
        for one in azure.assignments
        if one["properties"]["scope"].startswith(lake)
        and one["properties"]["principalId"].startswith("00000000-")
    ]
    assert people
    openmirror("--yes")
    assert azure.assignments == people


def test_with_data_nothing_is_left(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    done = openmirror("--with-data", "--yes")
    assert done.exit_code == 0, done.output
    assert not azure.resources
    assert not azure.assignments


def test_a_private_account_that_stays_can_still_be_reached(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep(privateNetwork=True))
    lake = lake_of(azure)["id"]
    openmirror("--yes")
    endpoints = [one for one in azure.resources if one["type"].endswith("/privateEndpoints")]
    assert endpoints
    for one in endpoints:
        (link,) = one["properties"]["privateLinkServiceConnections"]
        assert link["properties"]["privateLinkServiceId"] == lake
    assert "Microsoft.Network/virtualNetworks" in kinds(azure)
    assert "Microsoft.Network/privateDnsZones" in kinds(azure)
    assert "Microsoft.Web/sites" not in kinds(azure)
    openmirror("--yes", "--with-data")
    assert not azure.resources


def test_an_endpoints_own_interface_is_not_reported(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep(privateNetwork=True))
    kind = "Microsoft.Network/networkInterfaces"
    azure.resources.append(neighbour(kind, f"pep-openmirror-lake-blob.nic.{SUBSCRIPTION}"))
    azure.resources.append(neighbour(kind, "vm-payroll.nic"))
    reported = openmirror("--dry-run", "--with-data").stdout
    assert f"keep    {kind} vm-payroll.nic (not made by the template)" in reported
    assert "lake-blob.nic" not in reported


def test_a_second_time_there_is_nothing_more_to_delete(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    openmirror("--yes")
    deleted = list(azure.deleted)
    again = openmirror("--yes")
    assert again.exit_code == 0
    assert "nothing but data is left" in again.stderr
    assert azure.deleted == deleted
    openmirror("--yes", "--with-data")
    assert "nothing of openmirror is left" in openmirror("--yes").stderr


def test_a_removal_that_broke_off_goes_on(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    azure.denied = "/workspaces/"
    broken = openmirror("--yes")
    assert broken.exit_code == 1
    assert "Contributor on the resource group" in broken.stderr
    azure.denied = ""
    assert openmirror("--yes").exit_code == 0
    assert azure.resources == [lake_of(azure)]


@pytest.mark.parametrize("where", ["", "/providers/Microsoft.Web/sites/{site}"])
def test_a_lock_is_found_before_anything_is_deleted(
    azure: Azure, openmirror: Any, where: str
) -> None:
    azure.deploy(bicep())
    scope = GROUP + where.format(site=azure.one("Microsoft.Web/sites")["name"])
    at = f"{scope}/providers/Microsoft.Authorization/locks/keep"
    azure.locks.append({"id": at, "name": "keep", "properties": {"level": "CanNotDelete"}})
    done = openmirror("--yes")
    assert done.exit_code == 1
    assert "the lock keep (CanNotDelete) is in the way, and nothing was deleted" in done.stderr
    assert f"az lock delete --ids {at}" in done.stderr
    assert not azure.deleted


def test_a_lock_on_the_data_alone_is_in_nobodys_way(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    at = f"{lake_of(azure)['id']}/providers/Microsoft.Authorization/locks/keep"
    azure.locks.append({"id": at, "name": "keep", "properties": {"level": "CanNotDelete"}})
    done = openmirror("--yes")
    assert done.exit_code == 0, done.output
    assert azure.resources == [lake_of(azure)]
    # Roles on what is locked cannot be taken away either, which is shown.
    assert "a role stays" in done.stderr
    assert "az role assignment delete" in done.stderr


def test_it_asks_for_the_groups_name(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    refused = openmirror(typed="yes\n")
    assert refused.exit_code == 130
    assert "nothing was deleted" in refused.stderr
    assert not azure.deleted
    assert openmirror(typed=f"{NAME}\n").exit_code == 0
    assert azure.deleted


def test_a_dry_run_says_what_would_go_and_what_is_lost_with_it(
    azure: Azure, openmirror: Any
) -> None:
    azure.deploy(bicep())
    reported = openmirror("--dry-run")
    assert reported.exit_code == 0
    assert "delete  Microsoft.Web/sites func-openmirror-" in reported.stdout
    assert "lost with it: 3 message(s) in table-work" in reported.stderr
    assert not azure.deleted


def test_what_lies_in_the_queues_is_listed_before_they_go(place: Place) -> None:
    place.queues.get_queue_client("landing-events").send_message("an event")
    words = ["azure", "remove", "-g", NAME, "--dry-run"]
    reported = CliRunner().invoke(app, words)
    assert reported.exit_code == 0, reported.output
    assert "lost with it: 1 message in landing-events\n" in reported.stderr
    assert "table-work" not in reported.stderr
    assert not place.azure.deleted


def test_other_things_in_the_group_are_left_alone(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    other = {
        "id": f"{GROUP}/providers/Microsoft.Web/sites/other",
        "name": "other",
        "type": "Microsoft.Web/sites",
        "tags": {},
        "properties": {},
    }
    azure.resources.append(other)
    openmirror("--yes", "--with-data")
    assert azure.resources == [other]


def neighbour(kind: str, name: str) -> dict[str, Any]:
    """Something of somebody else, to which a policy gave the group's tags."""
    return {
        "id": f"{GROUP}/providers/{kind}/{name}",
        "name": name,
        "type": kind,
        "tags": {"openmirror": "openmirror"},
        "properties": {},
    }


def test_what_only_bears_the_tag_is_never_deleted(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    others = [
        neighbour("Microsoft.Compute/virtualMachines", "vm-payroll"),
        neighbour("Microsoft.Storage/storageAccounts", "stpayroll"),
        neighbour("Microsoft.Storage/storageAccounts", "stopenmirrorlakehouse"),
        neighbour("Microsoft.Web/sites", "func-openmirror-of-ours"),
        neighbour("Microsoft.Insights/workbooks", "cc658088-2091-5fef-bd9e-68832bbbc683"),
        neighbour("Microsoft.Network/privateDnsZones", "payroll.example"),
    ]
    azure.resources += others
    done = openmirror("--yes", "--with-data")
    assert done.exit_code == 0, done.output
    assert azure.resources == others
    kept = "keep    Microsoft.Compute/virtualMachines vm-payroll (not made by the template)"
    assert kept in done.stdout
    assert f"nothing of openmirror is left in {NAME}" in openmirror("--yes").stderr


def test_the_tags_case_is_of_no_account(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    for one in azure.resources:
        one["tags"] = {"OpenMirror": one["tags"]["openmirror"]}
    assert openmirror("--yes", "--with-data").exit_code == 0
    assert not azure.resources


def test_zones_that_another_network_finds_its_endpoints_with_stay(
    azure: Azure, openmirror: Any
) -> None:
    azure.deploy(bicep(privateNetwork=True, name="second"))
    azure.resources = [one for one in azure.resources if not one["type"].endswith("DnsZones")]
    azure.deploy(bicep(privateNetwork=True))
    zones = [one for one in azure.resources if one["type"].endswith("/privateDnsZones")]
    assert zones
    assert {one["tags"]["openmirror"] for one in zones} == {"openmirror"}
    done = openmirror("--yes", "--with-data", "--name", "openmirror")
    assert done.exit_code == 0, done.output
    assert all(zone in azure.resources for zone in zones)
    links = [one for one in azure.resources if one["type"].endswith("/virtualNetworkLinks")]
    assert {one["tags"]["openmirror"] for one in links} == {"second"}
    again = openmirror("--yes", "--with-data", "--name", "openmirror")
    assert "what is left is used by another network of the group" in again.stderr
    assert openmirror("--yes", "--with-data", "--name", "second").exit_code == 0
    assert openmirror("--yes", "--with-data", "--name", "openmirror").exit_code == 0
    assert not azure.resources


def test_what_azure_refuses_to_delete_is_reported_and_the_rest_goes_on(
    azure: Azure, openmirror: Any
) -> None:
    azure.deploy(bicep())
    azure.refuses = "/systemtopics/[^/]+$"
    done = openmirror("--yes", "--with-data")
    assert done.exit_code == 1
    assert "Microsoft.EventGrid/systemTopics egst-openmirror-" in done.stderr
    assert "stays: " in done.stderr
    assert "not all is gone: 1 could not be deleted" in done.stderr
    assert kinds(azure) == ["Microsoft.EventGrid/systemTopics"]


def test_a_group_that_is_not_there_is_no_group_where_nothing_is_left(
    azure: Azure, openmirror: Any
) -> None:
    azure.groups = {"another": "westeurope"}
    done = openmirror("--yes")
    assert done.exit_code == 1
    assert f"there is no resource group {NAME} in this subscription" in done.stderr
    assert "--subscription" in done.stderr


def test_the_subscription_is_named_where_a_person_decides(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    reported = openmirror(typed="no\n").stderr
    where = f"{NAME} of the subscription {SUBSCRIPTION}"
    assert f"removing 'openmirror' from {where}" in reported
    assert f"This is deleted from the group {where}" in reported


def test_a_lock_inside_of_what_goes_is_found_beforehand(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    runtime = next(one for one in azure.resources if one["name"].startswith("stopenmirrorrun"))
    inside = f"{runtime['id']}/blobServices/default/containers/dead-letters"
    at = f"{inside}/providers/Microsoft.Authorization/locks/keep"
    azure.locks.append({"id": at, "name": "keep", "properties": {"level": "CanNotDelete"}})
    done = openmirror("--yes")
    assert done.exit_code == 1
    assert "the lock keep (CanNotDelete) is in the way, and nothing was deleted" in done.stderr
    assert not azure.deleted


def test_what_stays_sends_no_logs_to_a_workspace_that_goes(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    lake = lake_of(azure)["id"].lower()
    setting = "providers/microsoft.insights/diagnosticsettings/openmirror"
    openmirror("--yes")
    (reported,) = (
        one for one in azure.asked if one == f"DELETE {lake}/blobservices/default/{setting}"
    )
    assert azure.asked.index(reported) < next(
        at for at, one in enumerate(azure.asked) if re.match("DELETE .*/workspaces/[^/]+$", one)
    )


def test_without_queues_nothing_is_listed_as_lost(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    azure.refuses = "/microsoft.insights/components/"
    assert "lost with it" in openmirror("--yes").stderr
    azure.refuses = ""
    again = openmirror("--yes")
    assert again.exit_code == 0
    assert "lost with it" not in again.stderr


def test_whoever_is_not_logged_in_deletes_nothing_and_sees_why(
    azure: Azure, openmirror: Any
) -> None:
    azure.deploy(bicep())
    azure.stranger = True
    done = openmirror("--yes")
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith("Log in: `az login`")


def test_of_two_deployments_in_a_group_one_has_to_be_named(azure: Azure, openmirror: Any) -> None:
    azure.deploy(bicep())
    azure.deploy(bicep(name="second"))
    unclear = openmirror("--yes")
    assert unclear.exit_code == 1
    assert "holds the deployments openmirror, second: say which, --name" in unclear.stderr
    assert openmirror("--yes", "--with-data", "--name", "second").exit_code == 0
    assert {one["tags"]["openmirror"] for one in azure.resources} == {"openmirror"}
    assert "nothing of openmirror is left" in openmirror("--name", "third").stderr
