"""A runner lands what mirrors declare, and applies it: real broker, Azurite, Spark and Delta."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import SparkSession

from openmirror import wiring
from openmirror.progress.streams import StreamBegun, StreamFailed
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableName
from openmirror.protocol.relay_reports import RelayReport, RelayState
from openmirror.runtime.runner import Runner
from openmirror.settings import Settings
from openmirror.table import layout
from spark_jobs.run import run
from standins.azurite import Azurite
from standins.kafka.cluster import Broker
from tests.cdc.avro.serving import ServedRegistry, served
from tests.cdc.avro.test_records import MINTED, in_avro
from tests.cdc.decoding.minted import MintedTable, column
from tests.cdc.kafka.conftest import make_topic
from tests.cdc.kafka.test_landing_elsewhere import send

PATIENCE = 90.0
TABLE = MintedTable([column("id", "int32", optional=False), column("text", "string")])


@pytest.fixture
def registry() -> Iterator[ServedRegistry]:
    with served(ServedRegistry.of(MINTED["schemas"])) as here:
        yield here


def test_a_runner_lands_what_mirrors_declare_and_applies_it_without_an_event(
    broker: Broker,
    azurite: Azurite,
    work_queue: object,
    spark: SparkSession,
    registry: ServedRegistry,
    tmp_path: Path,
) -> None:
    topic = f"t_{uuid4().hex[:8]}"
    make_topic(broker, topic)
    send(broker, topic, [TABLE.change("r", {"id": 1, "text": "a"})])
    declare(tmp_path, "shop", f"kafka://{broker.server}/{topic}")
    declare(tmp_path, "lost", f"kafka://{broker.server}/no_such_topic")
    in_other_form = f"t_{uuid4().hex[:8]}"
    make_topic(broker, in_other_form)
    of_oracle = in_avro("oracle_types").slice(0, 2).to_pylist()
    send(broker, in_other_form, [(in_other_form, r["key"], r["value"], {}) for r in of_oracle])
    declare(tmp_path, "avro", f"kafka://{broker.server}/{in_other_form}")
    clients = tmp_path / "clients.conf"
    clients.write_text(f"schema.registry.url={registry.url}\n")
    emitted: list[ProgressEvent] = []
    settings = Settings.load(
        {"OPENMIRROR_QUEUES": azurite.connection_string},
        # Nothing but the relay itself wakes a table within the test.
        {
            "root": str(tmp_path),
            "relay": True,
            "client_config": str(clients),
            "runner_sweep": timedelta(hours=1),
        },
    )
    with wiring.runner(settings, {}, emit=emitted.append) as runner:
        try:
            serve(runner, lambda: rows(tmp_path) == {1: "a"})
            changed = TABLE.change("c", {"id": 2, "text": "b"}, sequence='["1","302"]', lsn=302)
            send(broker, topic, [changed])
            serve(runner, lambda: rows(tmp_path) == {1: "a", 2: "b"})
            table = TableName("SHOP", "ALL_TYPES")
            serve(runner, lambda: len(mirrored(tmp_path, "avro", table)) == 2)
        finally:
            result = runner.stop()
    assert not result.failed
    assert StreamBegun("shop", topic, 0) in emitted
    failed = [event for event in emitted if isinstance(event, StreamFailed)]
    assert {(event.mirror, event.stream) for event in failed} == {("lost", "no_such_topic")}
    assert "there is no topic no_such_topic" in failed[0].reason
    zone = tmp_path / layout.landing_zone("shop")
    report = RelayReport.from_json((zone / "_streams/_relays" / f"{topic}.json").read_bytes())
    assert (report.state, report.next, report.records_behind) == (RelayState.ENDED, 2, 0)


def test_a_runner_with_an_end_lands_no_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--relay", "--root", str(tmp_path)], {}) == 1
    assert "--relay (OPENMIRROR_RELAY) goes with --continuous" in capsys.readouterr().err


def declare(root: Path, mirror: str, topic: str) -> None:
    (root / layout.landing_zone(mirror)).mkdir(parents=True)
    document = {"openmirror": {"streams": [{"topic": topic, "trigger": "0.2s"}]}}
    settings = root / layout.mirror_settings(mirror)
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(document))


def serve(runner: Runner, until: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < ends
        runner.serve(0.05)


def rows(root: Path) -> dict[int, str]:
    return {row["id"]: row["text"] for row in mirrored(root, "shop", TableName("public", "t"))}


def mirrored(root: Path, mirror: str, table: TableName) -> list[dict[str, Any]]:
    try:
        found = DeltaTable(str(root / layout.delta_table(mirror, table)))
    except TableNotFoundError:
        return []
    return found.to_pyarrow_table().to_pylist()
