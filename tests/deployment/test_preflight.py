"""Before a deployment: what would make it fail is listed, with its remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.preflight import Intended
from openmirror.deployment.rules.findings import Check, Finding, Verdict
from openmirror.deployment.rules.parameters import Parameters, read_parameters
from openmirror.deployment.rules.publisher_role import OWN_ROLE
from openmirror.deployment.rules.roles import Role
from openmirror.deployment.rules.template import ResourceNames
from openmirror.ports.workspace import ExternalLocation, ObservedJob
from openmirror.wiring.deployment import Management
from tests.deployment.azure import NAME, TENANT, Azure, bicep
from tests.infra.bicep.expansion import GROUP

WORKSPACE = "https://adb-1.2.azuredatabricks.net"
PERSON = {"principalId": "22222222-0000-0000-0000-000000000001", "principalType": "User"}
PUBLISHER = {**PERSON, "mirror": "sales"}
OWN = "0aaaaaaa-0000-0000-0000-000000000001"
OPERATOR = {"principalId": "22222222-0000-0000-0000-000000000009", "principalType": "User"}


class Workspace:
    """A workspace that says which tenant it belongs to."""

    def __init__(self, tenant: str | None) -> None:
        self._tenant = tenant

    def tenant(self) -> str | None:
        return self._tenant

    def job(self, number: int) -> ObservedJob:
        raise AssertionError("nothing is asked of a job before a deployment")

    def locations(self) -> list[ExternalLocation]:
        raise AssertionError("there are none before a deployment")


Asked = Callable[..., Iterator[Finding]]


@pytest.fixture
def asked(clients: ManagementClients) -> Asked:
    def found(
        parameters: Mapping[str, object] | None = None,
        *,
        group: str = NAME,
        location: str | None = None,
        tenant: str | None = TENANT,
    ) -> Iterator[Finding]:
        preflight = replace(
            Management(clients, {}).preflight(), workspace=lambda _: Workspace(tenant)
        )
        given = {"operators": [OPERATOR], **(parameters or {})}
        return preflight.findings(Intended(group, Parameters(given), location))

    return found


@pytest.fixture
def findings(asked: Asked) -> Callable[..., list[Finding]]:
    return lambda *given, **named: list(asked(*given, **named))


def of(findings: list[Finding], check: Check) -> list[Finding]:
    return [one for one in findings if one.check is check]


def only_bad(findings: list[Finding]) -> Finding:
    (bad,) = (one for one in findings if one.verdict is not Verdict.OK)
    return bad


def test_an_empty_group_in_a_good_subscription_is_fine(findings: Any) -> None:
    found = findings(
        {
            "publishers": [PUBLISHER],
            "publisherRole": Role.BLOB_CONTRIBUTOR.value,
            "databricksWorkspaceUrl": WORKSPACE,
            "databricksJobId": "42",
            "settings": {"OPENMIRROR_DROP_GRACE": "2m"},
        }
    )
    assert {one.verdict for one in found} == {Verdict.OK}
    assert {one.check for one in found} == {
        *(Check.PARAMETERS, Check.GROUP, Check.PROVIDERS, Check.REGION, Check.RIGHTS),
        Check.PUBLISHER_ROLE,
        *(Check.LOCKS, Check.EARLIER, Check.NAMES, Check.WORKSPACE),
    }


def test_nothing_is_changed_by_checking(azure: Azure, findings: Any) -> None:
    azure.deploy(bicep())
    findings()
    changing = [
        one
        for one in azure.asked
        if not one.startswith("GET ") and not one.endswith("/checknameavailability")
    ]
    assert azure.asked
    assert not changing


@pytest.mark.parametrize(
    ("parameters", "missing"),
    [
        ({}, "Microsoft.EventGrid"),
        ({}, "Microsoft.App"),
        ({}, "Microsoft.Databricks"),
        ({"privateNetwork": True}, "Microsoft.Network"),
    ],
)
def test_a_provider_that_is_not_registered_is_named_with_the_command(
    azure: Azure, findings: Any, parameters: dict[str, object], missing: str
) -> None:
    azure.unregistered = {missing}
    bad = only_bad(findings(parameters))
    assert (bad.check, bad.verdict) == (Check.PROVIDERS, Verdict.FAULT)
    assert missing in bad.what
    assert bad.remedy == f"az provider register --namespace {missing} --wait"


def test_a_provider_that_nothing_needs_may_be_unregistered(azure: Azure, findings: Any) -> None:
    azure.unregistered = {"Microsoft.Network", "Microsoft.Databricks"}
    found = findings({"createAccessConnector": False})
    assert {one.verdict for one in found} == {Verdict.OK}


def test_a_region_without_flex_consumption_is_refused(azure: Azure, findings: Any) -> None:
    bad = only_bad(findings(location="germanynorth"))
    assert bad.verdict is Verdict.FAULT
    assert "germanynorth does not offer Flex Consumption" in bad.what
    assert "list-flexconsumption-locations" in bad.remedy
    assert only_bad(findings({"location": "germanynorth"})).what == bad.what
    azure.flex = ["North Europe"]
    assert "westeurope" in only_bad(findings()).what


def test_a_region_without_this_python_names_those_that_it_has(azure: Azure, findings: Any) -> None:
    azure.pythons = ["3.11", "3.12"]
    bad = only_bad(findings())
    assert bad.verdict is Verdict.FAULT
    assert "has no Python 3.13 on Flex Consumption, but 3.11, 3.12" in bad.what
    assert only_ok(findings({"pythonVersion": "3.12"}))


def only_ok(findings: list[Finding]) -> bool:
    return {one.verdict for one in findings} == {Verdict.OK}


@pytest.mark.parametrize(
    "permissions",
    [
        [{"actions": ["*"], "notActions": ["Microsoft.Authorization/*/Write"]}],
        [{"actions": ["Microsoft.Storage/*", "Microsoft.Web/*", "*/read"]}],
        [],
    ],
)
def test_who_may_not_assign_roles_learns_which_role_to_ask_for(
    azure: Azure, findings: Any, permissions: list[dict[str, Any]]
) -> None:
    azure.permissions = permissions
    bad = [one for one in of(findings(), Check.RIGHTS) if one.verdict is Verdict.FAULT]
    assert any("you may not assign roles" in one.what for one in bad)
    assert any("Role Based Access Control Administrator" in one.remedy for one in bad)


def test_rights_of_several_roles_count_together(azure: Azure, findings: Any) -> None:
    denies = "Microsoft.Resources/deploymentStacks/manageDenySetting/action"
    contributor = {"actions": ["*"], "notActions": ["Microsoft.Authorization/*/Write", denies]}
    assigner = {"actions": ["Microsoft.Authorization/roleAssignments/write", "*/read"]}
    owner_of_stacks = {"actions": ["Microsoft.Resources/deploymentStacks/*"]}
    azure.permissions = [contributor, assigner, owner_of_stacks]
    assert only_ok(findings())
    azure.permissions = [contributor, {**assigner, "condition": "((…))"}, owner_of_stacks]
    bad = only_bad(findings())
    assert bad.verdict is Verdict.WARNING
    assert "under a condition" in bad.what


def test_who_may_not_make_the_access_connector_reads_what_its_credentials_take(
    azure: Azure, findings: Any
) -> None:
    azure.permissions = [{"actions": ["*"], "notActions": ["Microsoft.Databricks/*/write"]}]
    bad = only_bad(findings())
    assert (bad.check, bad.verdict) == (Check.RIGHTS, Verdict.FAULT)
    assert "credentials of Unity Catalog" in bad.what
    assert "on the access connector" in bad.remedy
    assert only_ok(findings({"createAccessConnector": False}))


def test_contributor_alone_may_not_deny_the_deletion_of_data(azure: Azure, findings: Any) -> None:
    right = "Microsoft.Resources/deploymentStacks/manageDenySetting/action"
    azure.permissions = [{"actions": ["*"], "notActions": [right]}]
    bad = only_bad(findings())
    assert (bad.check, bad.verdict) == (Check.RIGHTS, Verdict.FAULT)
    assert right in bad.what
    assert "Azure Deployment Stack Owner" in bad.remedy
    azure.permissions.append({"actions": ["Microsoft.Resources/deploymentStacks/*"]})
    assert only_ok(findings())


def test_an_account_of_somebody_else_is_reported_and_our_own_is_not(
    azure: Azure, findings: Any
) -> None:
    names = ResourceNames.of("openmirror", GROUP)
    azure.taken = {names.lake_account, names.function_app}
    bad = [one for one in of(findings(), Check.NAMES) if one.verdict is Verdict.FAULT]
    assert [one.what.split()[0] for one in bad] == [names.lake_account, names.function_app]
    assert "Choose another `name`" in bad[0].remedy
    azure.deploy(bicep())
    assert {one.verdict for one in of(findings(), Check.NAMES)} == {Verdict.OK}


def test_the_names_that_are_asked_for_are_those_that_the_template_makes() -> None:
    names, made = ResourceNames.of("openmirror", GROUP), bicep()
    accounts = {one.name for one in made.of("Microsoft.Storage/storageAccounts")}
    assert accounts == {names.lake_account, names.runtime_account}
    assert [one.name for one in made.of("Microsoft.Web/sites")] == [names.function_app]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"name": "Mirror"}, 'name is "Mirror", but must be 3 to 12 lower-case'),
        ({"name": "ab"}, "3 to 12"),
        ({"name": "1mirror"}, "no digit first"),
        ({"colour": "red"}, "there is no parameter colour"),
        ({"location": 5}, "must be text"),
        ({"tags": {"a": 1}}, "an object of texts"),
        ({"pythonVersion": "3.9"}, "one of 3.11, 3.12, 3.13"),
        ({"pythonVersion": 3.13}, "one of 3.11"),
        ({"instanceMemoryMB": 1024}, "one of 512, 2048, 4096"),
        ({"maximumInstances": 0}, "a whole number from 1 to 1000"),
        ({"maximumInstances": True}, "a whole number"),
        ({"alwaysReadyInstances": 21}, "a whole number from 0 to 20"),
        ({"storageSku": "Premium_LRS"}, "Standard_LRS"),
        ({"settings": {"MY_SETTING": "1"}}, "which MY_SETTING is not"),
        ({"settings": {"OPENMIRROR_WORKERS": 8}}, "texts, which OPENMIRROR_WORKERS is not"),
        ({"settings": {"OPENMIRROR_WORKERS": "many"}}, 'OPENMIRROR_WORKERS is "many"'),
        ({"createAccessConnector": "yes"}, "true or false"),
        (
            {"databricksWorkspaceUrl": "adb-1.2.azuredatabricks.net", "databricksJobId": "1"},
            "the https:// URL of a workspace",
        ),
        ({"databricksWorkspaceUrl": f"{WORKSPACE}/jobs/1", "databricksJobId": "1"}, "https://"),
        ({"databricksWorkspaceUrl": "https://[x", "databricksJobId": "1"}, "https://"),
        ({"databricksWorkspaceUrl": WORKSPACE, "databricksJobId": "my-job"}, "the number of a job"),
        ({"databricksJobId": "42"}, "in which workspace is it?"),
        ({"publishers": [PERSON]}, "principalId, principalType, mirror"),
        ({"publishers": [{**PERSON, "mirror": "_sales"}]}, "does not begin with _"),
        ({"publishers": [{**PERSON, "mirror": "sales/eu"}]}, "has no /"),
        ({"publishers": [{**PERSON, "mirror": "sal'es"}]}, "has no '"),
        ({"publishers": [{**PERSON, "mirror": "a*"}]}, "has no *"),
        ({"publishers": [{**PERSON, "mirror": "é" * 126}]}, "at most 250 bytes"),
        ({"operators": [{**PERSON, "principalId": "ann@contoso.com"}]}, "a GUID"),
        ({"operators": [{**PERSON, "principalType": "Person"}]}, "User, Group, ServicePrincipal"),
        ({"operators": [PERSON, PERSON]}, "names each principal once"),
        ({"readers": PERSON}, "a list of objects"),
        ({"allowedAddresses": ["203.0.113.5", "2001:db8::1"]}, "which '2001:db8::1' is not"),
        ({"allowedAddresses": ["203.0.113.5/24"]}, "IPv4 addresses and ranges"),
        ({"allowedAddresses": ["203.0.113.5/32"]}, "written without its /32"),
        ({"allowedAddresses": ["10.0.0.0/8"]}, "as the internet sees them"),
        ({"addressPrefix": "10.90.0.0"}, "/24 or wider"),
        ({"addressPrefix": "10.90.0.5/16"}, "a range of IPv4 addresses"),
        ({"deletedDays": 0}, "from 1 to 365"),
        ({"logDays": 7}, "from 30 to 730"),
        ({"dailyLogGb": -2}, "from -1 to"),
    ],
    ids=str,
)
def test_a_parameter_that_breaks_its_rule_is_named_with_the_rule(
    azure: Azure, asked: Asked, parameters: dict[str, object], says: str
) -> None:
    # They come first, so that nothing has to be asked for them.
    (bad,) = takewhile(lambda one: one.check is Check.PARAMETERS, asked(parameters))
    assert bad.verdict is Verdict.FAULT
    assert says in bad.what
    assert "parameters file" in bad.remedy


def test_what_a_parameter_cannot_do_is_reported(findings: Any) -> None:
    found = findings({"databricksWorkspaceUrl": WORKSPACE})
    assert "no run will be started" in only_bad(found).what
    found = findings({"privateNetwork": True, "createDatabricksWorkspace": True})
    assert "makes nothing in a private network" in only_bad(found).what


def test_a_workspace_of_another_tenant_is_refused(findings: Any) -> None:
    given = {"databricksWorkspaceUrl": WORKSPACE, "databricksJobId": "42"}
    other = "33333333-0000-0000-0000-000000000003"
    bad = only_bad(findings(given, tenant=other))
    assert bad.verdict is Verdict.FAULT
    assert f"belongs to the tenant {other}, the subscription to {TENANT}" in bad.what
    bad = only_bad(findings(given, tenant=None))
    assert bad.verdict is Verdict.UNKNOWN


def test_a_deployment_that_still_runs_is_waited_for(azure: Azure, findings: Any) -> None:
    azure.deployments.append(azure.remembered("openmirror", bicep(), "Running"))
    bad = only_bad(findings())
    assert (bad.check, bad.verdict) == (Check.EARLIER, Verdict.FAULT)
    assert "still being deployed" in bad.what
    assert "az stack group show --name openmirror " in bad.remedy


def test_of_both_stacks_each_is_reported_as_it_stands(azure: Azure, findings: Any) -> None:
    azure.deploy(bicep())
    azure.stacks += [
        azure.stack("openmirror-data", bicep()),
        azure.stack("openmirror", bicep(), "deletingResources"),
        azure.stack("second-data", bicep(), "failed"),
    ]
    bad, fine = of(findings(), Check.EARLIER)
    assert (bad.verdict, fine.verdict) == (Verdict.FAULT, Verdict.OK)
    assert "openmirror is still being deployed" in bad.what
    assert "openmirror-data is there" in fine.what
    azure.stacks[1] = azure.stack("openmirror", bicep(), "failed")
    azure.stacks[1]["properties"]["error"] = {
        "code": "DeploymentStackDeleteResourcesFailed",
        "message": "One or more resources could not be deleted.",
        "details": [{"code": "ScopeLocked", "message": "it is locked"}],
    }
    half = of(findings(), Check.EARLIER)[0]
    assert half.verdict is Verdict.WARNING
    assert "openmirror failed half way: ScopeLocked: it is locked" in half.what


def test_a_deployment_that_failed_half_way_is_deployed_again(azure: Azure, findings: Any) -> None:
    failed = azure.remembered("openmirror", bicep(), "Failed")
    failed["properties"]["error"] = {
        "code": "DeploymentFailed",
        "message": "At least one resource deployment operation failed.",
        "details": [{"code": "QuotaExceeded", "message": "no more instances here"}],
    }
    azure.deployments.append(failed)
    bad = only_bad(findings())
    assert bad.verdict is Verdict.WARNING
    assert "half way: QuotaExceeded: no more instances here" in bad.what
    assert "deploy again" in bad.remedy


def test_a_redeployment_over_a_running_system_is_fine(azure: Azure, findings: Any) -> None:
    azure.deploy(bicep())
    found = findings()
    assert only_ok(found)
    assert "brought up to date" in of(found, Check.EARLIER)[0].what


def test_a_second_deployment_in_the_same_group_is_warned_of_the_first(
    azure: Azure, findings: Any
) -> None:
    azure.deploy(bicep())
    bad = only_bad(findings({"name": "second"}))
    assert (bad.check, bad.verdict) == (Check.EARLIER, Verdict.WARNING)
    assert "'openmirror'" in bad.what
    assert "'second'" in bad.what


# --- The publishers' role -------------------------------------------------------------------------


def test_a_role_that_is_not_recorded_is_proposed_with_the_command_that_makes_one(
    findings: Any,
) -> None:
    bad = only_bad(findings({"publishers": [PUBLISHER]}))
    assert (bad.check, bad.verdict) == (Check.PUBLISHER_ROLE, Verdict.WARNING)
    assert "may delete the whole container" in bad.what
    assert "az role definition create" in bad.remedy
    assert "record publisherRole" in bad.remedy


def test_one_that_is_there_is_proposed_by_its_guid_and_never_taken_by_itself(
    azure: Azure, findings: Any
) -> None:
    azure.roles = {OWN: OWN_ROLE}
    bad = only_bad(findings({"publishers": [PUBLISHER]}))
    assert (bad.check, bad.verdict) == (Check.PUBLISHER_ROLE, Verdict.WARNING)
    assert f"Record publisherRole = {OWN} in the parameters file" in bad.remedy
    (fine,) = of(
        findings({"publishers": [PUBLISHER], "publisherRole": OWN.upper()}), Check.PUBLISHER_ROLE
    )
    assert (fine.verdict, OWN_ROLE in fine.what) == (Verdict.OK, True)


def test_a_recorded_role_that_is_not_there_is_a_fault(findings: Any) -> None:
    bad = only_bad(findings({"publishers": [PUBLISHER], "publisherRole": OWN}))
    assert (bad.check, bad.verdict) == (Check.PUBLISHER_ROLE, Verdict.FAULT)
    assert OWN in bad.what


def test_a_role_that_would_change_for_every_publisher_named(azure: Azure, findings: Any) -> None:
    azure.roles = {OWN: OWN_ROLE}
    azure.deploy(bicep())
    given = {"publisherRole": {"type": "String", "value": OWN}}
    azure.deployments[0]["properties"]["parameters"] = given
    another = {"publishers": [PUBLISHER], "publisherRole": Role.BLOB_CONTRIBUTOR.value}
    (bad,) = of(findings(another), Check.PUBLISHER_ROLE)
    assert bad.verdict is Verdict.WARNING
    assert "the last deployment gave publishers 'openmirror publisher'" in bad.what
    assert bad.remedy.endswith(f"record publisherRole = {OWN}.")
    (same,) = of(findings({**another, "publisherRole": OWN}), Check.PUBLISHER_ROLE)
    assert same.verdict is Verdict.OK
    (second,) = of(findings({**another, "name": "second"}), Check.PUBLISHER_ROLE)
    assert second.verdict is Verdict.OK


def test_without_publishers_nothing_is_asked_of_their_role(azure: Azure, findings: Any) -> None:
    assert not of(findings(), Check.PUBLISHER_ROLE)
    assert not [one for one in azure.asked if "roledefinitions" in one]


def test_the_role_that_is_proposed_is_the_one_in_the_file() -> None:
    path = Path(__file__).parents[2] / "infra" / "bicep" / "publisher-role.json"
    assert json.loads(path.read_text())["Name"] == OWN_ROLE


@pytest.mark.parametrize(
    ("level", "verdict"), [("ReadOnly", Verdict.FAULT), ("CanNotDelete", Verdict.WARNING)]
)
def test_a_lock_on_the_group_is_reported(
    azure: Azure, findings: Any, level: str, verdict: Verdict
) -> None:
    at = f"{GROUP}/providers/Microsoft.Authorization/locks/keep"
    azure.locks.append({"id": at, "name": "keep", "properties": {"level": level}})
    bad = only_bad(findings())
    assert (bad.check, bad.verdict) == (Check.LOCKS, verdict)
    assert "keep" in bad.what


def test_a_group_that_is_not_there_yet_is_reported_with_the_command(findings: Any) -> None:
    found = findings(group="rg-new", location="northeurope")
    (names,) = of(found, Check.NAMES)
    assert names.verdict is Verdict.UNKNOWN
    assert "none is seen yet" in names.what
    bad = only_bad([one for one in found if one is not names])
    assert bad.verdict is Verdict.WARNING
    assert bad.remedy.startswith("az group create --name rg-new --location northeurope")
    assert of(found, Check.RIGHTS)  # asked at the subscription


def test_what_cannot_be_asked_is_unknown_and_the_rest_is_reported(
    azure: Azure, findings: Any
) -> None:
    azure.denied = "/locks$"
    bad = only_bad(findings())
    assert (bad.check, bad.verdict) == (Check.LOCKS, Verdict.UNKNOWN)
    assert "access is denied (AuthorizationFailed)" in bad.what
    azure.denied, azure.away = "", True
    found = findings(location="westeurope")
    assert {one.verdict for one in found if one.check is not Check.PARAMETERS} == {Verdict.UNKNOWN}
    assert "Azure answers 503" in of(found, Check.PROVIDERS)[0].what


# --- The parameters file --------------------------------------------------------------------------


def file(values: Mapping[str, object]) -> str:
    return json.dumps({"parameters": {name: {"value": one} for name, one in values.items()}})


def test_every_parameter_of_the_template_is_known_and_no_other() -> None:
    from openmirror.deployment.rules.parameter_rules import PARAMETERS
    from tests.infra.sample_deployment import folder

    templates = folder().templates
    names = ("data.bicep", "main.bicep", "subscription.bicep")
    assert set(PARAMETERS) == {one for name in names for one in templates[name].parameters}


@pytest.mark.parametrize("name", ["small", "private", "subscription"])
def test_the_parameters_files_that_are_here_are_good(findings: Any, name: str) -> None:
    path = Path(__file__).parents[2] / "infra" / "bicep" / f"{name}.parameters.json"
    env = {"AZURE_ENV_NAME": "trial", "AZURE_PRINCIPAL_ID": PERSON["principalId"]}
    given = read_parameters(path.read_text(), env)
    assert given.values
    people = {} if given.values.get("operators") else {"operators": [OPERATOR]}
    assert only_ok(of(findings({**given.values, **people}), Check.PARAMETERS))


def test_without_operators_it_warns_that_nobody_may_read(findings: Any) -> None:
    bad = only_bad(findings({"operators": []}))
    assert bad.verdict is Verdict.WARNING
    assert "`verify` cannot land its sample" in bad.what
    assert "az ad signed-in-user show" in bad.remedy


def test_values_come_from_the_environment_as_with_azd() -> None:
    text = file(
        {
            "name": "${MIRROR}",
            "deletedDays": "${DAYS}",
            "databricksJobId": "${JOB}",
            "alertEmail": "${MAIL=ops@contoso.com}",
            "location": "${NOWHERE}",
            "operators": [{"principalId": "${ME}", "principalType": "User"}],
            "tags": {"team": "x-${MIRROR}"},
        }
    )
    given = read_parameters(text, {"MIRROR": "sales", "DAYS": "30", "JOB": "42"})
    assert given.values == {
        "name": "sales",
        "deletedDays": 30,
        "databricksJobId": "42",
        "alertEmail": "ops@contoso.com",
        "tags": {"team": "x-sales"},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "no parameters file"),
        ('{"name": "x"}', "no parameters file"),
        ('{"parameters": {"name": "x"}}', "name has no value"),
    ],
)
def test_a_file_that_is_no_parameters_file_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_parameters(text, {})
