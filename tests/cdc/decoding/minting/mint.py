"""Debezium's table schemas and envelopes, and Kafka Connect's converter, in this process."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from openmirror.spark.jars import default_cache
from standins.kafka.jars import cluster_jars

Event = list[Any]
"""Topic, key, value (bytes or None) and headers, as `recorded.written` takes them."""


@dataclass(frozen=True, kw_only=True)
class MintedColumn:
    """A column as a connector reads it from its database's catalogue."""

    name: str
    type: str
    jdbc: int
    length: int = -1
    scale: int | None = None
    optional: bool = True


def start_jvm(plugin: Path, *more: Path) -> None:
    """Start this process's one JVM with a connector's plugin and Kafka Connect."""
    jars = [*sorted(plugin.glob("*.jar")), *cluster_jars(default_cache(), print), *more]
    jpype.startJVM("-Duser.timezone=UTC", classpath=[str(jar) for jar in jars])


@contextmanager
def compiled(plugin: Path, source: str, *more: Path) -> Iterator[Path]:
    """A class of our own, which is there as long as its folder."""
    with tempfile.TemporaryDirectory() as folder:
        jars = os.pathsep.join(map(str, [*plugin.glob("*.jar"), *more]))
        path = Path(__file__).with_name(source)
        subprocess.run(["javac", "-cp", jars, "-d", folder, path], check=True)
        yield Path(folder)


def java(name: str) -> Any:
    """A class of Java's."""
    return jpype.JClass(name)


def configuration(properties: Mapping[str, str]) -> Any:
    """Debezium's form of a connector's configuration."""
    builder = java("io.debezium.config.Configuration").create()
    for name, value in properties.items():
        builder = builder.with_(name, value)
    return builder.build()


def row(columns: Sequence[MintedColumn], values: Mapping[str, Any]) -> list[Any]:
    """Values by their columns; None where there is none."""
    return [values.get(column.name) for column in columns]


def table_of(table: Sequence[str], columns: Sequence[MintedColumn], keys: Sequence[str]) -> Any:
    """Debezium's form of a table; `table`: catalogue, schema and name."""
    editor = java("io.debezium.relational.Table").editor()
    editor.tableId(java("io.debezium.relational.TableId")(*table))
    for position, column in enumerate(columns, start=1):
        editor.addColumn(_made(column, position))
    editor.setPrimaryKeyNames(java("java.util.ArrayList")(list(keys)))
    return editor.create()


class Mint:
    """Records of one table."""

    def __init__(
        self,
        table: Sequence[str],
        columns: Sequence[MintedColumn],
        keys: Sequence[str],
        config: Any,
        converters: Any,
    ) -> None:
        """`table`: catalogue, schema and name. `config`, `converters`: the connector's own."""
        self._config = config
        made = table_of(table, columns, keys)
        self.id = made.id()
        names = java("io.debezium.schema.SchemaTopicNamingStrategy")
        naming = names.create(config)
        builder = java("io.debezium.relational.TableSchemaBuilder")(
            converters,
            # The defaults of columns, of which there are none here.
            jpype.JObject(None, java("io.debezium.relational.DefaultValueConverter")),
            java("io.debezium.schema.SchemaNameAdjuster").NO_OP,
            java("io.debezium.relational.CustomConverterRegistry")(java("java.util.ArrayList")()),
            config.getSourceInfoStructMaker().schema(),
            config.getFieldNamer(),
            False,
            config.getEventConvertingFailureHandlingMode(),
        )
        mappers = java("io.debezium.relational.mapping.ColumnMappers").create(config)
        self._schema = builder.create(naming, made, None, mappers, None)
        self._topic = str(config.getLogicalName())
        self._json = {True: json_converter(is_key=True), False: json_converter(is_key=False)}

    @property
    def columns(self) -> list[str]:
        """The columns that the connector has; it leaves some types out."""
        return [str(field.name()) for field in self._schema.valueSchema().fields()]

    def event(
        self,
        op: str,
        offset: Any,
        before: Sequence[Any] | None,
        after: Sequence[Any] | None,
        headers: Mapping[str, str] | None = None,
    ) -> Event:
        """One change, at the place that an offset context has."""
        envelope, source = self._schema.getEnvelopeSchema(), offset.getSourceInfo()
        now = java("java.time.Instant").ofEpochMilli(1795414441215)
        rows = [None if row is None else self._value(row) for row in (before, after)]
        value = {
            "r": lambda: envelope.read(rows[1], source, now),
            "c": lambda: envelope.create(rows[1], source, now),
            "u": lambda: envelope.update(rows[0], rows[1], source, now),
            "d": lambda: envelope.delete(rows[0], source, now),
            "t": lambda: envelope.truncate(source, now),
        }[op]()
        whole = after if after is not None else before
        key = None if whole is None else self._schema.keyFromColumnData(_array(whole))
        written = [
            None if key is None else self._written(True, self._schema.keySchema(), key),
            self._written(False, envelope.schema(), value),
        ]
        return [self._topic, *written, _texts(headers)]

    def tombstone(self, row: Sequence[Any], headers: Mapping[str, str] | None = None) -> Event:
        """What follows a delete, with the headers of that."""
        key = self._schema.keyFromColumnData(_array(row))
        written = self._written(True, self._schema.keySchema(), key)
        return [self._topic, written, None, _texts(headers)]

    def _value(self, row: Sequence[Any]) -> Any:
        return self._schema.valueFromColumnData(_array(row))

    def _written(self, is_key: bool, schema: Any, value: Any) -> bytes:
        return bytes(self._json[is_key].fromConnectData(self._topic, schema, value))


def _texts(headers: Mapping[str, str] | None) -> list[list[str]]:
    return [[name, text] for name, text in (headers or {}).items()]


def _array(row: Sequence[Any]) -> Any:
    return jpype.JArray(jpype.JObject)(list(row))


def _made(column: MintedColumn, position: int) -> Any:
    editor = java("io.debezium.relational.Column").editor()
    editor.name(column.name).type(column.type).jdbcType(column.jdbc).position(position)
    editor.optional(column.optional)
    if column.length >= 0:
        editor.length(column.length)
    if column.scale is not None:
        editor.scale(java("java.lang.Integer")(column.scale))
    return editor.create()


def json_converter(*, is_key: bool) -> Any:
    """Kafka Connect's, with schemas."""
    converter = java("org.apache.kafka.connect.json.JsonConverter")()
    options = java("java.util.HashMap")()
    options.put("schemas.enable", "true")
    options.put("replace.null.with.default", "false")
    converter.configure(options, is_key)
    return converter
