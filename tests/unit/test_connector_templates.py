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


@pytest.mark.parametrize("kind", ConnectorKind)
def test_nothing_of_it_stands_twice(kind: ConnectorKind) -> None:
    parts = template(kind, "shop")
    assert sum(len(part.properties) for part in parts) == len(as_mapping(parts))


@pytest.mark.parametrize("topic", ["", "a b", "a/b", "ü", "a.b", "*"])
def test_a_topic_of_no_such_name_is_refused(topic: str) -> None:
    with pytest.raises(WrongRequest, match="as a topic is called"):
        template(ConnectorKind.MARIADB, topic)


def test_a_database_that_cannot_be_followed_is_refused_with_those_that_can() -> None:
    shown = CliRunner().invoke(app, ["cdc", "template", "db2"])
    assert shown.exit_code == 2
    assert all(kind in shown.output for kind in ConnectorKind)
