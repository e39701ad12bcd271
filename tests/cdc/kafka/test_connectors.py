"""From real databases through Kafka Connect and a broker to Delta tables, whatever is killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import pymysql
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from openmirror.cdc.connector_templates import ConnectorKind, as_mapping, template
from openmirror.cdc.kafka.brokers import Brokers
from openmirror.cdc.kafka.client_config import client_config
from openmirror.cdc.kafka.topic_source import TopicSource
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.errors import Unavailable
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import StopCode
from openmirror.topic_address import TopicAddress
from standins.kafka.cluster import Broker, Connect
from standins.postgres import connected
from tests.cdc.kafka.conftest import make_topic
from tests.cdc.landing import Landing
from tests.cdc.mariadb import PASSWORD, READER, MariaDbServer, mariadb_server
from tests.cdc.mariadb_workload import MARIADB_TABLES, MariaDbWorkload
from tests.cdc.prefixes import ReadRecords, keeping, versions_behind_the_first
from tests.cdc.workload import TABLES, Workload
from tests.zone import Mirror, bag

_WANT_SNAPSHOT = (StopCode.RESNAPSHOT_NEEDED, StopCode.EVENTS_LOST)


@dataclass
class Source:
    """A database whose connector fills a topic."""

    topic: str
    configuration: Mapping[str, str]
    signals: Path
    workload: Workload | MariaDbWorkload
    tables: Mapping[str, tuple[str, ...]]
    schema: str
    rows: Callable[[str], list[dict[str, object]]]

    def snapshot(self, table: str) -> None:
        """Ask the connector for a blocking snapshot of a table."""
        names = [f"{self.schema}.{table}"]
        data = {"type": "BLOCKING", "data-collections": names}
        signal = {"id": uuid4().hex, "type": "execute-snapshot", "data": data}
        self.signals.write_text(json.dumps(signal) + "\n")


def _new_topic(broker: Broker) -> str:
    name = f"shop_{uuid4().hex[:8]}"
    make_topic(broker, name)
    make_topic(broker, f"__debezium-heartbeat.{name}")
    return name


@pytest.fixture
def postgres_source(database: DatabaseUrl, broker: Broker, tmp_path: Path) -> Iterator[Source]:
    topic = _new_topic(broker)

    def rows(table: str) -> list[dict[str, object]]:
        with connected(database) as own:
            set_json_loads(bytes.decode, own)
            cursor = own.cursor(row_factory=dict_row)
            return cursor.execute(f"SELECT * FROM {table}").fetchall()  # type: ignore[call-overload,no-any-return]

    signals = tmp_path / f"{topic}-signals"
    tables = {**TABLES, "marks": ("id",)}
    configuration = {
        **_connector(ConnectorKind.POSTGRESQL, topic, signals),
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.dbname": database.database,
        "table.include.list": ",".join(f"public.{name}" for name in tables),
    }
    with connected(database) as connection:
        workload = Workload(Random(3), connection)
        yield Source(topic, configuration, signals, workload, tables, "public", rows)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDbServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture
def mariadb_source(mariadb: MariaDbServer, broker: Broker, tmp_path: Path) -> Iterator[Source]:
    topic = _new_topic(broker)
    signals = tmp_path / f"{topic}-signals"
    with mariadb.database(topic) as name, mariadb.connect(name) as connection:

        def rows(table: str) -> list[dict[str, object]]:
            with connection.cursor(pymysql.cursors.DictCursor) as cursor:
                cursor.execute(f"SELECT * FROM {table}")
                return [_as_mirrored(row) for row in cursor.fetchall()]

        configuration = {
            **_connector(ConnectorKind.MARIADB, topic, signals),
            "database.hostname": "127.0.0.1",
            "database.port": str(mariadb.port),
            "database.user": READER,
            "database.password": PASSWORD,
            "database.server.id": str(Random(topic).randint(1000, 10**6)),
            "database.include.list": name,
            "schema.history.internal.file.filename": str(tmp_path / "history"),
        }
        workload = MariaDbWorkload(Random(4), connection)
        tables = {**MARIADB_TABLES, "marks": ("id",)}
        yield Source(topic, configuration, signals, workload, tables, name, rows)


def _as_mirrored(row: dict[str, object]) -> dict[str, object]:
    """The values that the client gives in other types than a mirror has them in."""
    if row.get("span") is not None:
        assert row["span"] == -timedelta(hours=838, minutes=59, seconds=59)
        row |= {"span": "-838:59:59", "wide": str(row["wide"])}
    if isinstance(flag := row.get("flag"), bytes):
        row["flag"] = flag == b"\1"
    return row


def _connector(kind: ConnectorKind, topic: str, signals: Path) -> dict[str, str]:
    """What `cdc template` writes, made quicker."""
    return {
        **as_mapping(template(kind, topic)),
        "heartbeat.interval.ms": "500",
        "signal.poll.interval.ms": "300",
        "signal.file": str(signals),
    }


class Landed(Landing):
    """A topic, landed; brokers may be away now and then."""

    def __init__(self, mirror: Mirror, broker: Broker, of: Source) -> None:
        address = TopicAddress.parse(f"kafka://{broker.server}/{of.topic}")
        brokers = Brokers(address, client_config(address, {}, lambda resource: ("", 0.0)))
        self._sources: list[TopicSource] = []
        self.records = ReadRecords()
        kept = keeping(TopicSource, self.records)

        def source() -> TopicSource:
            """The one of another relay is left behind."""
            for one in self._sources:
                one.close()
            self._sources = [kept(brokers, of.topic)]
            return self._sources[0]

        super().__init__(mirror, Random(5), of.topic, source, of.schema)
        self.source = of

    def land(self) -> int:
        try:
            return super().land()
        except Unavailable:
            self.lose_relay()
            return 0

    def go_on_by_snapshots(self) -> None:
        """Ask for a snapshot of each table that has stopped, until all go on."""
        stopped = self.document().stopped
        assert stopped[self.path("orders")].stop.code in _WANT_SNAPSHOT
        for path in stopped:
            self.source.snapshot(path.table)
            self.land_while(lambda: path in self.document().stopped)  # noqa: B023


@pytest.fixture
def flows(
    postgres_source: Source, mariadb_source: Source, mirror: Mirror, broker: Broker
) -> list[Landed]:
    return [Landed(mirror, broker, source) for source in (postgres_source, mariadb_source)]


def test_a_database_is_followed_through_kafka_connect(
    mariadb_source: Source, mirror: Mirror, broker: Broker, connect: Connect
) -> None:
    """One database, and nobody is killed but relays: the soak has two, and kills all the others."""
    here = Landed(mirror, broker, mariadb_source)
    begin([here], connect)
    mirror.reconcile_all()
    workload = here.source.workload
    for between in (workload.add_column, workload.empty):
        workload.transactions(8)
        between()
        workload.transactions(8)
        here.land_until(workload.mark())
        mirror.reconcile_all()
    connect.remove(here.stream)
    assert_equal([here], mirror)
    assert_versions_are_prefixes([here], mirror)


@pytest.mark.soak
def test_whatever_is_killed_each_table_holds_the_databases_rows(
    flows: list[Landed], mirror: Mirror, broker: Broker, connect: Connect
) -> None:
    begin(flows, connect)
    mirror.reconcile_all()
    kill_both(flows, broker, connect)
    mirror.reconcile_all()
    assert_mended_and_equal(flows, mirror, connect)
    assert_versions_are_prefixes(flows, mirror)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_so_it_does_over_many_deaths(
    seed: int, flows: list[Landed], mirror: Mirror, broker: Broker, connect: Connect
) -> None:
    random = Random(seed)
    for here in flows:
        here.source.workload.random = here.random = Random(random.random())
    begin(flows, connect)
    for _ in range(4):
        kill_both(flows, broker, connect)
        mirror.reconcile_all()
    assert_mended_and_equal(flows, mirror, connect)


@pytest.mark.soak
def test_a_connector_that_is_set_back_sends_all_again_and_nothing_lands_twice(
    mariadb_source: Source, mirror: Mirror, broker: Broker, connect: Connect
) -> None:
    """PostgreSQL's connector refuses to begin then: its slot has moved on."""
    here = Landed(mirror, broker, mariadb_source)
    begin([here], connect)
    connect.stop()
    places = connect.places()
    ends = []
    for _ in range(3):
        connect.set_back(places)
        connect.start()
        connect.put(here.stream, mariadb_source.configuration)
        mariadb_source.workload.transactions(40)
        here.land_until(mariadb_source.workload.mark())
        ends.append(here.document().complete_to)
        connect.stop()
    connect.start()
    # The second time it has sent what it had before, and as much again.
    assert ends[2] - ends[1] > 1.5 * (ends[1] - ends[0]) > 0
    mirror.reconcile_all()
    assert_equal([here], mirror)


