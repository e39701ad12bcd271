"""What a real MySQL's connector writes of a table with a column of every type, into files.

Debian's releases have no MySQL, so this is run by hand, with a server that runs elsewhere and the
connector's plugin unpacked into a folder:

    python -m tests.cdc.decoding.record_mysql PORT PLUGIN_FOLDER
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
from confluent_kafka import Consumer, TopicPartition

from openmirror.cdc.connector_templates import ConnectorKind, as_mapping, template
from openmirror.spark.jars import default_cache
from standins.kafka.cluster import Broker, Connect
from standins.kafka.jars import cluster_jars
from tests.cdc.decoding.recorded import FOLDER, written
from tests.cdc.kafka.conftest import make_topic

_MODES: Mapping[str, Mapping[str, str]] = {
    "mysql_numbers": {},
    "mysql_texts": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "isostring",
        "binary.handling.mode": "base64",
    },
}
_TYPES = {
    "id": "BIGINT",
    "tiny": "TINYINT",
    "tiny_plus": "TINYINT UNSIGNED",
    "small": "SMALLINT",
    "small_plus": "SMALLINT UNSIGNED",
    "medium": "MEDIUMINT",
    "medium_plus": "MEDIUMINT UNSIGNED",
    "whole": "INT",
    "whole_plus": "INT UNSIGNED",
    "big": "BIGINT",
    "big_plus": "BIGINT UNSIGNED",
    "yes": "BOOLEAN",
    "one_float": "FLOAT",
    "two_float": "DOUBLE",
    "price": "DECIMAL(10,2) NOT NULL DEFAULT 7",
    "huge": "DECIMAL(38,10)",
    "longer": "DECIMAL(65,30)",
    "plain": "DECIMAL",
    "day": "DATE",
    "clock": "TIME",
    "clock3": "TIME(3)",
    "clock6": "TIME(6)",
    "moment": "DATETIME",
    "moment3": "DATETIME(3)",
    "moment6": "DATETIME(6)",
    "instant": "TIMESTAMP NULL",
    "instant6": "TIMESTAMP(6) NULL",
    "year": "YEAR",
    "short": "VARCHAR(20)",
    "padded": "CHAR(5)",
    "words": "TEXT",
    "latin": "VARCHAR(20) CHARACTER SET latin1",
    "feeling": "ENUM('ok','ü','')",
    "feelings": "SET('x','y')",
    "json": "JSON",
    "flag": "BIT(1)",
    "flags": "BIT(12)",
    "fixed": "BINARY(4)",
    "bytes": "VARBINARY(20)",
    "large": "LONGBLOB",
    "place": "POINT",
    "shape": "GEOMETRY",
}
_FIRST = {
    "id": "1",
    "tiny": "-128",
    "tiny_plus": "255",
    "small": "-32768",
    "small_plus": "65535",
    "medium": "-8388608",
    "medium_plus": "16777215",
    "whole": "-2147483648",
    "whole_plus": "4294967295",
    "big": "-9223372036854775808",
    "big_plus": "18446744073709551615",
    "yes": "TRUE",
    "one_float": "0.1",
    "two_float": "1e-300",
    "price": "-1.5",
    "huge": "-9999999999999999999999999999.9999999999",
    "longer": "-12345678901234567890123456789012345.000000000000000000000000000001",
    "plain": "9999999999",
    "day": "'2026-11-20'",
    "clock": "'-838:59:59'",
    "clock3": "'01:02:03.4'",
    "clock6": "'838:59:59'",
    "moment": "'2026-11-20 01:02:03'",
    "moment3": "'2026-11-20 01:02:03.4'",
    "moment6": "'2026-11-20 01:02:03.456789'",
    "instant": "'2026-11-20 01:02:03'",
    "instant6": "'2026-11-20 01:02:03.456789'",
    "year": "2155",
    "short": "'abc'",
    "padded": "'ab'",
    "words": r"""'a "q" \\ \n é 😀 ,"payload":{}'""",
    "latin": "'ÿé'",
    "feeling": "'ü'",
    "feelings": "'x,y'",
    "json": """'{"a": 1.50, "b": [null, "é"]}'""",
    "flag": "b'1'",
    "flags": "b'100000000101'",
    "fixed": "x'0001'",
    "bytes": "x'00ff10'",
    "large": "x'80'",
    "place": "ST_GeomFromText('POINT(1.5 2.5)')",
    "shape": "ST_GeomFromText('LINESTRING(0 0,1 1)')",
}
_AT_THE_EDGES = {
    "id": "9223372036854775807",
    "tiny": "127",
    "big": "9223372036854775807",
    "two_float": "-1.7976931348623157e308",
    "price": "99999999.99",
    "huge": "0.0000000001",
    "longer": "-1",
    "day": "'9999-12-31'",
    "clock": "'00:00:00'",
    "clock6": "'23:59:59.999999'",
    "moment": "'1000-01-01 00:00:00'",
    "moment6": "'9999-12-31 23:59:59.499999'",
    "instant": "'1970-01-01 02:00:01'",
    "instant6": "'2038-01-19 05:14:07.499999'",
    "year": "1901",
    "words": "''",
    "feeling": "''",
    "feelings": "''",
    "json": "'null'",
    "flag": "b'0'",
    "flags": "b'0'",
    "bytes": "x''",
}
_CHANGES = (
    "UPDATE every_type SET small = 5 WHERE id = 3",
    "UPDATE every_type SET id = 4 WHERE id = 3",
    "DELETE FROM every_type WHERE id = 4",
    "TRUNCATE every_type",
)


def main(port: int, plugin: Path) -> None:
    """Record both modes."""
    jars = cluster_jars(default_cache(), lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker", jars)
        plugins = {"mysql": sorted(plugin.glob("*.jar"))}
        connect = Connect(Path(folder) / "connect", jars, plugins, broker.server)
        try:
            broker.start()
            connect.start()
            for name, mode in _MODES.items():
                records = _records(broker, connect, port, name, mode, Path(folder))
                (FOLDER / f"{name}.json").write_text(written(records))
        finally:
            connect.kill()
            broker.kill()


def _records(
    broker: Broker, connect: Connect, port: int, name: str, mode: Mapping[str, str], folder: Path
) -> list[Any]:
    for topic in (name, f"__debezium-heartbeat.{name}"):
        make_topic(broker, topic)
    configuration = {
        **as_mapping(template(ConnectorKind.MYSQL, name)),
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "root",
        "database.password": "",
        "database.server.id": "4711",
        "database.include.list": name,
        "schema.history.internal.file.filename": str(folder / f"{name}.history"),
        "provide.transaction.metadata": "true",
        **mode,
    }
    connection = pymysql.connect(
        host="127.0.0.1", port=port, user="root", password="", autocommit=True, charset="utf8mb4"
    )
    with connection, connection.cursor() as cursor:
        for statement in _made(name):
            cursor.execute(statement)
        connect.put(name, configuration)
        found = _read(broker, name, lambda records: sum(_op(r) == "r" for r in records) == 3)
        for statement in _CHANGES:
            cursor.execute(statement)
        found = _read(broker, name, lambda records: any(_op(r) == "t" for r in records))
        cursor.execute(f"DROP DATABASE {name}")
    connect.remove(name)
    return found


def _made(name: str) -> Iterator[str]:
    columns = ", ".join(f"`{column}` {kind}" for column, kind in _TYPES.items())
    yield f"DROP DATABASE IF EXISTS {name}"
    yield f"CREATE DATABASE {name} CHARACTER SET utf8mb4"
    yield f"USE {name}"
    yield "SET time_zone = '+02:00'"
    yield f"CREATE TABLE every_type ({columns}, PRIMARY KEY (id, price))"
    for row in (_FIRST, _AT_THE_EDGES, {"id": "3", "price": "0"}):
        names = ", ".join(f"`{column}`" for column in row)
        yield f"INSERT INTO every_type ({names}) VALUES ({', '.join(row.values())})"


def _read(broker: Broker, topic: str, is_all: Any) -> list[Any]:
    client = Consumer({"bootstrap.servers": broker.server, "group.id": "recorder"})
    client.assign([TopicPartition(topic, 0, 0)])
    records: list[Any] = []
    until = time.monotonic() + 60
    while not is_all(records):
        if time.monotonic() > until:
            raise SystemExit(f"only {len(records)} records came")
        message = client.poll(1.0)
        if message is not None:
            headers = [[n, v.decode()] for n, v in message.headers() or [] if "context" not in n]
            records.append([topic, message.key(), message.value(), headers])
    client.close()
    return records


def _op(record: Any) -> str | None:
    value = record[2]
    return None if value is None else json.loads(value)["payload"].get("op")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
