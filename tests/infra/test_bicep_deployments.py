"""What a deployment would make: names that Azure takes, each thing once and after what it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.bicep.deployed import GROUP, MODULE
from tests.infra.bicep.expansion import STACKS, Unevaluable, expand
from tests.infra.bicep.folder import BICEP, Folder
from tests.infra.bicep.naming import ROLE_ASSIGNMENT, naming, shared
from tests.infra.bicep.order import first, order
from tests.infra.bicep.valuecheck import valuecheck
from tests.infra.deployments import EVERYBODY, LONGEST, SHORTEST, VARIANTS, principal
from tests.infra.name_rules import NAME_RULES

PRIVATE: dict[str, Any] = {**EVERYBODY, "privateNetwork": True}
OTHER_GROUP = f"{GROUP}-2"


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder.at()


def names(deployment, kind) -> set[str]:
    return {each.name for each in deployment.of(kind)}


# -- Names


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_azure_takes_every_name(folder, variant):
    assert [str(each) for each in naming(expand(folder, variant))] == []


def test_every_rule_is_for_something_that_a_deployment_makes(folder):
    made = {
        each.type for variant in VARIANTS.values() for each in expand(folder, variant).resources
    }
    whole = expand(
        folder, {"resourceGroupName": "rg", "location": "x"}, template="subscription.bicep"
    )

    assert made | {each.type for each in whole.resources} == set(NAME_RULES)


@pytest.mark.parametrize("parameters", [{}, EVERYBODY], ids=["as it comes", "with everybody"])
def test_a_second_deployment_in_a_group_shares_nothing_with_the_first(folder, parameters):
    one = expand(folder, {**parameters, "name": SHORTEST})
    two = expand(folder, {**parameters, "name": LONGEST})

    assert shared(one, two) == []


def test_two_private_deployments_in_a_group_share_the_zones_of_names_and_nothing_else(folder):
    one = expand(folder, {**PRIVATE, "name": SHORTEST})
    two = expand(folder, {**PRIVATE, "name": LONGEST})

    assert shared(one, two) == [
        f"Microsoft.Network/privateDnsZones privatelink.{each}.core.windows.net"
        for each in ("blob", "dfs", "queue", "table")
    ]


def test_the_same_name_in_another_group_shares_no_name_that_azure_has_once_only(folder):
    assert shared(expand(folder), expand(folder, group=OTHER_GROUP)) == []


def test_a_deployment_that_is_repeated_makes_the_same_again(folder):
    assert expand(folder, PRIVATE) == expand(Folder.at(), PRIVATE)


def test_a_deployment_with_a_group_of_its_own_makes_the_same_in_it(folder):
    group = GROUP.rpartition("/")[2]

    whole = expand(
        folder,
        {"resourceGroupName": group, "location": "westeurope", **EVERYBODY},
        template="subscription.bicep",
    )

    ids = {each.id for each in whole.resources} - {GROUP}
    inner = {each.id for each in expand(folder, EVERYBODY).resources}
    assert ids - inner == {
        f"{GROUP}/providers/Microsoft.Resources/deployments/{each}"
        for each in ("openmirror-data", "openmirror")
    }
    assert inner <= ids
    assert whole.outputs["RESOURCE_GROUP"] == group


def test_a_group_hands_no_tag_of_a_deployment_down_to_what_others_put_into_it(folder):
    given = {"resourceGroupName": "rg", "location": "westeurope", "tags": {"team": "data"}}

    whole = expand(folder, given, template="subscription.bicep")

    (group,) = whole.of("Microsoft.Resources/resourceGroups")
    assert group.body["tags"] == {"team": "data"}


def test_everything_that_has_tags_has_those_that_were_given_and_the_name(folder):
    deployment = expand(folder, {**PRIVATE, "name": LONGEST, "tags": {"team": "data"}})

    tagged = [each for each in deployment.resources if "location" in each.body]
    assert len(tagged) > 20
    for resource in tagged:
        assert resource.body["tags"].items() >= {"team": "data", "openmirror": LONGEST}.items()


def test_a_name_that_is_too_long_is_refused_before_anything_is_made(folder):
    with pytest.raises(Unevaluable, match=r"data.bicep:\d+: name is at most 12, not a length of"):
        expand(folder, {"name": "openmirror123"})


@pytest.mark.parametrize("name", ["Mirrors", "mir-rors", "mir_rors", "mir.rors"])
def test_a_name_of_other_characters_breaks_the_rule_of_accounts(folder, name):
    found = naming(expand(folder, {"name": name}))

    assert {"lake.bicep", "runtime.bicep"} <= {each.path for each in found}


@pytest.mark.parametrize("name", [SHORTEST, LONGEST])
def test_the_action_group_has_a_short_name_of_twelve_characters_at_most(folder, name):
    (group,) = expand(folder, {"name": name}).of("Microsoft.Insights/actionGroups")

    assert 1 <= len(group.properties["groupShortName"]) <= 12


@pytest.mark.parametrize("file", ["small.parameters.json", "private.parameters.json"])
def test_a_parameter_file_makes_a_deployment_that_azure_takes(folder, file):
    given = json.loads((BICEP / file).read_text())["parameters"]

    deployment = expand(folder, {name: each["value"] for name, each in given.items()})

    assert [*naming(deployment), *valuecheck(deployment), *order(folder, deployment)] == []
    endpoints = deployment.of("Microsoft.Network/privateEndpoints")
    assert bool(endpoints) == file.startswith("private")


# -- Order


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_whatever_is_read_is_made_before(folder, variant):
    deployment = expand(folder, variant)

    assert deployment.existing
    assert [str(each) for each in order(folder, deployment)] == []


@pytest.mark.parametrize("later", ["functions", "events"])
def test_roles_stand_before_what_acts_by_them(folder, later):
    assert first(folder, "roles", before=later)


# -- What holds data, and all else

HOLD_DATA = {
    "Microsoft.Databricks/workspaces",
    "Microsoft.Storage/storageAccounts",
    "Microsoft.Storage/storageAccounts/blobServices",
    "Microsoft.Storage/storageAccounts/blobServices/containers",
}
REACH_IT = {
    "Microsoft.Network/networkSecurityGroups",
    "Microsoft.Network/privateDnsZones",
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
    "Microsoft.Network/privateEndpoints",
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
    "Microsoft.Network/virtualNetworks",
}


def parts(folder, variant) -> list[set[str]]:
    """The resources of each of the two stacks; its nested deployments are none."""
    return [
        {
            each.id
            for each in expand(
                folder,
                {n: v for n, v in variant.items() if n in folder.templates[template].parameters},
                template=template,
            ).resources
            if each.type != MODULE
        }
        for template in STACKS
    ]


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_every_resource_belongs_to_one_of_the_two_stacks(folder, variant):
    data, main = parts(folder, variant)

    assert not data & main
    whole = {each.id for each in expand(folder, variant).resources if each.type != MODULE}
    assert data | main == whole


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_stack_of_the_data_has_all_that_holds_data_and_what_that_is_reached_by(folder, variant):
    deployment = expand(folder, variant)
    data, _ = parts(folder, variant)

    kept = {each.id for each in deployment.resources if each.id in data}
    # The runtime account holds messages and dead letters, which are no data, and its endpoints are
    # what the app reaches it by.
    machinery = {
        each.id
        for each in deployment.resources
        if each.path == "runtime.bicep" or "-runtime-" in each.name.partition("/")[0]
    }
    wanted = {
        each.id
        for each in deployment.resources
        if each.type in HOLD_DATA | REACH_IT and each.id not in machinery
    }
    assert kept == wanted
    lake = [each for each in deployment.resources if each.path == "lake.bicep"]
    assert {each.id for each in lake} <= kept
    assert len(lake) == 4


def test_no_role_belongs_to_the_stack_of_the_data_so_that_all_go_with_the_other(folder):
    deployment = expand(folder, EVERYBODY)
    data, _ = parts(folder, EVERYBODY)

    assert len(deployment.of(ROLE_ASSIGNMENT)) > 20
    assert not [each for each in deployment.of(ROLE_ASSIGNMENT) if each.id in data]


# -- Planted mistakes


WRONG_NAMES = {
    "an account's name that is too long": (
        "data.bicep",
        "'st${name}lake${take(token, 4)}'",
        "'st${name}lake${token}x'",
        {"name": LONGEST},
        "lake.bicep: Microsoft.Storage/storageAccounts: 'stopenmirror12lake",
    ),
    "an account's name with a dash": (
        "main.bicep",
        "'st${name}run${take(token, 4)}'",
        "'st-${name}run${take(token, 4)}'",
        {},
        "runtime.bicep: Microsoft.Storage/storageAccounts: 'st-openmirrorrun",
    ),
    "an app's name that the host's id does not hold": (
        "main.bicep",
        "'func-${name}-${token}'",
        "'func-${name}-${uniqueString(name)}-x'",
        {"name": LONGEST},
        "functions.bicep: name is at most 32, not a length of 33",
    ),
    "a container with a capital": (
        "lake.bicep",
        "name: 'landing'",
        "name: 'Landing'",
        {},
        "lake.bicep: Microsoft.Storage/storageAccounts/blobServices/containers: 'Landing' does",
    ),
    "a queue with two dashes": (
        "runtime.bicep",
        "name: 'table-work'",
        "name: 'table--work'",
        {},
        "runtime.bicep: Microsoft.Storage/storageAccounts/queueServices/queues: 'table--work' ",
    ),
    "a workbook that is no GUID": (
        "workbook.bicep",
        "guid(resourceGroup().id, name, 'workbook')",
        "'workbook'",
        {},
        "workbook.bicep: Microsoft.Insights/workbooks: 'workbook' has 8 characters, not 36",
    ),
    "two assignments of one name": (
        "roles.bicep",
        "guid(runtimeStorage.id, functionsPrincipalId, tableContributor)",
        "guid(runtimeStorage.id, functionsPrincipalId, blobOwner)",
        {},
        "is made twice",
    ),
    "a role that one principal gets twice": (
        "access.bicep",
        "if (!contains(operatorIds, reader.principalId)) {",
        "if (reader.principalId != '') {",
        {"operators": [principal(3)], "readers": [principal(3)]},
        "access.bicep: a role is given twice to one principal at one scope",
    ),
    "a module of a name that another has": (
        "data.bicep",
        "name: '${name}-lake'",
        "name: '${name}-runtime'",
        {},
        "data.bicep: Microsoft.Resources/deployments openmirror-runtime is made twice",
    ),
}


@pytest.mark.parametrize(
    ("file", "old", "new", "parameters", "reported"), WRONG_NAMES.values(), ids=WRONG_NAMES
)
def test_a_planted_mistake_in_a_name_is_reported(folder, file, old, new, parameters, reported):
    wrong = folder.changed(file, old, new)

    try:
        findings = [f"{each.path}: {each.text}" for each in naming(expand(wrong, parameters))]
    except Unevaluable as refused:
        path, _, text = str(refused).split(":", 2)
        findings = [f"{path}:{text}"]

    assert any(reported in each for each in findings), findings


SHARED = {
    "an account": (
        "data.bicep",
        "'st${name}lake${take(token, 4)}'",
        "'stlake${uniqueString(resourceGroup().id)}'",
    ),
    "a workbook": (
        "workbook.bicep",
        "guid(resourceGroup().id, name, 'workbook')",
        "guid(resourceGroup().id, 'workbook')",
    ),
    "private endpoints": ("main.bicep", "'pep-${name}'", "'pep'"),
    "an action group": ("alerts.bicep", "'ag-${name}'", "'ag'"),
    "a module": ("data.bicep", "'${name}-lake'", "'lake'"),
}


@pytest.mark.parametrize(("file", "old", "new"), SHARED.values(), ids=SHARED)
def test_what_two_deployments_in_a_group_would_share_is_reported(folder, file, old, new):
    wrong = folder.changed(file, old, new)

    both = [expand(wrong, {**PRIVATE, "name": name}) for name in (SHORTEST, LONGEST)]

    assert [each for each in shared(*both) if "privateDnsZones" not in each]


def test_an_account_that_another_group_has_too_is_reported(folder):
    wrong = folder.changed("main.bicep", "resourceGroup().id, name", "name")

    assert any(
        each.startswith("Microsoft.Storage/storageAccounts st")
        for each in shared(expand(wrong), expand(wrong, group=OTHER_GROUP))
    )


LOST = {
    "a container that nobody makes": (
        "roles.bicep",
        "name: 'landing'",
        "name: 'landings'",
        "nothing makes Microsoft.Storage/storageAccounts/blobServices/containers st",
    ),
    "a subnet that nobody makes": (
        "main.bicep",
        "existing = {\n    name: 'functions'",
        "existing = {\n    name: 'function'",
        "nothing makes Microsoft.Network/virtualNetworks/subnets vnet-openmirror",
    ),
    "an account that the other template calls otherwise": (
        "data.bicep",
        "name: 'st${name}lake${take(token, 4)}'",
        "name: 'st${name}data${take(token, 4)}'",
        "nothing makes Microsoft.Storage/storageAccounts st",
    ),
    "a network that is not waited for": (
        "data.bicep",
        "networkName: network.outputs.name",
        "networkName: 'vnet-${name}-${token}'",
        "lakeEndpoints does not wait for network, which makes ",
    ),
    "an account that is not waited for": (
        "main.bicep",
        "    runtimeAccount: runtime.outputs.name\n    publishers: publishers",
        "    runtimeAccount: 'st${name}run${take(token, 4)}'\n    publishers: publishers",
        "access does not wait for runtime, which makes st",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "reported"), LOST.values(), ids=LOST)
def test_what_is_read_and_not_there_is_reported(folder, file, old, new, reported):
    wrong = folder.changed(file, old, new)

    findings = order(wrong, expand(wrong, PRIVATE))

    assert any(reported in each.text for each in findings), [str(each) for each in findings]


def test_an_app_that_does_not_wait_for_its_roles_is_reported(folder):
    text = folder.texts["main.bicep"]
    head, _, tail = text.rpartition("  dependsOn: [\n    roles\n  ]\n")

    assert not first(folder.with_text("main.bicep", head + tail), "roles", before="functions")


def test_an_output_of_what_is_not_made_is_reported(folder):
    wrong = folder.changed("data.bicep", "lake.outputs.dfsEndpoint", "network.outputs.name")

    with pytest.raises(Unevaluable, match=r"data.bicep:\d+: .outputs is asked of what is not made"):
        expand(wrong)


# -- People


@pytest.mark.parametrize(
    "lists",
    [
        ("operators", "readers", "runners", "publishers"),
        ("operators", "runners"),
        ("readers", "runners"),
        ("readers", "publishers"),
    ],
    ids="+".join,
)
def test_one_who_is_named_in_several_lists_gets_each_role_once(folder, lists):
    one = principal(7)

    deployment = expand(folder, {each: [{**one, "mirror": "sales"}] for each in lists})

    given = [
        (each.scope, each.properties["roleDefinitionId"])
        for each in deployment.of(ROLE_ASSIGNMENT)
        if each.properties["principalId"] == one["principalId"]
    ]
    assert given
    assert len(given) == len(set(given))
    assert naming(deployment) == []


def test_one_who_publishes_twice_or_also_runs_is_reported_since_azure_takes_a_role_once(folder):
    one = principal(7)
    twice = {"publishers": [{**one, "mirror": "sales"}, {**one, "mirror": "crm"}]}
    runs = {"publishers": [{**one, "mirror": "sales"}], "runners": [one]}

    for parameters in (twice, runs):
        reported = {each.text for each in naming(expand(folder, parameters))}
        assert "a role is given twice to one principal at one scope" in reported
