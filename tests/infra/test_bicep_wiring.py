"""Modules are called with what they take, and nothing is named that is not there."""

from __future__ import annotations

import json

import pytest

from tests.infra.bicep.expansion import STACKS
from tests.infra.bicep.folder import BICEP, Folder
from tests.infra.bicep.order import first
from tests.infra.bicep.parameterfile import parameter_file
from tests.infra.bicep.wiring import wiring

DATA_PARAMETERS = [
    "name",
    "location",
    "tags",
    "storageSku",
    "createDatabricksWorkspace",
    "privateNetwork",
    "addressPrefix",
    "allowedAddresses",
    "deletedDays",
]
PARAMETERS = [
    "name",
    "location",
    "tags",
    "pythonVersion",
    "instanceMemoryMB",
    "maximumInstances",
    "alwaysReadyInstances",
    "storageSku",
    "settings",
    "databricksWorkspaceUrl",
    "databricksJobId",
    "createAccessConnector",
    "createDatabricksWorkspace",
    "publishers",
    "publisherRole",
    "operators",
    "readers",
    "runners",
    "alertEmail",
    "lagAlertMinutes",
    "gapAlertMinutes",
    "privateNetwork",
    "allowedAddresses",
    "deletedDays",
    "logDays",
    "dailyLogGb",
]
OUTPUTS = [
    "DEPLOYMENT_NAME",
    "OPENMIRROR_ROOT",
    "OPENMIRROR_QUEUES",
    "OPENMIRROR_DEAD_LETTERS",
    "LAKE_ACCOUNT",
    "RUNTIME_ACCOUNT",
    "FUNCTION_APP",
    "FUNCTION_APP_URL",
    "FUNCTIONS_IDENTITY_ID",
    "FUNCTIONS_CLIENT_ID",
    "FUNCTIONS_PRINCIPAL_ID",
    "RUNNER_IDENTITY_ID",
    "RUNNER_CLIENT_ID",
    "RUNNER_PRINCIPAL_ID",
    "SYSTEM_TOPIC",
    "EVENT_SUBSCRIPTION",
    "LOG_WORKSPACE",
    "LOG_WORKSPACE_ID",
    "APPLICATION_INSIGHTS",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "ACCESS_CONNECTOR_ID",
    "DATABRICKS_WORKSPACE_URL",
    "WORKBOOK_ID",
    "ACTION_GROUP_ID",
    "AZURE_LOCATION",
    "RESOURCE_GROUP",
]
FILES = {
    "small.parameters.json": STACKS,
    "private.parameters.json": STACKS,
    "subscription.parameters.json": ("subscription.bicep",),
}


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder.at()


def test_every_name_call_module_parameter_and_output_fits(folder):
    assert [str(each) for each in wiring(folder)] == []


def test_every_file_is_called_from_where_a_deployment_begins(folder):
    reached, ahead = set(), {"subscription.bicep", *STACKS}
    while ahead:
        reached |= ahead
        ahead = {
            module.path for name in ahead for module in folder.templates[name].modules.values()
        } - reached

    assert reached == set(folder.templates)


def test_a_deployment_has_the_parameters_and_outputs_that_its_users_name(folder):
    data, main = (folder.templates[each] for each in STACKS)

    assert list(data.parameters) == DATA_PARAMETERS
    assert list(main.parameters) == PARAMETERS
    assert set(data.outputs) <= set(main.outputs)
    assert list(main.outputs) == OUTPUTS
    assert {each.type for each in main.outputs.values()} == {"string"}


def test_what_both_templates_take_is_the_same_in_both(folder):
    data, main = (folder.templates[each].parameters for each in STACKS)

    assert data.keys() - main.keys() == {"addressPrefix"}
    for name in data.keys() & main.keys():
        assert_same(data[name], main[name])
        assert without_line(data[name].default) == without_line(main[name].default), name


def test_a_deployment_with_a_resource_group_of_its_own_takes_and_reports_the_same(folder):
    whole = folder.templates["subscription.bicep"]
    passed = {each: whole.modules[each.removesuffix(".bicep")].params for each in STACKS}

    assert set(whole.parameters) == {"resourceGroupName", *DATA_PARAMETERS, *PARAMETERS}
    for template in STACKS:
        for name, parameter in folder.templates[template].parameters.items():
            same = whole.parameters[name]
            assert_same(same, parameter)
            assert str(without_line(passed[template].get(name))) == f"Name({name})"
            if name != "location":  # of a group that is yet to be made
                assert without_line(same.default) == without_line(parameter.default), name
    assert list(whole.outputs) == OUTPUTS
    for name, output in whole.outputs.items():
        assert str(without_line(output.value)) == f"Member(Member(Name(main), outputs), {name})"


