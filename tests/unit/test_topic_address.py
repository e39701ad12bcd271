"""URLs of topics, and how brokers are asked: the golden forms of Kafka and Event Hubs."""

from __future__ import annotations

import pytest

from openmirror.cdc.kafka.client_config import client_config
from openmirror.errors import WrongRequest
from openmirror.topic_address import BrokerKind, TopicAddress

HUB = "eventhubs://shop.servicebus.windows.net/hub"


def _no_token(resource: str) -> tuple[str, float]:
    raise AssertionError(resource)


@pytest.mark.parametrize(
    ("text", "brokers", "pattern"),
    [
        ("kafka://broker/shop", ("broker:9092",), "shop"),
        ("kafka://a:1,b:2/shop.public.*", ("a:1", "b:2"), "shop.public.*"),
        ("kafka://[::1]:9095/t", ("[::1]:9095",), "t"),
        (HUB, ("shop.servicebus.windows.net:9093",), "hub"),
    ],
)
def test_an_address_is_read(text: str, brokers: tuple[str, ...], pattern: str) -> None:
    address = TopicAddress.parse(text)
    assert (address.brokers, address.pattern) == (brokers, pattern)
    assert TopicAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no URL"),
        ("broker:9092/shop", "no URL of a topic"),
        ("postgresql://a/b", "postgresql://…"),
        ("kafka://broker:9092/", "no topic's name"),
        ("kafka://broker:9092", "no topic's name"),
        ("kafka://broker:9092/a/b", "no topic's name"),
        ("kafka://broker:9092/a b", "no topic's name"),
        ("kafka:///shop", "no broker"),
        ("kafka://a,,b/shop", "no broker"),
        ("kafka://a:70000/shop", "no broker"),
        ("kafka://a:0/shop", "no broker"),
        ("kafka://[::1/shop", "cannot be read"),
        ("kafka://me:s3cret@broker/shop", "--client-config"),
        ("kafka://broker/shop?group.id=x", "more behind"),
        ("kafka://broker/shop#x", "more behind"),
    ],
)
def test_what_is_no_address_is_named_without_a_secret(text: str, why: str) -> None:
    with pytest.raises(WrongRequest, match=why) as refused:
        TopicAddress.parse(text)
    assert "s3cret" not in str(refused.value)


def test_what_a_connector_keeps_for_itself_is_named_alone() -> None:
    every = TopicAddress.parse("kafka://b/*")
    assert every.has("shop")
    assert not every.has("__debezium-heartbeat.shop")
    assert TopicAddress.parse("kafka://b/__own").has("__own")


def test_a_broker_is_asked_as_the_user_says_and_as_exactness_needs() -> None:
    address = TopicAddress.parse("kafka://b:1/t")
    config = client_config(address, {"log_level": "7", "ssl.ca.location": "/ca"}, _no_token)
    assert config["bootstrap.servers"] == "b:1"
    assert config["isolation.level"] == "read_committed"
    assert config["auto.offset.reset"] == "error"
    assert config["enable.auto.commit"] is False
    assert config["ssl.ca.location"] == "/ca"
    assert config["log_level"] == "7"
    assert "security.protocol" not in config


def test_event_hubs_are_asked_by_a_connection_string_or_an_identity() -> None:
    address = TopicAddress.parse(HUB)
    assert address.kind is BrokerKind.EVENT_HUBS
    by_string = client_config(address, {"sasl.password": "Endpoint=sb://…"}, _no_token)
    assert by_string["security.protocol"] == "SASL_SSL"
    assert by_string["sasl.mechanisms"] == "PLAIN"
    assert by_string["sasl.username"] == "$ConnectionString"
    asked: list[str] = []

    def token(resource: str) -> tuple[str, float]:
        asked.append(resource)
        return "bearer", 1.0

    by_identity = client_config(address, {}, token)
    assert by_identity["sasl.mechanisms"] == "OAUTHBEARER"
    assert by_identity["oauth_cb"]("") == ("bearer", 1.0)
    assert asked == ["https://shop.servicebus.windows.net/.default"]
