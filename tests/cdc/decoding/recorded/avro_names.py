"""The recorded streams that were minted anew in Avro, and their columns' names there."""

from __future__ import annotations

import json

RECORDED = (
    "mysql_numbers",
    "mysql_texts",
    "oracle_types",
    "postgresql_numbers",
    "postgresql_texts",
    "sqlserver_types",
)
_ODD_NAME = (json.dumps('odd "name".ü', ensure_ascii=False), '"odd__name___"')


def with_names_of_avro(content: bytes | None) -> bytes | None:
    """Return a record with the columns' names of `field.name.adjustment.mode=avro`."""
    return content and content.decode().replace(*_ODD_NAME).encode()