def test_there_what_holds_data_is_made_before_all_else(folder):
    assert first(folder, "data", before="main", template="subscription.bicep")


def assert_same(one, other):
    assert (one.type, one.allowed, one.description) == (
        other.type,
        other.allowed,
        other.description,
    )
    for bound in ("minLength", "maxLength", "minValue", "maxValue"):
        assert one.bound(bound) == other.bound(bound), (one.name, bound)


def without_line(expression):
    if not hasattr(expression, "line"):
        return str(expression)
    inner = (
        ", ".join(str(without_line(each)) for each in value) if isinstance(value, tuple) else value
        for value in (
            tuple(each) if isinstance(each, tuple) else without_line(each)
            for name, each in vars(expression).items()
            if name not in ("line", "optional", "resources")
        )
    )
    return f"{type(expression).__name__}({', '.join(map(str, inner))})"


# -- Parameter files


@pytest.mark.parametrize(("file", "templates"), FILES.items())
def test_a_parameter_file_gives_what_the_templates_take(folder, file, templates):
    taken = [folder.templates[each] for each in templates]

    assert parameter_file(taken, file, (BICEP / file).read_text()) == []


def test_there_is_no_other_parameter_file():
    assert {each.name for each in BICEP.glob("*.parameters.json")} == set(FILES)


def test_a_small_and_a_private_deployment_are_what_they_are_called():
    small, private = (
        json.loads((BICEP / file).read_text())["parameters"]
        for file in ("small.parameters.json", "private.parameters.json")
    )

    assert small.get("privateNetwork", {"value": False})["value"] is False
    assert private["privateNetwork"]["value"] is True


WRONG_FILES = {
    "a name that the template does not have": (
        {"nam": {"value": "abc"}},
        "main.bicep has no parameter nam",
    ),
    "a number for a text": ({"name": {"value": 12}}, "name is of type string, not int"),
    "a value that is not allowed": (
        {"pythonVersion": {"value": "3.9"}},
        "pythonVersion allows 3.11, 3.12, 3.13, not 3.9",
    ),
    "a name that is too long": (
        {"name": {"value": "openmirror123"}},
        "name is at most 12, not a length of 13",
    ),
    "a number that is too large": (
        {"deletedDays": {"value": 400}},
        "deletedDays is at most 365, not 400",
    ),
    "a default of azd's that is of another type": (
        {"privateNetwork": {"value": "${PRIVATE=1}"}},
        "privateNetwork is of type bool, not int",
    ),
    "no value": ({"name": "abc"}, "name has no value"),
}


