"""`openmirror cdc template`: how a connector has to be configured for `cdc follow`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openmirror.cdc.connector_templates import ConnectorKind, as_mapping, as_properties
from openmirror.cdc.connector_templates import template as made
from openmirror.cli.options import Json


def template(
    database: Annotated[
        ConnectorKind, typer.Argument(help="What the connector reads.", show_default=False)
    ],
    topic: Annotated[
        str,
        typer.Option("--topic", metavar="NAME", help="The topic that gets all tables' changes."),
    ] = "shop",
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            metavar="URL",
            help="A schema registry: records are written in Avro, a tenth as large as JSON.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the configuration of a Debezium connector whose topic `cdc follow` mirrors exactly.

    With comments, as a file of properties; with --json as Kafka Connect's REST takes it. What
    stands in <…> is to be filled in. Whatever else is set, these stay as they are: each keeps
    values, or the order of changes, from getting lost.

    \b
    Example:
      openmirror cdc template postgresql --topic shop > shop.properties
      openmirror cdc template mariadb --json
      openmirror cdc template oracle --registry https://registry:8081
    """
    parts = made(database, topic, registry)
    text = json.dumps(as_mapping(parts), indent=2) + "\n" if as_json else as_properties(parts)
    typer.echo(text, nl=False)
