"""What docs/RUNNER.md has people write down is what the programs read."""

from __future__ import annotations

import json
import re
import shlex
from configparser import RawConfigParser

from openmirror.settings import Settings
from openmirror.wiring.telemetry import AUTHENTICATION, _asks_for_an_identity
from spark_jobs.arguments import parse
from tests.infra.bundle import GIVEN, OF_TELEMETRY, ROOT, read
from tests.infra.pins import read_pins, required

PAGE = (ROOT / "docs" / "RUNNER.md").read_text()
_DATABRICKS = PAGE.partition("\n## Databricks\n")[2].partition("\n## ")[0]
_MACHINE = PAGE.partition("\n## A virtual machine\n")[2].partition("\n## ")[0]


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_every_variable_that_has_no_default_is_given_in_the_commands() -> None:
    assert "openmirror azure outputs" in _DATABRICKS
    assert all(
        f"BUNDLE_VAR_{name}`" in _DATABRICKS or f"`_{name}`" in _DATABRICKS for name in GIVEN
    )


def test_the_file_with_variables_has_variables_of_the_bundle() -> None:
    [written] = _blocks(_DATABRICKS, "json")
    variables = read().top["variables"]
    for name, value in json.loads(written).items():
        default = variables[name]["default"]
        assert type(value) is type(default)


def test_the_settings_of_a_machine_are_settings() -> None:
    env = dict(line.split("=", 1) for line in _blocks(_MACHINE, "ini")[0].splitlines())
    settings = Settings.load(env)
    assert str(settings.root) == GIVEN["root"]
    assert settings.queues is not None
    assert settings.queues.service == GIVEN["queues"]
    known = {f"OPENMIRROR_{name.upper()}" for name in Settings.model_fields}
    others = {name for name in env if name.partition("__")[0] not in known}
    assert others == {"AZURE_CLIENT_ID", AUTHENTICATION} | OF_TELEMETRY
    assert _asks_for_an_identity(env)


def test_the_unit_starts_a_runner_and_lets_it_end_well() -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(_blocks(_MACHINE, "ini")[1])
    service = dict(unit["Service"])
    program, *arguments = shlex.split(service["ExecStart"])
    assert program.rpartition("/")[2] == "openmirror-runner"
    assert parse(arguments, {}).continuous
    # Were Spark ended with it, reconciliations underway could not be finished.
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 8
    assert f"`{service['EnvironmentFile']}`" in _MACHINE


def test_the_pins_that_the_page_shows_are_those_of_the_project() -> None:
    rows = re.findall(r"^  \| ([a-z-]+) \| (\d[\d.]+) \|", _DATABRICKS, re.MULTILINE)
    assert len(rows) == 2
    pins = {str(pin) for pin in read_pins("constraints.txt")}
    for name, version in rows:
        assert f"{name}=={version}" in pins
    assert {name for name, _ in rows} & {pin.name for pin in required("azure")}


def test_the_runtime_that_the_page_calls_default_is_the_bundles() -> None:
    default = read().top["variables"]["spark_version"]["default"]
    [version] = re.findall(r"^(\d+\.\d+)\.x-scala2\.13$", default)
    [row] = [line for line in PAGE.splitlines() if "the bundle's default |" in line]
    # One with long-term support: what a job runs on changes when somebody changes it.
    assert f"| {version} LTS, the bundle's default |" in row


def test_the_spark_that_the_page_says_all_tests_run_on_is_the_one_of_the_constraints() -> None:
    [spark] = [pin for pin in required("spark") if pin.name == "pyspark"]
    [row] = [line for line in PAGE.splitlines() if f"{str(spark.specifier)[2:]} is what" in line]
    assert row.startswith("| 4.2 |")
