"""Topics of a real broker as streams: read exactly, and refused where that cannot be."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from openmirror.cdc.kafka import brokers, topic_source
from openmirror.cdc.kafka.brokers import Brokers
from openmirror.cdc.kafka.client_config import client_config
from openmirror.cdc.kafka.topic_facts import TopicRefused
from openmirror.cdc.kafka.topic_source import TopicSource
from openmirror.cdc.stops import EventsLost, StreamReplaced
from openmirror.errors import CannotStart, Unavailable, UnknownName
from openmirror.protocol.streams import Offset
from openmirror.topic_address import TopicAddress
from standins.kafka.cluster import Broker
from tests.cdc.eventually import eventually
from tests.cdc.kafka.conftest import delete_topic, make_topic

MEGABYTE = 1 << 20
_PATIENCE = 60.0
_AT_ONCE = {"segment.bytes": str(MEGABYTE), "retention.ms": "100", "file.delete.delay.ms": "0"}


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"t_{uuid4().hex[:8]}"
    make_topic(broker, name)
    return name


def brokers_of(server: str, pattern: str, **own: str) -> Brokers:
    address = TopicAddress.parse(f"kafka://{server}/{pattern}")
    return Brokers(address, client_config(address, own, lambda resource: ("", 0.0)))


def source_of(broker: Broker, topic: str) -> TopicSource:
    return TopicSource(brokers_of(broker.server, topic), topic)


def send(broker: Broker, topic: str, *values: bytes | None) -> None:
    producer = Producer({"bootstrap.servers": broker.server})
    for value in values:
        producer.produce(topic, key=b"k", value=value, headers=[("h", b"1"), ("none", None)])
    assert producer.flush(_PATIENCE) == 0


def test_records_are_read_from_any_offset_as_they_were_written(broker: Broker, topic: str) -> None:
    source = source_of(broker, topic)
    assert source.read(Offset(0), 10, MEGABYTE).num_rows == 0
    send(broker, topic, b"a", None, "ü".encode())
    eventually(lambda: source.ends() == (0, 3))
    whole = source.read(Offset(0), 10, MEGABYTE)
    assert whole.column("offset").to_pylist() == [0, 1, 2]
    assert whole.column("value").to_pylist() == [b"a", None, "ü".encode()]
    assert whole.column("key").to_pylist() == [b"k"] * 3
    assert whole.column("topic").to_pylist() == [topic] * 3
    assert whole.column("headers")[0].as_py() == [
        {"name": "h", "value": b"1"},
        {"name": "none", "value": None},
    ]
    assert source.read(Offset(3), 10, MEGABYTE).num_rows == 0
    assert source.read(Offset(1), 1, MEGABYTE).column("offset").to_pylist() == [1]
    assert source.read(Offset(0), 10, 1).num_rows >= 1


def test_what_was_taken_back_is_not_read_and_leaves_a_hole(broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.server, "transactional.id": topic})
    producer.init_transactions()
    for value, end in ((b"kept", "commit"), (b"taken back", "abort"), (b"after", "commit")):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        getattr(producer, f"{end}_transaction")()
    source = source_of(broker, topic)
    found = source.read(Offset(0), 10, MEGABYTE)
    assert found.column("value").to_pylist() == [b"kept", b"after"]
    assert found.column("offset").to_pylist() == [0, 4]
    assert source.read(Offset(1), 10, MEGABYTE).column("offset").to_pylist() == [4]
    assert source.read(Offset(5), 10, MEGABYTE).num_rows == 0, "only a mark is there"


def test_what_is_gone_by_retention_is_named_and_never_jumped_over(broker: Broker) -> None:
    topic = f"t_{uuid4().hex[:8]}"
    make_topic(broker, topic, **_AT_ONCE)
    source = source_of(broker, topic)
    for _ in range(3):
        send(broker, topic, b"x" * 900_000)
    eventually(lambda: source.ends()[0] > 0)
    with pytest.raises(EventsLost, match="and 0 is wanted"):
        source.read(Offset(0), 10, MEGABYTE)
    _, end = source.ends()
    send(broker, topic, b"new")
    eventually(lambda: source.ends()[1] == end + 1)
    assert source.read(end, 10, MEGABYTE).column("offset").to_pylist() == [end]
    with pytest.raises(EventsLost, match=f"and {end + 9} is wanted"):
        source.read(Offset(end + 9), 10, MEGABYTE)


def test_a_topic_that_is_made_again_is_another_stream(broker: Broker, topic: str) -> None:
    send(broker, topic, b"old", b"old")
    source = source_of(broker, topic)
    assert source.read(Offset(0), 1, MEGABYTE).num_rows == 1
    delete_topic(broker, topic)
    eventually(lambda: topic not in brokers_of(broker.server, "*").topics())
    make_topic(broker, topic)
    send(broker, topic, b"new", b"new", b"new")
    with pytest.raises(StreamReplaced, match="made again"):
        source.read(Offset(1), 10, MEGABYTE)
    assert source_of(broker, topic).identity != source.identity


def test_more_partitions_end_a_stream(broker: Broker, topic: str) -> None:
    now = 0.0
    source = TopicSource(brokers_of(broker.server, topic), topic, lambda: now)
    client = AdminClient({"bootstrap.servers": broker.server})
    client.create_partitions([NewPartitions(topic, 2)])[topic].result()
    assert source.read(Offset(0), 100, MEGABYTE).num_rows == 0
    now = 10.0
    with pytest.raises(TopicRefused, match="StreamPartitioned"):
        source.read(Offset(0), 100, MEGABYTE)


@pytest.mark.parametrize(
    ("partitions", "settings", "why"),
    [
        (2, {}, "StreamPartitioned"),
        (1, {"cleanup.policy": "compact"}, "compacted"),
        (1, {"cleanup.policy": "compact,delete"}, "compacted"),
    ],
)
def test_a_topic_that_loses_or_reorders_changes_is_refused(
    broker: Broker, partitions: int, settings: dict[str, str], why: str
) -> None:
    topic = f"t_{uuid4().hex[:8]}"
    make_topic(broker, topic, partitions, **settings)
    with pytest.raises(TopicRefused, match=why):
        source_of(broker, topic)


@pytest.mark.soak
def test_a_broker_that_is_away_is_waited_for(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_source, "_PATIENCE", 1.0)
    monkeypatch.setattr(brokers, "_PATIENCE", 1.0)
    send(broker, topic, b"a")
    source = source_of(broker, topic)
    assert source.read(Offset(0), 10, MEGABYTE).num_rows == 1
    broker.kill()
    try:
        with pytest.raises(Unavailable):
            source.read(Offset(0), 10, MEGABYTE)
    finally:
        broker.start()
    send(broker, topic, b"b")
    read: list[bytes] = []

    def is_read() -> bool:
        try:
            read[:] = source.read(Offset(0), 10, MEGABYTE).column("value").to_pylist()
        except Unavailable:
            return False
        return len(read) == 2

    eventually(is_read)
    assert read == [b"a", b"b"]


def test_a_pattern_names_topics_and_none_of_those_that_are_kept_for_others(
    broker: Broker, topic: str
) -> None:
    make_topic(broker, f"__heartbeat.{topic}")
    found = brokers_of(broker.server, "*").topics()
    assert topic in found
    assert f"__heartbeat.{topic}" not in found
    with pytest.raises(UnknownName, match=f"there is no topic x{topic}.*{topic}"):
        brokers_of(broker.server, f"x{topic}").topics()


def test_a_property_that_there_is_none_of_is_named(broker: Broker) -> None:
    with pytest.raises(CannotStart, match=r"no\.such\.property"):
        brokers_of(broker.server, "t", **{"no.such.property": "1"})


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "_PATIENCE", 1.0)
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer"):
        brokers_of("127.0.0.1:1", "t").topics()


def test_a_client_config_is_read(tmp_path: Path) -> None:
    from openmirror.cdc.kafka.client_config import read_client_config
    from openmirror.errors import WrongRequest

    file = tmp_path / "client.conf"
    file.write_text("# mine\n\nsecurity.protocol = SASL_SSL\nsasl.password=a=b;c\n")
    assert read_client_config(file) == {"security.protocol": "SASL_SSL", "sasl.password": "a=b;c"}
    for line, why in {
        "nothing": "write name=value",
        "sasl.jaas.config=x": "sasl.username",
        "auto.offset.reset=latest": "not for users",
        "bootstrap.servers=a:1": "not for users",
        "sasl.password=x": "twice",
    }.items():
        file.write_text(f"sasl.password=secret\n{line}\n")
        with pytest.raises(WrongRequest, match=why) as refused:
            read_client_config(file)
        assert "line 2" in str(refused.value)
        assert "secret" not in str(refused.value)
    with pytest.raises(WrongRequest, match="cannot be read"):
        read_client_config(tmp_path / "missing")
