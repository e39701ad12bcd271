"""Every stream gives the tables that its vector says, by the decoder, the relay and an engine."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ports import TableEngine, no_steps
from openmirror.progress.union import discard
from openmirror.protocol.names import TableFolder, TablePath, table_name
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.schema import Column, ColumnType
from openmirror.protocol.streams import StopCode
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.conformance.reference_engine import ReferenceEngine
from tests.conformance.streams import STREAMS, StreamCase, StreamOfCase
from tests.conformance.test_vectors import RowsOf
from tests.conformance.vectors import encoded
from tests.vectors.run import bag
from tests.zone import NO_WAITS, Mirror, Zone, read_delta


class Landed:
    """Vectors side by side, each landed in a mirror of its own and applied by one engine."""

    def __init__(
        self, ports: RootPorts, engine: TableEngine, spark: SparkSession, cases: list[StreamCase]
    ) -> None:
        self.ports = ports
        self._relays = {case.name: self._landed(case, Decoder(spark)) for case in cases}
        assert not drain(ports, engine, list(self._relays), workers=4).has_failed

    def _landed(self, case: StreamCase, decoder: Decoder) -> Relay:
        zone = layout.landing_zone(case.name)
        options = RelayOptions(idle_seconds=0, takes=EXTENSIONS)
        source = StreamOfCase(case.records)
        relay = Relay(self.ports.store, zone, "s", source, decoder.decode, options)
        relay.open()
        while relay.step().records:
            pass
        return relay

    def check(self, case: StreamCase, rows_of: RowsOf) -> None:
        """Compare everything that a vector says."""
        stopped = self._relays[case.name].document.stopped
        assert {str(path): (one.stop.code, one.at) for path, one in stopped.items()} == {
            one["folder"]: (StopCode(one["code"]), one["record"])
            for one in case.document["stopped"]
        }
        tables = {one["folder"]: one for one in case.document["tables"]}
        folders = {str(folder.path) for folder in discover(self.ports.store, case.name)}
        assert {path for path in folders if self._log(case, path) is not None} == set(tables)
        for folder, wanted in tables.items():
            log = self._log(case, folder)
            assert isinstance(log, TableLog)
            columns = tuple(Column(name, ColumnType(kind)) for name, kind in wanted["columns"])
            assert log.schema.columns == columns
            rows = [encoded(row, columns) for row in rows_of(self._path(case, folder), log)]
            assert bag(rows) == bag(wanted["rows"])

    def _log(self, case: StreamCase, folder: str) -> object:
        name = table_name(TablePath.parse(folder), "dbo")
        return self.ports.logs.read(layout.delta_table(case.name, name))

    def _path(self, case: StreamCase, folder: str) -> Path:
        path = TableFolder(case.name, TablePath.parse(folder)).path
        return Path(layout.delta_table(case.name, table_name(path, "dbo")))


@pytest.fixture(scope="module")
def by_reference(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> tuple[Landed, ReferenceEngine]:
    store = LocalStore(tmp_path_factory.mktemp("streams"))
    ports = RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        clock=lambda: datetime.now(UTC),
        limits=NO_WAITS,
        steps=no_steps,
        emit=discard,
    )
    engine = ReferenceEngine(store)
    return Landed(ports, engine, spark, STREAMS), engine


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case.name)
def test_the_interpreter_gives_what_a_stream_says(
    case: StreamCase, by_reference: tuple[Landed, ReferenceEngine]
) -> None:
    landed, engine = by_reference
    landed.check(case, lambda path, log: engine.rows(log))


_IN_SPARK = ("unchanged-large-value", "truncate", "changed-key", "goes-on-behind-a-snapshot")


@pytest.fixture(scope="module")
def in_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[Landed, Path]:
    root = tmp_path_factory.mktemp("streams-in-spark")
    mirror = Mirror(Zone(root), spark)
    cases = [case for case in STREAMS if case.name in _IN_SPARK]
    return Landed(mirror.ports, mirror.engine, spark, cases), root


@pytest.mark.parametrize("name", _IN_SPARK)
def test_the_engine_gives_what_a_stream_says(name: str, in_spark: tuple[Landed, Path]) -> None:
    landed, root = in_spark
    [case] = [one for one in STREAMS if one.name == name]
    landed.check(case, lambda path, _: read_delta(root / path))


@pytest.mark.soak
def test_the_engine_gives_what_every_stream_says(tmp_path: Path, spark: SparkSession) -> None:
    mirror = Mirror(Zone(tmp_path), spark)
    landed = Landed(mirror.ports, mirror.engine, spark, STREAMS)
    for case in STREAMS:
        landed.check(case, lambda path, _: read_delta(tmp_path / path))


def _codes(cases: Iterable[StreamCase]) -> set[str]:
    return {one["code"] for case in cases for one in case.document["stopped"]}


def test_every_reason_to_stop_has_a_stream() -> None:
    # A mirror that takes no truncates is another mirror than the vectors'.
    assert _codes(STREAMS) == {str(code) for code in StopCode} - {StopCode.TRUNCATE_UNSUPPORTED}
