"""What a deployment made, as variables that other commands take."""

from __future__ import annotations

import json
import os
import re
import subprocess

from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.settings import Settings
from tests.deployment.azure import NAME, bicep
from tests.deployment.place import Place
from tests.infra.bundle import FILE, GIVEN, ROOT


def outputs(*words: str) -> Result:
    return CliRunner().invoke(app, ["azure", "outputs", "-g", NAME, *words])


def test_a_shell_takes_them_whatever_is_in_their_values(place: Place) -> None:
    deployed = place.azure.deployments[0]["properties"]["outputs"]
    odd = "InstrumentationKey=1;IngestionEndpoint=https://x/;it's $HOME `id`"
    deployed[next(name for name in deployed if name.upper() == "WORKBOOK_ID")]["value"] = odd
    shown = outputs()
    assert shown.exit_code == 0, shown.output
    asked = subprocess.run(
        ["sh", "-c", 'eval "$1"; env', "sh", shown.stdout], capture_output=True, text=True
    )
    env = dict(line.split("=", 1) for line in asked.stdout.splitlines() if "=" in line)
    assert env["WORKBOOK_ID"] == odd
    assert env["LAKE_ACCOUNT"].startswith("stopenmirrorlake")


def test_azures_own_spelling_of_names_is_put_right(place: Place) -> None:
    deployed = place.azure.deployments[0]["properties"]["outputs"]
    deployed["runneR_CLIENT_ID"] = deployed.pop(
        next(n for n in deployed if n.upper() == "RUNNER_CLIENT_ID")
    )
    assert "RUNNER_CLIENT_ID" in json.loads(outputs("--json").stdout)


def test_every_variable_of_the_bundle_that_a_deployment_knows_is_among_them(place: Place) -> None:
    found = json.loads(outputs("--json").stdout)
    given = {name.removeprefix("BUNDLE_VAR_") for name in found if name.startswith("BUNDLE_VAR_")}
    assert given == GIVEN.keys() | {"telemetry"}
    declared = re.findall(
        r"^  (\w+):", (ROOT / FILE).read_text().partition("\nvariables:")[2], re.M
    )
    assert given <= set(declared)


def test_they_disturb_nothing_that_is_run_in_the_same_shell(place: Place) -> None:
    found = json.loads(outputs("--json").stdout)
    settings = Settings.load({**os.environ, **found})
    assert str(settings.root) == found["OPENMIRROR_ROOT"]
    assert settings.queues is not None
    assert settings.queues.service == found["BUNDLE_VAR_queues"]
    # Or every command would begin to send telemetry.
    assert "APPLICATIONINSIGHTS_CONNECTION_STRING" not in found


def test_of_two_deployments_one_has_to_be_named(place: Place) -> None:
    place.azure.deployments.append(place.azure.remembered("second", bicep(name="second")))
    unclear = outputs()
    assert unclear.exit_code == 1
    assert unclear.stdout == ""
    assert "remembers the deployments openmirror, second: say which, --name" in unclear.stderr
    assert "func-second-" in outputs("--name", "second").stdout


def test_without_a_deployment_it_says_where_to_begin(place: Place) -> None:
    place.azure.deployments.clear()
    shown = outputs()
    assert shown.exit_code == 1
    assert shown.stdout == ""
    assert "docs/DEPLOY.md" in shown.stderr