def begin(flows: list[Landed], connect: Connect) -> None:
    """Databases with rows, of which the first snapshots have landed."""
    for here in flows:
        here.source.workload.begin()
        connect.put(here.stream, here.source.configuration)
    for here in flows:
        here.land_until(here.source.workload.mark())


def kill_both(flows: list[Landed], broker: Broker, connect: Connect) -> None:
    """Kafka Connect and the broker are killed amid changes, and begin again."""
    for here in flows:
        here.source.workload.transactions(8)
        here.land()
    connect.kill()
    for here in flows:
        here.source.workload.transactions(4)
        here.source.workload.add_column()
        here.source.workload.empty()
    connect.start()
    for here in flows:
        connect.put(here.stream, here.source.configuration)
        here.source.workload.transactions(8)
    broker.kill()
    broker.start()
    for here in flows:
        here.land_until(here.source.workload.mark())
        # A connector that is killed between the halves of a changed key loses the second one.
        codes = {one.stop.code for one in here.document().stopped.values()}
        assert codes <= {StopCode.EVENTS_LOST}


def assert_mended_and_equal(flows: list[Landed], mirror: Mirror, connect: Connect) -> None:
    """Tables that have stopped go on behind a snapshot; then each equals its database's."""
    for here in flows:
        here.source.workload.fill_column()
        here.source.workload.transactions(4)
        here.land_until(here.source.workload.mark())
        here.go_on_by_snapshots()
        assert Marker.TRUNCATE in here.markers("orders")
        here.source.workload.transactions(4)
        here.land_until(here.source.workload.mark())
        assert here.document().stopped == {}
        assert here.deaths
    mirror.reconcile_all()
    assert_equal(flows, mirror)
    for here in flows:
        connect.remove(here.stream)


def assert_versions_are_prefixes(flows: list[Landed], mirror: Mirror) -> None:
    """Each version of each table is what its stream came to at some record, and there are some."""
    for here in flows:
        pieces = here.records.of_tables(mirror)
        changed = [
            versions_behind_the_first(mirror, str(here.path(table)), pieces[table], keys)
            for table, keys in here.source.tables.items()
        ]
        assert sum(changed) > len(changed)


def assert_equal(flows: list[Landed], mirror: Mirror) -> None:
    """Each table holds its database's rows, and none has stopped."""
    for here in flows:
        assert here.document().stopped == {}
        for table in here.source.tables:
            mirrored = bag(mirror.rows(str(here.path(table))))
            assert mirrored == bag(here.source.rows(table)), table
