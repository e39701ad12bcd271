"""Mint recorded records anew in Avro: `python -m tests.cdc.decoding.minting.avro FOLDER_OF_JARS`.

The folder has the jars of Kafka Connect, of its JSON converter, and of Confluent's for Avro, whose
own registry in memory gives the schemas their numbers.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import jpype

from tests.cdc.decoding.recorded import FOLDER, recorded
from tests.cdc.decoding.recorded.avro_names import RECORDED, with_names_of_avro


class Converters:
    """From JSON to Avro, of keys or of values."""

    def __init__(self, registry: Any, *, is_key: bool) -> None:
        maps = jpype.java.util.HashMap
        self._json = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
        self._json.configure(maps({"schemas.enable": "true"}), is_key)
        self._avro = jpype.JClass("io.confluent.connect.avro.AvroConverter")(registry)
        self._avro.configure(maps({"schema.registry.url": "http://in.memory"}), is_key)

    def __call__(self, topic: str, content: bytes | None) -> bytes | None:
        if content is None:
            return None
        read = self._json.toConnectData(topic, jpype.JArray(jpype.JByte)(content))
        return bytes(self._avro.fromConnectData(topic, read.schema(), read.value()))


def main(jars: Path) -> None:
    jpype.startJVM(classpath=[str(jar) for jar in sorted(jars.glob("*.jar"))])
    client = jpype.JClass("io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient")()
    key, value = Converters(client, is_key=True), Converters(client, is_key=False)
    schemas: dict[str, str] = {}

    def text(content: bytes | None) -> str | None:
        if content is None:
            return None
        number = int.from_bytes(content[1:5], "big")
        schemas[str(number)] = str(client.getSchemaById(number).canonicalString())
        return b64encode(content).decode()

    minted: dict[str, list[Any]] = {}
    for name in RECORDED:
        rows = recorded(name).to_pylist()
        minted[name] = [
            [
                text(made(row["topic"], with_names_of_avro(row[part])))
                for made, part in ((key, "key"), (value, "value"))
            ]
            for row in rows
        ]
    lines = json.dumps({"schemas": schemas, "records": minted}, indent=0, ensure_ascii=False)
    (FOLDER / "in_avro.json").write_text(lines + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
