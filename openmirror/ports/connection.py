"""How a storage service is reached, in the words of the Functions platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from openmirror.ports.storage_account import AccountUrl

_OPTIONS = ("clientid", "credential", "tenantid")


@dataclass(frozen=True)
class Connection:
    """A connection string, or a service's URL that an identity is used with; one of the two."""

    text: str | None = field(default=None, repr=False)
    """A connection string; holds a secret, so it is never shown."""
    service: str | None = None
    """The service's URL."""
    client_id: str | None = None
    """Which user-assigned identity; None leaves it to the environment."""

    @classmethod
    def read(cls, env: Mapping[str, str], name: str, service_key: str) -> Self | None:
        """The connection of this name: `NAME` itself, or `NAME__<service key>` and its options.

        None when neither is set. Raises ValueError with what is wrong, without showing a secret.
        """
        text = env.get(name, "").strip()
        prefix = f"{name}__".lower()
        # The platform ignores case in what follows the name.
        options = {
            key.lower().removeprefix(prefix): value.strip()
            for key, value in env.items()
            if key.lower().startswith(prefix) and value.strip()
        }
        service = options.get(service_key.lower())
        if text and service:
            raise ValueError(f"either a connection string, or {name}__{service_key}: not both")
        if text:
            if "://" in text.partition("=")[0] or "=" not in text:
                raise ValueError(f"a connection string; a URL belongs into {name}__{service_key}")
            return cls(text=text)
        if service:
            return cls(
                service=_service_url(service, service_key), client_id=options.get("clientid")
            )
        if unknown := sorted(set(options) - set(_OPTIONS)):
            raise ValueError(f"{name}__{service_key}: {name}__{unknown[0]} is not understood")
        return None


def _service_url(text: str, key: str) -> str:
    try:
        # The same rules as for any account, whatever the service.
        AccountUrl.parse(text.replace(".blob.", ".", 1))
    except ValueError as error:
        raise ValueError(f"a URL in {key}: {error}") from None
    return text.rstrip("/")
