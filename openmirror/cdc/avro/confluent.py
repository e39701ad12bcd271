"""Schema registries with the interface of Confluent's: Karapace's and Apicurio's have it too."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from openmirror.cdc.avro.registry import SchemaId, WrongAvroSchema
from openmirror.errors import AccessDenied, CannotStart, Unavailable, WrongRequest

_PREFIX = "schema.registry."
_URL = "schema.registry.url"
_USER = "schema.registry.basic.auth.user.info"
_TOKEN = "schema.registry.bearer.auth.token"
_CA = "schema.registry.ssl.ca.location"
_PROPERTIES = (_URL, _USER, _TOKEN, _CA)
_PATIENCE = 15.0
"""Seconds that an answer may take."""
_LARGEST = 16 << 20
"""Bytes of an answer: more than any schema has."""
_NO_SUCH_SCHEMA = 40403


@dataclass(frozen=True)
class RegistryConfig:
    """Where a registry is, and who asks it."""

    urls: tuple[str, ...]
    """Any of them may answer."""
    authorization: str | None = None
    """A header's value."""
    ca: str | None = None
    """A file of certificates that its own is signed by."""


def registry_config(properties: Mapping[str, str]) -> RegistryConfig | None:
    """What a file of properties has for a registry, None where that is nothing.

    Raises WrongRequest for properties that there are none of.
    """
    own = {name: value for name, value in properties.items() if name.startswith(_PREFIX)}
    if not own:
        return None
    unknown = sorted(own.keys() - set(_PROPERTIES))
    if unknown:
        raise WrongRequest(f"there is no property {unknown[0]}; there are {', '.join(_PROPERTIES)}")
    urls = tuple(url.strip().rstrip("/") for url in own.get(_URL, "").split(","))
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongRequest(f"{_URL} is {url!r}: write https://registry:8081")
        if parts.username is not None:
            raise WrongRequest(f"{_URL} has a user in it: write {_USER}=USER:PASSWORD")
    if _USER in own and _TOKEN in own:
        raise WrongRequest(f"{_USER} and {_TOKEN} exclude each other: remove one")
    authorization = None
    if _USER in own:
        authorization = f"Basic {b64encode(own[_USER].encode()).decode()}"
    elif _TOKEN in own:
        authorization = f"Bearer {own[_TOKEN]}"
    return RegistryConfig(urls, authorization, own.get(_CA))


def without_registry(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that are for brokers."""
    return {name: value for name, value in properties.items() if not name.startswith(_PREFIX)}


class ConfluentRegistry:
    """A `SchemaRegistry` over HTTP."""

    def __init__(self, config: RegistryConfig | None) -> None:
        """Without a configuration, to ask for a schema says what is missing."""
        self._config = config

    def schema(self, id_: SchemaId) -> str | None:
        """As `SchemaRegistry` has it; raises CannotStart where no registry was named."""
        if self._config is None:
            raise CannotStart(
                f"records are in Avro (schema {id_}), and no schema registry is named: put "
                f"{_URL}=https://… into the file of --client-config (OPENMIRROR_CLIENT_CONFIG)"
            )
        away: Unavailable | None = None
        for url in self._config.urls:
            try:
                return self._asked(url, self._config, id_)
            except Unavailable as error:
                away = error
        assert away is not None, "a configuration has a URL"
        raise away

    def _asked(self, url: str, config: RegistryConfig, id_: SchemaId) -> str | None:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if config.authorization is not None:
            headers["Authorization"] = config.authorization
        request = Request(f"{url}/schemas/ids/{quote(id_)}", headers=headers)
        try:
            with _opener(config).open(request, timeout=_PATIENCE) as answer:
                content = answer.read(_LARGEST)
        except HTTPError as error:
            _need_unknown(url, error)
            return None
        except (URLError, HTTPException, OSError) as error:
            raise Unavailable(f"schema registry {url} does not answer: {error}") from None
        found = _json(content)
        if not isinstance(found.get("schema"), str):
            raise Unavailable(f"{url} is no schema registry: its answer has no schema")
        if found.get("schemaType", "AVRO") != "AVRO":
            raise WrongAvroSchema(f"its schema is of type {found['schemaType']}, not of Avro")
        if found.get("references"):
            raise WrongAvroSchema("its schema refers to others, as no converter of Connect does")
        return str(found["schema"])


class _NoRedirect(HTTPRedirectHandler):
    """Or a password would follow to wherever it leads."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(config: RegistryConfig) -> Any:
    try:
        context = ssl.create_default_context(cafile=config.ca)
    except OSError as error:
        raise CannotStart(f"{_CA}={config.ca} cannot be read: {error}") from None
    return build_opener(_NoRedirect(), HTTPSHandler(context=context))


def _need_unknown(url: str, error: HTTPError) -> None:
    """Raise what a status means, unless it is that a schema is unknown."""
    with error:
        found = _json(error.read(_LARGEST))
    if error.code == 404 and found.get("error_code") == _NO_SUCH_SCHEMA:
        return
    why = found.get("message") or error.reason
    if error.code in (401, 403):
        raise AccessDenied(
            f"schema registry {url} refuses ({error.code} {why}): set {_USER}=USER:PASSWORD or "
            f"{_TOKEN} in the file of --client-config"
        )
    raise Unavailable(f"schema registry {url} answers {error.code}: {why}")


def _json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
