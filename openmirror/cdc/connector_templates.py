"""Configurations of Debezium's connectors for Kafka Connect, whose topics can be followed exactly.

Pure: text in, text out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap

from openmirror.errors import WrongRequest


class ConnectorKind(StrEnum):
    """The databases whose records can be decoded."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    MARIADB = "mariadb"
    SQLSERVER = "sqlserver"
    ORACLE = "oracle"


@dataclass(frozen=True)
class TemplatePart:
    """Properties that belong together, and why they are so."""

    why: str
    properties: Mapping[str, str]


_WIDTH = 78
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_HISTORY = "io.debezium.storage.file.history.FileSchemaHistory"
_CLASSES = {
    ConnectorKind.POSTGRESQL: "io.debezium.connector.postgresql.PostgresConnector",
    ConnectorKind.MYSQL: "io.debezium.connector.mysql.MySqlConnector",
    ConnectorKind.MARIADB: "io.debezium.connector.mariadb.MariaDbConnector",
    ConnectorKind.SQLSERVER: "io.debezium.connector.sqlserver.SqlServerConnector",
    ConnectorKind.ORACLE: "io.debezium.connector.oracle.OracleConnector",
}
_AVRO_CONVERTER = "io.confluent.connect.avro.AvroConverter"
_BY_RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
_PORTS = {
    ConnectorKind.POSTGRESQL: "5432",
    ConnectorKind.MYSQL: "3306",
    ConnectorKind.MARIADB: "3306",
    ConnectorKind.SQLSERVER: "1433",
    ConnectorKind.ORACLE: "1521",
}
_IN_JSON = TemplatePart(
    "Whole envelopes, each with its schema. A column that is NULL stays NULL, also where it "
    "has a default.",
    {
        "key.converter": _CONVERTER,
        "key.converter.schemas.enable": "true",
        "key.converter.replace.null.with.default": "false",
        "value.converter": _CONVERTER,
        "value.converter.schemas.enable": "true",
        "value.converter.replace.null.with.default": "false",
    },
)
_COMMON = (
    TemplatePart(
        "Every value exactly, and truncates as well.",
        {
            "decimal.handling.mode": "precise",
            "binary.handling.mode": "bytes",
            "skipped.operations": "none",
        },
    ),
    TemplatePart(
        "A database that rests moves on in its log too.", {"heartbeat.interval.ms": "5000"}
    ),
)


def template(
    kind: ConnectorKind, topic: str, registry: str | None = None
) -> tuple[TemplatePart, ...]:
    """The parts of a connector's configuration; what stands in <…> is for the user to fill in.

    `topic` gets the changes of all its tables, in the order of the database's log: as JSON, or in
    Avro where a schema registry's URL is given. Raises WrongRequest for a name that no topic has.
    """
    if not topic or not topic.replace("_", "").replace("-", "").isalnum() or not topic.isascii():
        raise WrongRequest(
            f"{topic!r}: write a to z, A to Z, 0 to 9, '_' and '-', as a topic is called"
        )
    return (
        TemplatePart(
            "The database. Its user needs the rights that Debezium's manual names.",
            {
                "name": topic,
                "connector.class": _CLASSES[kind],
                "tasks.max": "1",
                "database.hostname": "<host>",
                "database.port": _PORTS[kind],
                "database.user": "<user>",
                "database.password": "<password>",
            },
        ),
        *_of_kind(kind, topic),
        TemplatePart(
            "All tables in one topic, which keeps the order between them. Make it beforehand with "
            "one partition, cleanup.policy=delete, and a retention that is longer than anything "
            f"that follows it may stand still; and __debezium-heartbeat.{topic} with one.",
            {
                "topic.prefix": topic,
                "transforms": "one",
                "transforms.one.type": "org.apache.kafka.connect.transforms.RegexRouter",
                "transforms.one.regex": rf"{topic}\..*",
                "transforms.one.replacement": topic,
            },
        ),
        _IN_JSON if registry is None else _in_avro(registry),
        *_COMMON,
        TemplatePart(
            "A table that has stopped is read anew by a signal of type BLOCKING. Another channel "
            "than a file may suit better.",
            {
                "signal.enabled.channels": "file",
                "signal.file": f"/tmp/{topic}-signals",
            },
        ),
    )


def as_properties(parts: tuple[TemplatePart, ...]) -> str:
    """As Kafka Connect reads a file, with comments."""
    return "\n".join(_lines(parts)) + "\n"


def as_mapping(parts: tuple[TemplatePart, ...]) -> dict[str, str]:
    """As Kafka Connect's REST takes it, without comments."""
    return {name: value for part in parts for name, value in part.properties.items()}


def _of_kind(kind: ConnectorKind, topic: str) -> Iterator[TemplatePart]:
    yield from _PARTS[kind](topic)
    if kind is not ConnectorKind.POSTGRESQL:
        yield TemplatePart(
            "The connector's own memory of the tables' columns. A file is for one worker: with "
            "several use a topic, or a store of the cloud.",
            {
                "include.schema.changes": "false",
                "schema.history.internal": _HISTORY,
                "schema.history.internal.file.filename": f"/var/lib/kafka-connect/{topic}.history",
            },
        )


