"""No key, no secret, no open way in: what the files hold, and what would stand by their values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.bicep.expansion import expand
from tests.infra.bicep.folder import Folder
from tests.infra.bicep.security import MUST, values, written
from tests.infra.deployments import EVERYBODY, VARIANTS


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder.at()


def test_no_file_reads_a_key_reports_a_secret_or_names_a_host_of_one_cloud(folder):
    assert [str(each) for each in written(folder)] == []


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_every_resource_is_closed_as_far_as_it_can_be(folder, variant):
    deployment = expand(folder, variant)

    found = values(folder, deployment, private=variant.get("privateNetwork", False))

    assert [str(each) for each in found] == []


def test_each_kind_of_resource_that_must_be_closed_is_there(folder):
    made = {each.type for each in expand(folder, EVERYBODY).resources}

    assert set(MUST) <= made


def test_a_private_deployment_lets_in_the_allowed_addresses_only(folder):
    parameters: dict[str, Any] = {
        "privateNetwork": True,
        "allowedAddresses": ["203.0.113.7/32", "198.51.100.0/24"],
    }
    deployment = expand(folder, parameters)

    for account in deployment.of("Microsoft.Storage/storageAccounts"):
        rules = account.properties["networkAcls"]["ipRules"]
        assert [each["value"] for each in rules] == ["203.0.113.7", "198.51.100.0/24"]
    (app,) = deployment.of("Microsoft.Web/sites")
    config = app.properties["siteConfig"]
    assert config["ipSecurityRestrictionsDefaultAction"] == "Deny"
    assert {each["ipAddress"] for each in config["ipSecurityRestrictions"]} >= {
        "203.0.113.7/32",
        "198.51.100.0/24",
    }


PLANTED_TEXT = {
    "a key in an output": (
        "runtime.bicep",
        "output id string = account.id",
        "output id string = account.listKeys().keys[0].value",
        "output id shows a secret",
    ),
    "a secure parameter in an output": (
        "lake.bicep",
        "output id string = account.id",
        "output id string = word\n\n@description('Secret.')\n@secure()\nparam word string",
        "output id shows a secret",
    ),
    "a secure parameter in an output by way of a variable": (
        "lake.bicep",
        "output id string = account.id",
        "output id string = all\n\n@secure()\nparam word string\nvar all = 'it is ${word}'",
        "output id shows a secret",
    ),
    "a key in a setting": (
        "functions.bicep",
        "AZURE_CLIENT_ID: identityClientId",
        "AZURE_CLIENT_ID: 'AccountKey=${identityClientId}'",
        "AccountKey is of a secret",
    ),
    "a host of the public cloud": (
        "lake.bicep",
        "account.properties.primaryEndpoints.dfs",
        "'https://${name}.dfs.core.windows.net/'",
        "core.windows.net is a host of one cloud only",
    ),
    "a key by a function": (
        "runtime.bicep",
        "output id string = account.id",
        "output id string = listKeys(account.id, '2025-08-01').keys[0].value",
        "listKeys() reads a key",
    ),
}


@pytest.mark.parametrize(
    ("file", "old", "new", "reported"), PLANTED_TEXT.values(), ids=PLANTED_TEXT
)
def test_a_planted_secret_is_reported_with_its_file_and_line(folder, file, old, new, reported):
    wrong = folder.changed(file, old, new)

    findings = written(wrong)

    line = wrong.line(file, new)
    assert f"{file}:{line}: {reported}" in [str(each) for each in findings]


PLANTED_VALUES = {
    "shared keys": (
        "lake.bicep",
        "allowSharedKeyAccess: false",
        "allowSharedKeyAccess: true",
        "properties.allowSharedKeyAccess is True, and must be False",
    ),
    "an old TLS": (
        "runtime.bicep",
        "minimumTlsVersion: 'TLS1_2'",
        "minimumTlsVersion: 'TLS1_0'",
        "properties.minimumTlsVersion is 'TLS1_0', and must be 'TLS1_2'",
    ),
    "public blobs": (
        "lake.bicep",
        "publicAccess: 'None'",
        "publicAccess: 'Blob'",
        "properties.publicAccess is 'Blob', and must be 'None'",
    ),
    "plain http": (
        "functions.bicep",
        "httpsOnly: true",
        "httpsOnly: false",
        "properties.httpsOnly is False, and must be True",
    ),
    "a password for the app": (
        "functions.bicep",
        "allow: false",
        "allow: true",
        "properties.allow is True, and must be False",
    ),
    "telemetry with a key": (
        "monitoring.bicep",
        "DisableLocalAuth: true",
        "DisableLocalAuth: false",
        "properties.DisableLocalAuth is False, and must be True",
    ),
    "a private network that nobody keeps to": (
        "runtime.bicep",
        "privateNetwork ? 'Deny' : 'Allow'",
        "!privateNetwork ? 'Deny' : 'Allow'",
        "properties.networkAcls.defaultAction is 'Allow', and must be 'Deny'",
    ),
}


@pytest.mark.parametrize(
    ("file", "old", "new", "reported"), PLANTED_VALUES.values(), ids=PLANTED_VALUES
)
def test_a_planted_way_in_is_reported_with_its_file_and_line(folder, file, old, new, reported):
    wrong = folder.changed(file, old, new)

    findings = values(wrong, expand(wrong, {"privateNetwork": True}), private=True)

    (finding,) = [each for each in findings if reported in each.text]
    assert (finding.path, finding.line) == (file, wrong.line(file, new))


def test_a_property_that_is_left_out_is_reported_where_it_should_stand(folder):
    wrong = folder.changed("lake.bicep", "    allowSharedKeyAccess: false\n", "")

    (finding,) = values(wrong, expand(wrong), private=False)

    assert "properties.allowSharedKeyAccess is None, and must be False" in finding.text
    assert finding.line == wrong.line("lake.bicep", "properties: {\n    accessTier")


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("  scope: lakeStorage::blobs::landing\n", "", "a role is given on a whole resource group"),
        ("    principalType: 'ServicePrincipal'\n", "", "a role without principalType"),
        ("    conditionVersion: '2.0'\n", "", "a condition is of conditionVersion 2.0"),
    ],
)
def test_a_role_that_is_given_too_widely_is_reported(folder, old, new, reported):
    wrong = folder.changed("roles.bicep", old, new)

    findings = values(wrong, expand(wrong), private=False)

    assert [(each.path, each.text) for each in findings] == [("roles.bicep", reported)]


def test_an_app_whose_passwords_are_not_switched_off_is_reported(folder):
    wrong = folder.changed("functions.bicep", "name: 'ftp'", "name: 'scm'")

    findings = values(wrong, expand(wrong), private=False)

    assert [each.text for each in findings] == ["a password opens ftp"]
