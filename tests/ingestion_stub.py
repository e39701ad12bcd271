"""A local stand-in for Application Insights' ingestion: it keeps what the real exporter posts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import uuid4

from openmirror.ports.telemetry import table_operation
from standins.loopback import serving

QUIET = {
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED": "true",
    "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true",
}
"""An environment in which the exporter reports nothing about itself to its makers."""


@dataclass
class Ingestion:
    """What arrived, in order; `status` is how the next requests are answered."""

    url: str = ""
    key: str = field(default_factory=lambda: str(uuid4()))
    status: int = 200
    items: list[dict[str, Any]] = field(default_factory=list)
    requests: int = 0
    tokens: set[str] = field(default_factory=set)
    """With which items were sent; an empty one for none."""
    arrived: Callable[[dict[str, Any]], None] = lambda item: None

    @property
    def connection_string(self) -> str:
        return (
            f"InstrumentationKey={self.key};IngestionEndpoint={self.url}/;LiveEndpoint={self.url}/"
        )

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The data of all items of a type: EventData, MetricData, MessageData, …"""
        return [i["data"]["baseData"] for i in self.items if i["data"]["baseType"] == kind]

    @property
    def operations(self) -> list[dict[str, str]]:
        """The properties of every event of an operation."""
        return self.events(table_operation.EVENT)

    def events(self, name: str) -> list[dict[str, str]]:
        """The properties of every custom event of a name."""
        return [e["properties"] for e in self.of_type("EventData") if e["name"] == name]

    def metric(self, name: str) -> list[dict[str, Any]]:
        """Every point of one metric: its properties and its values in one record."""
        return [
            {**data["properties"], **data["metrics"][0]}
            for data in self.of_type("MetricData")
            if data["metrics"][0]["name"] == name
        ]


@contextmanager
def ingestion(certificate: tuple[Path, Path] | None = None) -> Iterator[Ingestion]:
    """Serve until left; https with a certificate and its key."""
    kept = Ingestion()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            # Live metrics post elsewhere; nobody reads them here.
            items = json.loads(body) if self.path.endswith("/track") else []
            kept.requests += 1
            if items:
                kept.tokens.add(self.headers.get("Authorization", ""))
            if kept.status == 200:
                for item in items:
                    kept.items.append(item)
                    kept.arrived(item)
            summary = {"itemsReceived": len(items), "itemsAccepted": len(items), "errors": []}
            answer = json.dumps(summary).encode()
            self.send_response(kept.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with serving(Handler, certificate) as kept.url:
        yield kept
