"""The SDK's clients of one account, with limits that fit a function and a runner."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential, TokenCredential
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import BlobServiceClient, ExponentialRetry
from azure.storage.filedatalake import DataLakeServiceClient

from openmirror.ports.storage_account import AccountUrl
from openmirror.stores.azure.credentials import account_credential

CONNECT_SECONDS = 10
READ_SECONDS = 30
_BLOCK = 256 << 10
"""Bytes that are taken from a connection at once, as the SDK itself has it."""
_CONNECTIONS = 64
"""Connections that are kept: as many threads may ask at once, and a new one costs a handshake."""
RETRIES = 3
"""After about 2, 4 and 8 seconds; the SDK would wait minutes, longer than a function may run."""


def options() -> dict[str, Any]:
    """What every client of the SDK is made with."""
    # At INFO it logs each request, headers and all.
    for name in ("azure", "azure.identity"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    return {
        "retry_policy": ExponentialRetry(
            initial_backoff=0, increment_base=2, retry_total=RETRIES, random_jitter_range=1
        ),
        "connection_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
    }


def _transport(**kept: Any) -> RequestsTransport:
    transport = RequestsTransport(connection_data_block_size=_BLOCK, **kept)
    transport.open()
    # Only 10 would be kept, and each that is over closed with a warning when its thread is done.
    for adapter in transport.session.adapters.values():
        adapter.init_poolmanager(_CONNECTIONS, _CONNECTIONS)
    return transport


class ServerDate(threading.local):
    """The clock of the service, as it came with the last answer that this thread got."""

    _date: str | None = None

    def __call__(self, response: Any) -> None:
        """Hear an answer: the SDK's `raw_response_hook`."""
        self._date = response.http_response.headers.get("Date")

    def now(self) -> datetime:
        """The service's time, in whole seconds; this machine's when it did not say."""
        try:
            return parsedate_to_datetime(self._date or "").astimezone(UTC)
        except ValueError:
            return datetime.now(UTC)


class Clients:
    """Both endpoints of one account: the SDK's clients are safe to share between threads."""

    def __init__(
        self,
        account: AccountUrl,
        credential: TokenCredential | AzureNamedKeyCredential,
        **extra: Any,
    ) -> None:
        kept: dict[str, Any] = {**options(), **extra}
        # One for all, so that they share connections, which are closed together.
        if "transport" not in kept:
            kept["transport"] = _transport(**kept)
        self._transport = kept["transport"]
        self.date = ServerDate()
        self.files = DataLakeServiceClient(
            str(account), credential, raw_response_hook=self.date, **kept
        )
        self.blobs = BlobServiceClient(account.blob_url, credential, **kept)

    @classmethod
    def of(
        cls, account: AccountUrl, key: str | None, given: TokenCredential | None = None
    ) -> Clients:
        """Clients that ask with the account's key, or as `account_credential` finds it."""
        return cls(account, account_credential(account, key, given))

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()