@pytest.mark.parametrize(("given", "reported"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_mistake_in_a_parameter_file_is_reported_with_its_line(folder, given, reported):
    text = json.dumps({"parameters": given}, indent=2)

    (finding,) = parameter_file([folder.templates["main.bicep"]], "x.parameters.json", text)

    assert str(finding) == f"x.parameters.json:3: {reported}"


def test_a_parameter_without_a_default_that_a_file_does_not_give_is_reported(folder):
    (finding,) = parameter_file(
        [folder.templates["subscription.bicep"]],
        "x.parameters.json",
        '{"parameters": {"location": {"value": "westeurope"}}}',
    )

    assert finding.text == "resourceGroupName of subscription.bicep is not given"


# -- Planted mistakes

PLANTED = {
    "a parameter that a module lacks": (
        "data.bicep",
        "    deletedDays: deletedDays\n",
        "    deletedDays: deletedDays\n    days: deletedDays\n",
        "lake.bicep has no parameter days",
    ),
    "a parameter that is not passed": (
        "data.bicep",
        "    sku: storageSku\n",
        "",
        "parameter sku of lake.bicep is not given",
    ),
    "a parameter of another type": (
        "data.bicep",
        "    sku: storageSku\n",
        "    sku: deletedDays\n",
        "parameter sku of lake.bicep is of type string, and gets int",
    ),
    "an output of another type": (
        "main.bicep",
        "output AZURE_LOCATION string = location",
        "output AZURE_LOCATION string = deletedDays",
        "output AZURE_LOCATION is of type string, and gets int",
    ),
    "an output that a module lacks": (
        "data.bicep",
        "lake.outputs.dfsEndpoint",
        "lake.outputs.endpoint",
        "lake.bicep has no output endpoint",
    ),
    "a module file that is not there": (
        "data.bicep",
        "module lake 'lake.bicep'",
        "module lake 'lakes.bicep'",
        "there is no file lakes.bicep",
    ),
    "a name that is not declared": (
        "main.bicep",
        "    location: location\n",
        "    location: region\n",
        "region is not declared",
    ),
    "a parameter that nobody uses": (
        "lake.bicep",
        "param deletedDays int",
        "param deletedDays int\n\n@description('Unused.')\nparam more string = ''",
        "parameter more is not used",
    ),
    "a variable that nobody uses": (
        "lake.bicep",
        "resource account",
        "var more = 1\n\nresource account",
        "variable more is not used",
    ),
    "a resource that is looked up for nothing": (
        "events.bicep",
        "  parent: topic\n",
        "",
        "existing resource topic is not used",
    ),
    "a parameter without description": (
        "lake.bicep",
        "@description('Region.')\n",
        "",
        "location has no @description",
    ),
    "a blank description": (
        "lake.bicep",
        "@description('Resource id of the account.')",
        "@description(' ')",
        "id has no @description",
    ),
    "a default that the values do not hold": (
        "main.bicep",
        "param pythonVersion string = '3.13'",
        "param pythonVersion string = '3.14'",
        "pythonVersion allows 3.11, 3.12, 3.13, not 3.14",
    ),
    "a default that is too long": (
        "main.bicep",
        "param name string = 'openmirror'",
        "param name string = 'openmirrorisgreat'",
        "name is at most 12, not a length of 17",
    ),
    "a function that does not exist": (
        "main.bicep",
        "uniqueString(",
        "uniqString(",
        "uniqString() is no function that this knows",
    ),
    "an argument too many": (
        "main.bicep",
        "take(uniqueString(",
        "take(1, uniqueString(",
        "take() takes 2 to 2 arguments, not 3",
    ),
    "a file of text that is not there": (
        "workbook.bicep",
        "loadTextContent('workbook.json')",
        "loadTextContent('workbooks.json')",
        "there is no file workbooks.json",
    ),
    "a condition that is none": (
        "databricks.bicep",
        "if (createConnector) {",
        "if (connectorName) {",
        "a condition is a bool, not string",
    ),
    "half a condition that is none": (
        "functions.bicep",
        "!empty(databricksJobId)",
        "databricksJobId",
        "a condition is a bool, not string",
    ),
    "a loop in an arm of a condition": (
        "functions.bicep",
        "privateNetwork ? callers : []",
        "privateNetwork ? [for each in allowedAddresses: { ipAddress: each }] : []",
        "a loop cannot stand here: make a variable of it",
    ),
    "a loop in a loop of a property": (
        "lake.bicep",
        "        action: 'Allow'\n",
        "        action: 'Allow'\n        more: [for each in allowedAddresses: each]\n",
        "a loop cannot stand here: make a variable of it",
    ),
    "a loop inside of a variable": (
        "main.bicep",
        "var operatorIds = [for operator in operators: operator.principalId]",
        "var operatorIds = {\n  all: [for operator in operators: operator.principalId]\n}.all",
        "a loop cannot stand here: make a variable of it",
    ),
    "a property that stands twice": (
        "lake.bicep",
        "  kind: 'StorageV2'\n",
        "  kind: 'StorageV2'\n  kind: 'StorageV2'\n",
        "kind is given twice",
    ),
    "a name made of what is known later only": (
        "main.bicep",
        "  name: '${name}-topic'\n",
        "  name: '${runtime.outputs.name}-topic'\n",
        "runtime.outputs is not known when the deployment begins",
    ),
    "a nested resource that is not there": (
        "roles.bicep",
        "scope: lakeStorage::blobs::landing",
        "scope: lakeStorage::blobs::landings",
        "there is no resource lakeStorage::blobs::landings",
    ),
    "a template of another scope without one": (
        "subscription.bicep",
        "  scope: group\n",
        "",
        "data.bicep is for a resourceGroup: the module needs a scope",
    ),
    "a key that is read": (
        "lake.bicep",
        "account.properties.primaryEndpoints.dfs",
        "account.listKeys().keys[0].value",
        ".listKeys() asks a resource: no secret is read here",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "reported"), PLANTED.values(), ids=PLANTED)
def test_a_planted_mistake_is_reported_with_its_file_and_line(folder, file, old, new, reported):
    findings = set(wiring(folder.changed(file, old, new))) - set(wiring(folder))

    assert reported in [each.text for each in findings], [str(each) for each in findings]


def test_the_line_that_is_reported_is_the_line_of_the_mistake(folder):
    wrong = folder.changed("main.bicep", "    location: location\n", "    location: region\n")

    (finding,) = wiring(wrong)

    line = wrong.line("main.bicep", "location: region")
    assert str(finding) == f"main.bicep:{line}: region is not declared"
