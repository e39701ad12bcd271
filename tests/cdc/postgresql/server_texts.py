"""What a real server sends of a table: by its log, by COPY and by SELECT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from openmirror.cdc.postgresql.catalogue import definition_of, types_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened
from openmirror.cdc.postgresql.definitions import TableDefinition, Types
from openmirror.cdc.postgresql.pgoutput import Relation, parse_message
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.cdc.postgresql.shapes import TableShape, shape_of, shape_of_definition

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sent:
    """One database, whose log is read by a slot through SQL."""

    connection: DatabaseConnection
    encoding: str = "UTF8"

    def run(self, statement: str, values: Sequence[object] = ()) -> None:
        self.connection.execute(statement, values or None)

    def definition(self, table: str) -> tuple[TableDefinition, Types]:
        row = self.connection.execute("SELECT %s::regclass::oid::bigint AS oid", (table,))
        definition = definition_of(self.connection, row.fetchone()["oid"])
        assert definition is not None
        return definition, types_of(self.connection, [c.type for c in definition.columns])

    def shape(self, table: str, as_text: frozenset[str] = NOTHING) -> TableShape:
        definition, types = self.definition(table)
        shape = shape_of_definition(definition, types, as_text=as_text, without=NOTHING)
        assert isinstance(shape, TableShape), shape
        return shape

    def log(self) -> list[bytes]:
        """Every message since the last call."""
        rows = self.connection.execute(
            "SELECT data FROM pg_logical_slot_get_binary_changes(current_database(), NULL, NULL, "
            "'proto_version', '1', 'publication_names', 'every', 'messages', 'true')"
        )
        return [bytes(row["data"]) for row in rows]

    def rows_of_log(self, table: str) -> tuple[list[bytes], TableShape]:
        """Row messages of one table, and the shape by the last Relation message."""
        definition, types = self.definition(table)
        prefix = definition.oid.to_bytes(4, "big")
        messages, relation = [], None
        for message in self.log():
            if message[:1] in b"IUD" and message[1:5] == prefix:
                messages.append(message)
            elif message[:1] == b"R" and message[1:5] == prefix:
                relation = parse_message(message, self.encoding)
            elif message[:1] == b"T":
                messages.append(b"T")
        assert isinstance(relation, Relation)
        shape = shape_of(relation, definition, types, as_text=NOTHING, without=NOTHING)
        assert isinstance(shape, TableShape), shape
        return messages, shape

    def copied(self, query: str) -> bytes:
        with self.connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
            return b"".join(bytes(row) for row in copy)

    def texts(self, query: str) -> list[tuple[bytes | None, ...]]:
        """The server's texts, as its output functions write them."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            result = cursor.pgresult
            assert result is not None
            return [
                tuple(result.get_value(row, column) for column in range(result.nfields))
                for row in range(result.ntuples)
            ]


@contextmanager
def sent_by(url: DatabaseUrl, encoding: str = "UTF8") -> Iterator[Sent]:
    """Publish every table of an empty database, and read its log from here on."""
    with opened(url) as connection:
        connection.execute("SET search_path = public, pg_catalog")
        connection.execute("CREATE PUBLICATION every FOR ALL TABLES")
        connection.execute(
            "SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')"
        )
        # Tables of one name come and go, and a plan that is kept would be of the first one.
        connection.prepare_threshold = None
        yield Sent(connection, encoding)
