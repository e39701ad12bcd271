"""azure.yaml: what `azd up` takes from this repository is there, and called as the templates do."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from release.__main__ import package
from tests.infra.bicep.expansion import expand
from tests.infra.bicep.folder import BICEP, ROOT, Folder
from tests.infra.bicep.naming import naming
from tests.infra.bicep.parameterfile import filled
from tests.infra.bicep.valuecheck import valuecheck
from tests.infra.deployments import EVERYBODY

# The names of azd's schema (v1.0) that this file has use for; azd passes over others in silence.
KEYS: Mapping[str, Any] = {
    "name": str,
    "metadata": {"template": str},
    "requiredVersions": {"azd": str},
    "infra": {
        "provider": str,
        "path": str,
        "module": str,
        "deploymentStacks": {
            "actionOnUnmanage": {"managementGroups": str, "resourceGroups": str, "resources": str},
            "denySettings": {"mode": str},
        },
    },
    "services": {"*": {"host": str, "language": str, "project": str, "resourceName": str}},
    "hooks": {
        "*": {
            "posix": {"shell": str, "run": str, "interactive": bool, "continueOnError": bool},
            "windows": {"shell": str, "run": str, "interactive": bool, "continueOnError": bool},
        }
    },
}
HOOKS = {
    f"{when}{what}"
    for when in ("pre", "post")
    for what in ("build", "deploy", "down", "package", "provision", "publish", "restore", "up")
}


def unknown(part: Any, keys: Any, at: str = "") -> list[str]:
    """What azd would pass over or refuse."""
    if isinstance(keys, type):
        return [] if isinstance(part, keys) else [f"{at} is a {type(part).__name__}"]
    if not isinstance(part, dict):
        return [f"{at} is a {type(part).__name__}"]
    found = []
    for key, value in part.items():
        inner = keys.get(key, keys.get("*"))
        path = f"{at}.{key}" if at else str(key)
        found += [f"{path} is unknown"] if inner is None else unknown(value, inner, path)
    return found


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    whole: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text())
    return whole


def test_azd_knows_every_key(document):
    assert unknown(document, KEYS) == []
    assert set(document["hooks"]) <= HOOKS


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ({"service": {}}, "service is unknown"),
        ({"infra": {"modul": "main"}}, "infra.modul is unknown"),
        ({"services": {"functions": {"host": 1}}}, "services.functions.host is a int"),
        ({"hooks": {"prepackage": "x"}}, "hooks.prepackage is a str"),
    ],
)
def test_a_key_that_azd_does_not_know_is_reported(wrong, reported):
    assert unknown(wrong, KEYS) == [reported]


def test_the_template_that_azd_deploys_is_there_with_its_parameters(document):
    infra = document["infra"]

    assert infra["provider"] == "bicep"
    assert ROOT / infra["path"] == BICEP
    assert (BICEP / f"{infra['module']}.bicep").is_file()
    assert (BICEP / f"{infra['module']}.parameters.json").is_file()
    assert Folder.at().templates[f"{infra['module']}.bicep"].scope == "subscription"


def test_azd_with_stacks_never_deletes_what_holds_data(document):
    # It makes one stack of everything, so that nothing of it may go.
    action = document["infra"]["deploymentStacks"]["actionOnUnmanage"]

    assert action == dict.fromkeys(("managementGroups", "resourceGroups", "resources"), "detach")


def test_azd_finds_the_app_that_a_service_is_published_to(document):
    deployment = expand(Folder.at(), EVERYBODY)
    tagged = [each for each in deployment.resources if each.body.get("tags")]

    for service, what in document["services"].items():
        (app,) = [each for each in tagged if each.body["tags"].get("azd-service-name") == service]
        assert what["host"] == "function"
        assert app.type == "Microsoft.Web/sites"
        assert what["language"] == app.properties["functionAppConfig"]["runtime"]["name"]


ENVIRONMENT = {
    "AZURE_ENV_NAME": "dev",
    "AZURE_LOCATION": "westeurope",
    "AZURE_PRINCIPAL_ID": "00000000-0000-0000-0000-000000000009",
}


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {
            "OPENMIRROR_NAME": "abc",
            "OPENMIRROR_PRIVATE_NETWORK": "true",
            "OPENMIRROR_CREATE_DATABRICKS_WORKSPACE": "true",
            "OPENMIRROR_ALERT_EMAIL": "on-call@example.com",
            "AZURE_PRINCIPAL_TYPE": "ServicePrincipal",
        },
    ],
    ids=["as it comes", "with choices"],
)
def test_what_azd_fills_in_makes_a_deployment_that_azure_takes(chosen):
    folder = Folder.at()
    text = (BICEP / "subscription.parameters.json").read_text()
    template = folder.templates["subscription.bicep"]

    given = filled(template, text, ENVIRONMENT | chosen)
    deployment = expand(folder, given, template="subscription.bicep")

    assert set(re.findall(r"\$\{(\w+)", text)) >= set(ENVIRONMENT) | set(chosen)
    assert given["operators"][0]["principalId"] == ENVIRONMENT["AZURE_PRINCIPAL_ID"]
    assert [*naming(deployment), *valuecheck(deployment)] == []
    private = chosen.get("OPENMIRROR_PRIVATE_NETWORK") == "true"
    assert bool(deployment.of("Microsoft.Network/virtualNetworks")) == private


def test_azd_finds_the_group_by_the_tag_of_its_environment():
    parameters = (BICEP / "subscription.parameters.json").read_text()

    assert re.search(r'"azd-env-name": "\$\{AZURE_ENV_NAME\}"', parameters)
    deployment = expand(
        Folder.at(),
        {"resourceGroupName": "rg", "location": "x", "tags": {"azd-env-name": "dev"}},
        template="subscription.bicep",
    )
    (group,) = deployment.of("Microsoft.Resources/resourceGroups")
    assert group.body["tags"]["azd-env-name"] == "dev"


def test_a_service_is_published_from_the_folder_that_the_package_is_built_into(document):
    built = inspect.signature(package).parameters["out"].default / "functions"

    assert "functions/ " in (package.__doc__ or "")
    assert {(ROOT / each["project"]).resolve() for each in document["services"].values()} == {built}


def test_a_hook_runs_a_command_that_is_there(document):
    verbs = re.findall(r"^([a-z|-]+)\)$", (ROOT / "dev").read_text(), re.MULTILINE)
    known = {verb for row in verbs for verb in row.split("|")}

    for hook in document["hooks"].values():
        for system in hook.values():
            program, verb = system["run"].split()[:2]
            assert (ROOT / program).is_file()
            assert verb in known
