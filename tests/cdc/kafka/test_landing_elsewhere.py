"""`cdc follow --zone` as a process: a topic lands on an account, whose mirror runs elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Producer

from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSION_NAMES
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import join, landing_zone
from standins.kafka.cluster import Broker
from tests.cdc.decoding.minted import MintedTable, Record, column
from tests.cdc.kafka.conftest import make_topic
from tests.emulator_server import EndpointServer, endpoint_server
from tests.publishing.zones import mirrored

PATIENCE = 60.0
ZONE = landing_zone("shop")
FOLDER = join(ZONE, *str(TablePath("public", "t")).split("/"))
TABLE = MintedTable([column("id", "int32", optional=False), column("text", "string")])


def test_a_topic_lands_on_an_account_as_its_mirror_says_that_it_takes_it(
    broker: Broker, tmp_path: Path
) -> None:
    topic = f"t_{uuid4().hex[:8]}"
    make_topic(broker, topic)
    send(broker, topic, [TABLE.change("r", {"id": 1, "text": "a"})])
    says = {"extensions": list(EXTENSION_NAMES.values()), "lineage": True}
    with endpoint_server(tmp_path / "root") as server:
        advertised = tmp_path / "root" / "landing/shop/Files/Monitoring/replicator.json"
        advertised.parent.mkdir(parents=True)
        advertised.write_text(json.dumps(says))
        with following(broker, topic, server, tmp_path / "log") as process:
            until(server.root, {1: "a"}, process)
            emptied = TABLE.change("t", sequence='["300","301"]', lsn=301)
            made = TABLE.change("c", {"id": 2, "text": "b"}, sequence='["300","302"]', lsn=302)
            send(broker, topic, [emptied, made])
            until(server.root, {2: "b"}, process)
            (row,) = mirrored(LocalStore(server.root), ("id",), FOLDER).rows
            assert (row["_op"], row["_last_op_id"]) == ("c", f"{300:020d}-{302:020d}")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0


def send(broker: Broker, topic: str, records: list[Record]) -> None:
    producer = Producer({"bootstrap.servers": broker.server})
    for _, key, value, _ in records:
        producer.produce(topic, key=key, value=value)
    assert producer.flush(PATIENCE) == 0


@contextmanager
def following(
    broker: Broker, topic: str, server: EndpointServer, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The process; killed at the end where it has not ended."""
    url = f"{server.url}/{server.account}/{ZONE}"
    words = ["cdc", "follow", f"kafka://{broker.server}/{topic}", "--zone", url]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "openmirror.cli", *words, "--trigger=0.2s"],
            env={**os.environ, "OPENMIRROR_ACCOUNT_KEY": server.key},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(root: Path, rows: dict[int, str], process: subprocess.Popen[bytes]) -> None:
    """What has landed says that these rows are there."""
    store, ends = LocalStore(root), time.monotonic() + PATIENCE
    while landed(store) != rows:
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < ends, landed(store)
        time.sleep(0.1)


def landed(store: LocalStore) -> dict[object, object] | None:
    if store.incarnation(FOLDER) is None:
        return None
    found = mirrored(store, ("id",), FOLDER)
    return {row["id"]: row["text"] for row in found.rows}
