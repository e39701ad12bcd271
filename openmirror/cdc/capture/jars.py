"""Debezium's jars: of fixed content, fetched once from Maven, then used offline.

The connector for PostgreSQL is of 3.7.0: versions before it lose rows when they are stopped inside
of a COPY. The embedded engine has no such release, and runs over that connector's own libraries.

`python -m openmirror.cdc.capture.jars` makes the cache ready and prints their class path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from openmirror.spark.ivy import Jar
from openmirror.spark.jars import default_cache, print_class_path, resolve

# Of what their POMs name, what the engine loads: most of the rest is a web server of Connect's.
JARS = (
    Jar(
        "io.debezium",
        "debezium-embedded",
        "3.6.3.Final",
        "e1ebba14d967dc478992ba58715d603a3a81a49a3beac4dac3b5f28d534f876e",
    ),
    Jar(
        "io.debezium",
        "debezium-api",
        "3.7.0.Final",
        "70fa833f4a0e024da0691bec3dd271b90d1600e7bbdc4c88f1d8518fdae9ccff",
    ),
    Jar(
        "io.debezium",
        "debezium-config",
        "3.7.0.Final",
        "eec4ff3f22e16e94d34b78c4f577bf4ad767744e765fda9a58eeb25279be4d98",
    ),
    Jar(
        "io.debezium",
        "debezium-connect-plugins",
        "3.7.0.Final",
        "ed47eea2b080c16aa67a3589cb5197227cf8f199e2aaa60dd3ac2c0cbd3b062b",
    ),
    Jar(
        "io.debezium",
        "debezium-connector-common",
        "3.7.0.Final",
        "5e8ad81d98d71cfe0f305f41c6296f435c8955b46a98d80722c3fd85f0e466a7",
    ),
    Jar(
        "io.debezium",
        "debezium-connector-postgres",
        "3.7.0.Final",
        "be14f1e086ebf40f7fa1423ae15784acc80151de1ecbe4318cdad2dfe19f860f",
    ),
    Jar(
        "io.debezium",
        "debezium-openlineage-api",
        "3.7.0.Final",
        "f78b401158dac2eb027a3af1268de0ec947f96a132b96a82ef38f381dc0e194c",
    ),
    Jar(
        "io.debezium",
        "debezium-util",
        "3.7.0.Final",
        "c64894846a01d3f231b12158a86a072b30cc34a136b7df225d1e4a20f84e0561",
    ),
    Jar(
        "org.apache.kafka",
        "connect-api",
        "4.3.0",
        "7938f71e76e3b03cfba284a987a07d925533710166499264652e05eaba709429",
    ),
    Jar(
        "org.apache.kafka",
        "connect-json",
        "4.3.0",
        "4af42f973b7ed4def6d394055e9b46ea7da38f69c9d5a45fa4614b492a01ad2e",
    ),
    Jar(
        "org.apache.kafka",
        "connect-runtime",
        "4.3.0",
        "9c4a4a815302a23db37785729594f6362719fda62e6a74d812d1e2719995ec99",
    ),
    Jar(
        "org.apache.kafka",
        "connect-transforms",
        "4.3.0",
        "a1b6b347e26997e4e5ede01752a9ac572e8d938b48bf3a4b22c27890dca65b7e",
    ),
    Jar(
        "org.apache.kafka",
        "kafka-clients",
        "4.3.0",
        "97a5b492d4ad658fd2dfba969fa0e403c2e38c971fb1e083da4e391471925fc1",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-annotations",
        "2.21",
        "53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-core",
        "2.21.2",
        "12e8655b100267b44d0f14d01b1f5082a5105e616174dc4307be1a761e92407b",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-databind",
        "2.21.2",
        "8c982f01f148d805f0aaac2339011244757e0df7c6ff8951f2fa3f433b8ed849",
    ),
    Jar(
        "com.fasterxml.jackson.module",
        "jackson-module-blackbird",
        "2.21.2",
        "5ed62cdcd357a24b73de9280e167aa014d7b4c17d04823844d482274cf07097e",
    ),
    Jar(
        "org.apache.maven",
        "maven-artifact",
        "3.9.15",
        "f154c31f15ac97c37b9cdf9f8d63cde5053c470d2daf54df7dfd3bb3c9e501c6",
    ),
    Jar(
        "org.postgresql",
        "postgresql",
        "42.7.13",
        "6e0e4cc2d8cae902084f8a2b18728b073a6fd9d1f87c9d8bff8f298c18185b93",
    ),
    Jar(
        "com.datadoghq",
        "sketches-java",
        "0.8.2",
        "b24c3d175556eb381ef2b2f0a7dffe7cb1fb7a9f893f41260822b5ec6cb13cca",
    ),
    Jar(
        "org.slf4j",
        "slf4j-api",
        "1.7.36",
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
    ),
    Jar(
        "org.slf4j",
        "slf4j-simple",
        "1.7.36",
        "2f39bed943d624dfa8f4102d0571283a10870b6aa36f197a8a506f147010c10f",
    ),
)


def capture_class_path(cache: Path, say: Callable[[str], None]) -> str:
    """The jars as Java wants them, fetched if they are missing; raises JarsError."""
    return os.pathsep.join(map(str, resolve(cache, say, jars=JARS, what="Debezium")))


if __name__ == "__main__":
    sys.exit(print_class_path(lambda say: capture_class_path(default_cache(), say)))
