"""What a schema registry is asked for."""

from __future__ import annotations

from typing import NewType, Protocol

SchemaId = NewType("SchemaId", str)
"""A schema's id, as the registry has it: a number of Confluent's, text of Azure's."""


class SchemaRegistry(Protocol):
    """Schemas by their ids, which never change."""

    def schema(self, id_: SchemaId) -> str | None:
        """A schema of Avro (JSON); None for one that the registry does not have.

        Raises Unavailable where it does not answer, AccessDenied where it refuses, and
        WrongAvroSchema for a schema that is none of Avro.
        """
        ...


class WrongAvroSchema(ValueError):
    """Nobody can read a record by this schema; says why."""