def _of_postgresql(topic: str) -> Iterator[TemplatePart]:
    name = topic.lower().replace("-", "_")
    yield TemplatePart(
        "Tables that have a primary key, and no others: PostgreSQL refuses updates of a table "
        "that is published and has none.",
        {"database.dbname": "<database>", "table.include.list": "<schema.table,…>"},
    )
    yield TemplatePart(
        "What it makes in the database. While it does not run, the slot keeps the log.",
        {
            "plugin.name": "pgoutput",
            "slot.name": name,
            "publication.name": name,
            "publication.autocreate.mode": "filtered",
        },
    )
    yield TemplatePart(
        "Times to the microsecond, intervals as text. Leave out (column.exclude.list) what the "
        "connector does not send as it is: docs/SOURCES.md names it.",
        {"time.precision.mode": "microseconds", "interval.handling.mode": "string"},
    )
    yield TemplatePart(
        "A failure that comes back ends the connector's task, where people see it. By default a "
        "snapshot that fails is tried for ever.",
        {"errors.max.retries": "30"},
    )


def _of_binlog(_: str) -> Iterator[TemplatePart]:
    yield TemplatePart(
        "The log (binlog_format=ROW, binlog_row_image=FULL); the number is another one than that "
        "of every server and connector.",
        {"database.include.list": "<database>", "database.server.id": "<number>"},
    )
    yield TemplatePart(
        "Numbers above 2^63, and times to the microsecond.",
        {
            "bigint.unsigned.handling.mode": "precise",
            "time.precision.mode": "adaptive_time_microseconds",
        },
    )


def _in_avro(registry: str) -> TemplatePart:
    return TemplatePart(
        "Envelopes in Avro, by Confluent's converter (7.4 or newer). A column that is NULL stays "
        "NULL, also where it has a default; tables that share a topic have their schemas apart; "
        "and names that Avro does not have are written with '_'.",
        {
            "schema.name.adjustment.mode": "avro",
            "field.name.adjustment.mode": "avro",
            "key.converter": _AVRO_CONVERTER,
            "key.converter.schema.registry.url": registry,
            "key.converter.ignore.default.for.nullables": "true",
            "key.converter.key.subject.name.strategy": _BY_RECORD,
            "value.converter": _AVRO_CONVERTER,
            "value.converter.schema.registry.url": registry,
            "value.converter.ignore.default.for.nullables": "true",
            "value.converter.value.subject.name.strategy": _BY_RECORD,
        },
    )


_TIMES_IN_TEXT = TemplatePart(
    "Times with all their digits, in every year: in numbers those of nanoseconds end in 2262, and "
    "begin anew without a word. Kafka Connect has to run in UTC (-Duser.timezone=UTC), or times "
    "that its own zone skips are moved.",
    {"time.precision.mode": "isostring"},
)


def _of_sqlserver(_: str) -> Iterator[TemplatePart]:
    yield TemplatePart(
        "One database, whose tables have Change Data Capture: EXEC sys.sp_cdc_enable_db, and for "
        "each table EXEC sys.sp_cdc_enable_table @source_schema='dbo', @source_name='orders', "
        "@role_name=NULL. A TRUNCATE is refused by SQL Server while a table has it. Computed "
        "columns are always NULL there: leave them out, or remove the line.",
        {
            "database.names": "<database>",
            "table.include.list": "<schema.table,…>",
            "column.exclude.list": "<schema.table.computed column,…>",
        },
    )
    yield TemplatePart(
        "Changes of a transaction in the order in which they were made.",
        {"data.query.mode": "direct", "streaming.fetch.size": "0"},
    )
    yield TemplatePart(
        "Each column says its type: of a large value that an update does not change, SQL Server "
        "has NULL, which is known by the type.",
        {"column.propagate.source.type": ".*"},
    )
    yield _TIMES_IN_TEXT


def _of_oracle(_: str) -> Iterator[TemplatePart]:
    yield TemplatePart(
        "One database of one instance, in ARCHIVELOG, with supplemental logging: ALTER DATABASE "
        "ADD SUPPLEMENTAL LOG DATA, and for each table ALTER TABLE … ADD SUPPLEMENTAL LOG DATA "
        "(ALL) COLUMNS. Of a pluggable database, dbname is the container.",
        {
            "database.dbname": "<container or database>",
            "database.pdb.name": "<pluggable database; remove this line where there is none>",
            "table.include.list": "<OWNER.TABLE,…>",
        },
    )
    yield TemplatePart(
        "Its log by LogMiner. With large values (CLOB, BLOB, XMLTYPE) the connector sends changes "
        "of a transaction in another order, so they stay out: name such columns, or remove the "
        "line.",
        {
            "database.connection.adapter": "logminer",
            "lob.enabled": "false",
            "column.exclude.list": "<OWNER.TABLE.LARGE,…>",
        },
    )
    yield TemplatePart(
        "Intervals in text; of more than six digits of a second the connector writes wrong ones.",
        {"interval.handling.mode": "string"},
    )
    yield _TIMES_IN_TEXT


_PARTS: Mapping[ConnectorKind, Callable[[str], Iterator[TemplatePart]]] = {
    ConnectorKind.POSTGRESQL: _of_postgresql,
    ConnectorKind.MYSQL: _of_binlog,
    ConnectorKind.MARIADB: _of_binlog,
    ConnectorKind.SQLSERVER: _of_sqlserver,
    ConnectorKind.ORACLE: _of_oracle,
}


def _lines(parts: tuple[TemplatePart, ...]) -> Iterator[str]:
    for part in parts:
        yield from (f"# {line}" for line in wrap(part.why, _WIDTH, break_on_hyphens=False))
        # A backslash escapes in such a file.
        yield from (f"{n}={v.replace(chr(92), chr(92) * 2)}" for n, v in part.properties.items())
        yield ""
