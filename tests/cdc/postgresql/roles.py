"""Roles that own nothing in a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg

from openmirror.cdc.postgresql.settings import StreamSettings


@contextmanager
def as_reader(
    settings: StreamSettings,
    owner: psycopg.Connection,
    attributes: str = "REPLICATION",
    name: str = "reader",
) -> Iterator[StreamSettings]:
    """Give the settings of a role with these attributes; it is dropped afterwards."""
    user = f"{name}_{settings.stream}"
    owner.execute(f"CREATE ROLE \"{user}\" LOGIN PASSWORD 'reads' {attributes}")
    try:
        yield replace(settings, url=replace(settings.url, user=user, password="reads"))
    finally:
        owner.execute(f'DROP OWNED BY "{user}"; DROP ROLE "{user}"')
