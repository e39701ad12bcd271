"""Every resource is of a type and an API version that exist, and holds what Azure accepts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra.bicep.expansion import STACKS, expand
from tests.infra.bicep.folder import Folder
from tests.infra.bicep.models import NoModel, record
from tests.infra.bicep.resource_types import resource_types
from tests.infra.bicep.syntax import Expression, Property, Text, children
from tests.infra.bicep.typecheck import full_type, typecheck
from tests.infra.bicep.valuecheck import valuecheck
from tests.infra.deployments import VARIANTS


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder.at()


def test_azure_accepts_every_resource_as_it_is_written(folder):
    assert typecheck(folder) == []


def test_the_table_of_types_holds_no_type_that_no_file_uses(folder):
    used = {
        full_type(template, resource)[0]
        for template in folder.templates.values()
        for resource in template.resources.values()
    }

    assert set(resource_types()) - used == set()


def test_a_model_that_no_package_has_is_reported():
    with pytest.raises(NoModel, match=r"azure.mgmt.storage has no model Acount"):
        record("storage", "Acount")


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_azure_accepts_every_value_that_parameters_lead_to(folder, variant):
    assert [str(each) for each in valuecheck(expand(folder, variant))] == []


def test_azure_accepts_every_value_that_a_parameter_allows(folder):
    allowed = [
        {parameter.name: value}
        for template in STACKS
        for parameter in folder.templates[template].parameters.values()
        for value in parameter.allowed or ()
    ]

    assert len(allowed) > 5
    for each in allowed:
        assert [str(found) for found in valuecheck(expand(folder, each))] == [], each


WRONG_VALUES = {
    "a parameter that allows what Azure does not": (
        "data.bicep",
        "param storageSku string = 'Standard_LRS'",
        "param storageSku string = 'Standard_LSR'",
        {},
        "storageAccounts.sku.name is one of",
    ),
    "a number that another file hands on as text": (
        "data.bicep",
        "deletedDays: deletedDays",
        "deletedDays: string(deletedDays)",
        {},
        "deleteRetentionPolicy.days is of type int, not '7'",
    ),
    "a list where one is wanted": (
        "data.bicep",
        "sku: storageSku",
        "sku: [storageSku]",
        {},
        "sku.name cannot be ['Standard_LRS']",
    ),
    "a filter of a kind that a variable misspells": (
        "events.bicep",
        "operatorType: 'StringNotContains'",
        "operatorType: toLower('StringNotContains')",
        {},
        "advancedFilters[] has no kind 'stringnotcontains'",
    ),
    "a property that a union brings in": (
        "functions.bicep",
        "    siteConfig: {",
        "    siteConfig: union(runnerSettings, {\n      linux: true\n    })\n    more: {",
        {},
        "siteConfig has no property linux",
    ),
}


@pytest.mark.parametrize(
    ("file", "old", "new", "parameters", "reported"), WRONG_VALUES.values(), ids=WRONG_VALUES
)
def test_a_planted_value_is_reported(folder, file, old, new, parameters, reported):
    wrong = folder.changed(file, old, new)

    findings = [each.text for each in valuecheck(expand(wrong, parameters))]

    assert any(reported in each for each in findings), findings


def test_every_property_that_the_table_calls_later_is_one_of_the_package():
    for each in resource_types().values():
        assert each.accepts.fields, each.name


PLANTED = {
    "an API version that does not exist": (
        "lake.bicep",
        "storageAccounts@2025-08-01",
        "storageAccounts@2025-08-32",
        "Microsoft.Storage/storageAccounts has no API version 2025-08-32",
    ),
    "a type that does not exist": (
        "events.bicep",
        "systemTopics/eventSubscriptions@",
        "systemTopics/subscriptions@",
        "Microsoft.EventGrid/systemTopics/subscriptions is no type",
    ),
    "a property that does not exist": (
        "events.bicep",
        "eventTimeToLiveInMinutes: 1440",
        "eventTimeToLive: 1440",
        "retryPolicy has no property eventTimeToLive",
    ),
    "a property in the wrong case": (
        "lake.bicep",
        "isHnsEnabled: true",
        "isHNSEnabled: true",
        "has no property isHNSEnabled (it is written isHnsEnabled)",
    ),
    "a required property that is missing": (
        "lake.bicep",
        "  kind: 'StorageV2'\n",
        "",
        "Microsoft.Storage/storageAccounts lacks kind, which is required",
    ),
    "a read-only property that is set": (
        "topic.bicep",
        "topicType: 'Microsoft.Storage.StorageAccounts'",
        "provisioningState: 'Succeeded'",
        "properties.provisioningState is read-only",
    ),
    "a word that is not on the list": (
        "lake.bicep",
        "minimumTlsVersion: 'TLS1_2'",
        "minimumTlsVersion: 'TLS12'",
        "properties.minimumTlsVersion is one of TLS1_0, TLS1_1, TLS1_2, TLS1_3, not 'TLS12'",
    ),
    "a text for a truth": (
        "lake.bicep",
        "isHnsEnabled: true",
        "isHnsEnabled: 'true'",
        "properties.isHnsEnabled is of type bool, not string",
    ),
    "a number for a text": (
        "functions.bicep",
        "minTlsVersion: '1.2'",
        "minTlsVersion: 12",
        "minTlsVersion is of type string, not int",
    ),
    "a parameter of the wrong type": (
        "lake.bicep",
        "days: deletedDays",
        "days: sku",
        "deleteRetentionPolicy.days is of type int, not string",
    ),
    "a wrong word in the second arm of a condition": (
        "lake.bicep",
        "? 'Deny' : 'Allow'",
        "? 'Deny' : 'Permit'",
        "networkAcls.defaultAction is one of Allow, Deny, not 'Permit'",
    ),
    "a mistake in the body of a loop": (
        "lake.bicep",
        "value: replace(",
        "address: replace(",
        "ipRules[] has no property address",
    ),
    "a mistake in a variable that a loop goes over": (
        "alerts.bicep",
        "severity: 1",
        "severity: 'one'",
        "properties.severity is of type int, not string",
    ),
    "a destination whose kind is misspelt": (
        "events.bicep",
        "endpointType: 'StorageQueue'",
        "endpointType: 'StorageQueues'",
        "destination.endpointType is one of AzureFunction,",
    ),
    "a destination with what is another kind's": (
        "events.bicep",
        "queueName: queue",
        "topicName: queue",
        "destination.properties has no property topicName",
    ),
    "a filter whose operator does not exist": (
        "events.bicep",
        "operatorType: 'StringNotContains'",
        "operatorType: 'StringLacks'",
        "advancedFilters[].operatorType is one of",
    ),
    "a filter with a value where values are wanted": (
        "events.bicep",
        "values: [\n",
        "value: [\n",
        "advancedFilters[] has no property value",
    ),
    "a dead-letter destination that is missing": (
        "events.bicep",
        "endpointType: 'StorageBlob'",
        "kind: 'StorageBlob'",
        "deadLetterDestination lacks endpointType",
    ),
    "what our own table wants": (
        "diagnostics.bicep",
        "        enabled: true\n",
        "",
        "logs[] lacks enabled, which is required",
    ),
    "what came after the API version": (
        "workspace.bicep",
        "    parameters: {",
        "    computeMode: 'Hybrid'\n    parameters: {",
        "Microsoft.Databricks/workspaces.properties has no property computeMode",
    ),
    "what came later into a list of objects": (
        "endpoints.bicep",
        "          privateLinkServiceId: accountId\n",
        "          privateLinkServiceId: accountId\n          approvalReference: ''\n",
        "privateLinkServiceConnections[].properties has no property approvalReference",
    ),
    "a name that is a number": (
        "lake.bicep",
        "  name: name\n",
        "  name: deletedDays\n",
        "the name of account is a string, not int",
    ),
    "a name of one part too many": (
        "lake.bicep",
        "name: 'landing'",
        "name: 'default/landing'",
        "has 1 parts here",
    ),
    "a property of an existing resource": (
        "events.bicep",
        "  name: topicName\n",
        "  name: topicName\n  location: 'global'\n",
        "existing resources have no location",
    ),
    "a child below another type": (
        "lake.bicep",
        "parent: blobs",
        "parent: account",
        "containers does not stand below Microsoft.Storage/storageAccounts",
    ),
    "something asked that no answer has": (
        "identities.bicep",
        "functions.properties.principalId",
        "functions.properties.principalID",
        "has no property principalID (it is written principalId)",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "reported"), PLANTED.values(), ids=PLANTED)
def test_a_planted_mistake_is_reported_with_its_file_and_line(folder, file, old, new, reported):
    findings = typecheck(folder.only(file).changed(file, old, new))

    assert [each for each in findings if reported in each.text], [str(each) for each in findings]
    assert {each.path for each in findings} == {file}


FREE = {  # names of the deployment's own choice
    "tags.azd-service-name",
    "properties.actions.customProperties.page",
    "properties.actions.webHookProperties.page",
}


def written(expression: Expression, above: str = "") -> Iterator[tuple[str, Property]]:
    """Every property whose name is written out, with those that it stands in."""
    for child in children(expression):
        if isinstance(child, Property) and isinstance(child.key, Text):
            path = f"{above}.{child.key.value}".lstrip(".")
            yield path, child
            yield from written(child, path)
        else:
            yield from written(child, above)


def test_a_character_too_many_in_any_property_of_any_resource_is_reported(folder):
    tried, unreported = set(), set()
    for file, template in folder.templates.items():
        only = folder.only(file)
        lines = folder.texts[file].splitlines(keepends=True)
        for resource in template.resources.values():
            for path, entry in [] if resource.existing else written(resource.value):
                # Of two resources of one type one is enough.
                if (full_type(template, resource), path) in tried:
                    continue
                tried.add((full_type(template, resource), path))
                key, at = entry.key.value, entry.line - 1
                wrong = [*lines[:at], lines[at].replace(key, f"{key}x", 1), *lines[at + 1 :]]
                if not typecheck(only.with_text(file, "".join(wrong))):
                    unreported.add(path)

    assert len(tried) > 250
    assert unreported == FREE


def test_the_line_that_is_reported_is_the_line_of_the_mistake(folder):
    wrong = folder.only("lake.bicep").changed("lake.bicep", "Enabled: true", "Enabled: 'true'")

    (finding,) = typecheck(wrong)

    line = wrong.line("lake.bicep", "Enabled: 'true'")
    assert str(finding).startswith(f"lake.bicep:{line}: ")
