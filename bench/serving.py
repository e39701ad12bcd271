"""`python -m bench serving`: small requests a second of the local endpoint, and a large file."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console

from bench.measuring import load, machine

CLIENTS = 8
_PIECE = 1 << 20
_APPENDED = 100 << 20
_SERVER = """
import sys, time
from pathlib import Path
from openmirror.emulator.server import Options, Server
options = Options(root=Path(sys.argv[1]), host="127.0.0.1", port=0, account="devstoreaccount1",
                  key=None, most_bytes=4000 << 20)
with Server(options) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""
"""A process of its own: clients and server must not share an interpreter's lock."""
_CLIENT = """
import http.client, sys, time
port, number, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
connection = http.client.HTTPConnection("127.0.0.1", port)
headers = {"authorization": "SharedKey devstoreaccount1:none"}
base = f"/devstoreaccount1/landing/m/Files/LandingZone/T{number}"
def ask(method, path, body=b"", **more):
    connection.request(method, path, body, headers | {"content-length": str(len(body))} | more)
    response = connection.getresponse()
    response.read()
    assert response.status < 300, (method, path, response.status)
ask("PUT", f"{base}?resource=directory")
done, file, until = 0, 0, time.monotonic() + seconds
while time.monotonic() < until:
    file += 1
    staged = f"{base}/_{file}.parquet"
    ask("PUT", f"{staged}?resource=file")
    ask("PATCH", f"{staged}?action=append&position=0", b"x" * 1024)
    ask("PATCH", f"{staged}?action=flush&position=1024")
    source = staged.removeprefix("/devstoreaccount1")
    ask("PUT", f"{base}/{file:020}.parquet", **{"x-ms-rename-source": source})
    ask("HEAD", f"{base}/{file:020}.parquet")
    done += 5
print(done)
"""


def serving(
    seconds: Annotated[float, typer.Option(min=1, help="How long small requests are sent.")] = 8,
    gigabytes: Annotated[float, typer.Option(min=0.01, help="Size of the large file.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="How often all is measured; medians count.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Measure the endpoint of `serve`: 8 raw clients that publish small files, and one large one.

    A small request is one of those that publishing a file takes: create, append, flush, rename,
    properties. The large file is appended in pieces of 100 MiB, as Azure's SDK for Python cuts
    them, over one connection, flushed and renamed, beside a plain copy: the same bytes over
    loopback into a file, without HTTP. Both are given in turns, with the processor seconds that all
    who took part used: on a machine that does other things those mean more than the clock.
    """
    rates, ratios, landed, copied, loads = [], [], [], [], [load()]
    used: list[float] = []
    size = int(gigabytes * 10**9)
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
            with _server(Path(folder)) as (process, port):
                rates.append(_small(port, seconds))
                begun = _processor_seconds(process)
                copied.append(_plain_copy(Path(folder) / "copy", size))
                between = _processor_seconds(process)
                landed.append(_land(port, size))
                used.append((_processor_seconds(process) - between) / (between - begun))
            ratios.append(landed[-1] / copied[-1])
        loads.append(load())
    result = {
        "machine": machine(),
        "load": [round(value, 1) for value in loads],
        "requests_per_second": round(median(rates)),
        "landing_seconds": round(median(landed), 2),
        "plain_copy_seconds": round(median(copied), 2),
        "ratio": round(median(ratios), 2),
        "processor_ratio": round(median(used), 2),
        "bytes": size,
        "runs": runs,
    }
    if as_json:
        print(json.dumps(result, indent=2))
        return
    console = Console(highlight=False)
    console.print(f"small requests, {CLIENTS} clients: {result['requests_per_second']:,} a second")
    console.print(
        f"{size:,} bytes landed in {result['landing_seconds']} s, plainly copied in "
        f"{result['plain_copy_seconds']} s: {result['ratio']} x by the clock, "
        f"{result['processor_ratio']} x in processor seconds"
    )
    console.print(f"load average, before and after each run: {result['load']}")


@contextmanager
def _server(root: Path) -> Iterator[tuple[int, int]]:
    """Its process id and its port."""
    words = [sys.executable, "-c", _SERVER, str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        assert one.stdin is not None
        yield one.pid, int(one.stdout.readline())
        one.stdin.close()


def _processor_seconds(process: int) -> float:
    """What this process and another one have used so far; Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    user, system = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:13])
    return time.process_time() + user + system


def _small(port: int, seconds: float) -> float:
    words = [sys.executable, "-c", _CLIENT, str(port)]
    clients = [
        subprocess.Popen([*words, str(number), str(seconds)], stdout=subprocess.PIPE, text=True)
        for number in range(CLIENTS)
    ]
    counts = [int(client.communicate()[0]) for client in clients]
    return sum(counts) / seconds


def _land(port: int, size: int) -> float:
    """Seconds for a file of this size, from the first byte to its own name."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    given = {"authorization": "SharedKey devstoreaccount1:none"}
    base = "/devstoreaccount1/landing/m/Files/LandingZone/large"

    def ask(method: str, path: str, body: bytes = b"", **more: str) -> None:
        headers = {**given, "content-length": str(len(body)), **more}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        assert response.status < 300, (method, path, response.status)

    piece, at = bytes(_APPENDED), 0
    started = time.monotonic()
    ask("PUT", f"{base}/_1.parquet?resource=file")
    while at < size:
        body = piece[: size - at]
        ask("PATCH", f"{base}/_1.parquet?action=append&position={at}", body)
        at += len(body)
    ask("PATCH", f"{base}/_1.parquet?action=flush&position={size}&close=true")
    source = "/landing/m/Files/LandingZone/large/_1.parquet"
    ask("PUT", f"{base}/{1:020}.parquet", **{"x-ms-rename-source": source})
    return time.monotonic() - started


def _plain_copy(file: Path, size: int) -> float:
    """Seconds for as many bytes from one socket of loopback into a file, and until it is named."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sender = threading.Thread(target=_send, args=(listening.getsockname(), size))
        started = time.monotonic()
        sender.start()
        connection, _ = listening.accept()
        buffer = memoryview(bytearray(_PIECE))
        with connection, file.open("wb", buffering=0) as opened:
            while got := connection.recv_into(buffer):
                opened.write(buffer[:got])
        sender.join()
        file.rename(file.with_suffix(".done"))
        took = time.monotonic() - started
    file.with_suffix(".done").unlink()
    return took


def _send(address: tuple[str, int], size: int) -> None:
    piece, left = bytes(_PIECE), size
    with socket.create_connection(address) as connection:
        while left:
            sent = connection.send(piece[:left])
            left -= sent
