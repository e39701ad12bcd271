"""`cdc template`: what it writes is what the tests with real connectors run by."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from openmirror.cdc.connector_templates import ConnectorKind, as_mapping, template
from openmirror.cli.app import app
from openmirror.errors import WrongRequest


def _shown(*words: str) -> str:
    shown = CliRunner().invoke(app, ["cdc", "template", *words])
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def _read(properties: str) -> dict[str, str]:
    """As java.util.Properties reads it."""
    pairs = (line.partition("=") for line in properties.splitlines() if line and line[0] != "#")
    return {name: value.replace("\\\\", "\\") for name, _, value in pairs}


@pytest.mark.parametrize("kind", ConnectorKind)
def test_a_file_and_a_request_say_the_same(kind: ConnectorKind) -> None:
    as_file = _shown(kind, "--topic", "my-shop")
    as_request = _shown(kind, "--topic=my-shop", "--json")
    assert _read(as_file) == json.loads(as_request) == as_mapping(template(kind, "my-shop"))
    assert all(line.startswith("# ") or "=" in line for line in as_file.splitlines() if line)


def test_records_in_avro_keep_what_is_null_and_have_a_schema_for_each_table() -> None:
    in_avro = _read(_shown("mysql", "--registry", "https://registry:8081"))
    in_json = _read(_shown("mysql"))
    for side in ("key", "value"):
        assert in_avro[f"{side}.converter"].endswith(".AvroConverter")
        assert in_avro[f"{side}.converter.schema.registry.url"] == "https://registry:8081"
        assert in_avro[f"{side}.converter.ignore.default.for.nullables"] == "true"
        strategy = in_avro[f"{side}.converter.{side}.subject.name.strategy"]
        assert strategy.endswith(".RecordNameStrategy")
    others = {name: value for name, value in in_json.items() if ".converter" not in name}
    assert others.items() <= in_avro.items()


@pytest.mark.parametrize("registry", [None, "https://registry"])
@pytest.mark.parametrize("kind", ConnectorKind)
def test_nothing_of_it_stands_twice(kind: ConnectorKind, registry: str | None) -> None:
    parts = template(kind, "shop", registry)
    assert sum(len(part.properties) for part in parts) == len(as_mapping(parts))


@pytest.mark.parametrize("topic", ["", "a b", "a/b", "ü", "a.b", "*"])
def test_a_topic_of_no_such_name_is_refused(topic: str) -> None:
    with pytest.raises(WrongRequest, match="as a topic is called"):
        template(ConnectorKind.MARIADB, topic)


def test_a_database_that_cannot_be_followed_is_refused_with_those_that_can() -> None:
    shown = CliRunner().invoke(app, ["cdc", "template", "db2"])
    assert shown.exit_code == 2
    assert all(kind in shown.output for kind in ConnectorKind)
