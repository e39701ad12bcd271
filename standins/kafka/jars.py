"""The jars of a broker, of Kafka Connect and of connectors: of fixed content, fetched once.

`python -m standins.kafka.jars` makes the cache ready.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from openmirror.spark.ivy import Jar
from openmirror.spark.jars import default_cache, print_class_path, resolve

_BROKER = Path(__file__).with_name("broker.jars")
_MARIADB = Path(__file__).with_name("mariadb.jars")
_POSTGRESQL = Path(__file__).with_name("postgresql.jars")


def cluster_jars(cache: Path, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Of a broker and of Kafka Connect; raises JarsError."""
    return resolve(cache, say, jars=_listed(_BROKER), what="Kafka")


def connector_jars(cache: Path, say: Callable[[str], None]) -> dict[str, tuple[Path, ...]]:
    """Of each connector what Kafka Connect does not have, by the connector's name."""
    return {
        "postgresql": resolve(cache, say, jars=_listed(_POSTGRESQL), what="Debezium"),
        "mariadb": resolve(cache, say, jars=_listed(_MARIADB), what="Debezium for MariaDB"),
    }


def _listed(path: Path) -> Sequence[Jar]:
    lines = path.read_text().splitlines()
    return [Jar(*line.split()) for line in lines if line and not line.startswith("#")]


def _all(say: Callable[[str], None]) -> str:
    cache = default_cache()
    connectors = connector_jars(cache, say)
    return ":".join(map(str, [*cluster_jars(cache, say), *sum(connectors.values(), ())]))


if __name__ == "__main__":
    sys.exit(print_class_path(_all))
