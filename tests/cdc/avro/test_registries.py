"""What schema registries answer, and what it means for those who land a stream."""

from __future__ import annotations

from typing import Any, cast

import pytest
from azure.core.credentials import AccessToken, TokenCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
)
from azure.schemaregistry import SchemaRegistryClient

from openmirror.cdc.avro.azure import AzureRegistry
from openmirror.cdc.avro.confluent import (
    ConfluentRegistry,
    RegistryConfig,
    registry_config,
    without_registry,
)
from openmirror.cdc.avro.registry import SchemaId, WrongAvroSchema
from openmirror.errors import AccessDenied, CannotStart, OpenmirrorError, Unavailable, WrongRequest
from tests.cdc.avro.serving import ServedRegistry, served

ONE = SchemaId("1")
PATH = "/schemas/ids/1"


def asked(status: int, answer: Any, location: str = "") -> str | None:
    with served(ServedRegistry({PATH: (status, answer)}, location)) as registry:
        return ConfluentRegistry(RegistryConfig((registry.url,))).schema(ONE)


def test_a_schema_is_found_by_its_number() -> None:
    assert asked(200, {"schema": '"string"'}) == '"string"'
    assert asked(200, {"schema": '"string"', "schemaType": "AVRO", "references": []}) == '"string"'


def test_a_schema_that_is_unknown_is_none() -> None:
    assert asked(404, {"error_code": 40403, "message": "Schema not found"}) is None


@pytest.mark.parametrize(
    ("status", "answer", "kind", "why"),
    [
        (404, b"<html>", Unavailable, "answers 404"),
        (500, {"message": "no leader"}, Unavailable, "answers 500: no leader"),
        (200, b"<html>", Unavailable, "is no schema registry"),
        (200, [], Unavailable, "is no schema registry"),
        (401, {"message": "who are you"}, AccessDenied, "basic.auth.user.info=USER:PASSWORD"),
        (403, b"", AccessDenied, "refuses (403"),
    ],
)
def test_every_other_answer_says_what_is_wrong(
    status: int, answer: Any, kind: type[OpenmirrorError], why: str
) -> None:
    with pytest.raises(kind) as caught:
        asked(status, answer)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"schema": "", "schemaType": "PROTOBUF"}, "of type PROTOBUF"),
        ({"schema": "", "references": [{"name": "a"}]}, "refers to others"),
    ],
)
def test_a_schema_of_another_kind_is_none_of_avro(answer: Any, why: str) -> None:
    with pytest.raises(WrongAvroSchema, match=why):
        asked(200, answer)


def test_a_password_follows_nobody_elsewhere() -> None:
    with served(ServedRegistry()) as elsewhere:
        moved = ServedRegistry({PATH: (302, b"")}, f"{elsewhere.url}{PATH}")
        with served(moved) as registry:
            config = registry_config(
                {
                    "schema.registry.url": registry.url,
                    "schema.registry.basic.auth.user.info": "me:secret",
                }
            )
            with pytest.raises(Unavailable, match="answers 302"):
                ConfluentRegistry(config).schema(ONE)
        assert registry.asked == [(PATH, "Basic bWU6c2VjcmV0")]
        assert elsewhere.asked == []


def test_another_registry_answers_where_one_is_away() -> None:
    with served(ServedRegistry.of({"1": '"string"'})) as registry:
        properties = {
            "schema.registry.url": f"http://127.0.0.1:1, {registry.url}/",
            "schema.registry.bearer.auth.token": "abc",
        }
        assert ConfluentRegistry(registry_config(properties)).schema(ONE) == '"string"'
    assert registry.asked == [(PATH, "Bearer abc")]
    with pytest.raises(Unavailable, match="does not answer"):
        ConfluentRegistry(registry_config({"schema.registry.url": "http://127.0.0.1:1"})).schema(
            ONE
        )


def test_records_in_avro_without_a_registry_say_what_to_set() -> None:
    with pytest.raises(CannotStart, match=r"schema\.registry\.url=https://"):
        ConfluentRegistry(registry_config({"sasl.username": "a"})).schema(ONE)


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"schema.registry.urls": "http://a"}, "there is no property schema.registry.urls"),
        ({"schema.registry.bearer.auth.token": "a"}, "write https://registry:8081"),
        ({"schema.registry.url": "a:8081"}, "write https://registry:8081"),
        ({"schema.registry.url": "https://u:p@a"}, "has a user in it"),
        (
            {
                "schema.registry.url": "https://a",
                "schema.registry.basic.auth.user.info": "a:b",
                "schema.registry.bearer.auth.token": "a",
            },
            "exclude each other",
        ),
    ],
)
def test_properties_that_mean_nothing_are_refused(properties: dict[str, str], why: str) -> None:
    with pytest.raises(WrongRequest) as caught:
        registry_config(properties)
    assert why in str(caught.value)
    assert "u:p" not in str(caught.value)


def test_a_file_of_certificates_that_is_not_there_is_named() -> None:
    properties = {
        "schema.registry.url": "https://a",
        "schema.registry.ssl.ca.location": "/nowhere/ca.pem",
    }
    with pytest.raises(CannotStart, match=r"/nowhere/ca\.pem cannot be read"):
        ConfluentRegistry(registry_config(properties)).schema(ONE)


def test_brokers_get_what_is_theirs() -> None:
    properties = {"schema.registry.url": "https://a", "sasl.username": "b"}
    assert without_registry(properties) == {"sasl.username": "b"}


class Someone:
    """Anybody's token."""

    def get_token(self, *_: str, **__: Any) -> AccessToken:
        return AccessToken("t", 2**40)


def status(code: int) -> HttpResponseError:
    error = HttpResponseError("no")
    error.status_code = code
    return error


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (ClientAuthenticationError("no"), AccessDenied, "Schema Registry Reader"),
        (status(403), AccessDenied, "Schema Registry Reader"),
        (status(503), Unavailable, "shop.servicebus.windows.net"),
        (ServiceRequestError("no"), Unavailable, "shop.servicebus.windows.net"),
    ],
)
def test_what_azures_registry_refuses_names_the_role(
    monkeypatch: pytest.MonkeyPatch, answer: Exception, kind: type[OpenmirrorError], why: str
) -> None:
    with pytest.raises(kind) as caught:
        azures(monkeypatch, answer)
    assert why in str(caught.value)


def test_what_azures_registry_does_not_have_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert azures(monkeypatch, ResourceNotFoundError("no")) is None


def azures(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str | None:
    def get_schema(_: object, schema_id: str) -> None:
        assert schema_id == "1"
        raise error

    monkeypatch.setattr(SchemaRegistryClient, "get_schema", get_schema)
    someone = cast("TokenCredential", Someone())
    return AzureRegistry("shop.servicebus.windows.net", lambda: someone).schema(ONE)
