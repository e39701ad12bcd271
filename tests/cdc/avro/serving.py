"""A schema registry's interface, over HTTP in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

NOT_FOUND = (404, {"error_code": 40403, "message": "Schema not found"})


@dataclass
class ServedRegistry:
    """Answers by path; each request's path and user are kept."""

    answers: Mapping[str, tuple[int, Any]] = field(default_factory=dict)
    location: str = ""
    """Where it sends who asks with a status that redirects."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    @classmethod
    def of(cls, schemas: Mapping[str, str]) -> ServedRegistry:
        return cls({f"/schemas/ids/{id_}": (200, {"schema": s}) for id_, s in schemas.items()})


@contextmanager
def served(registry: ServedRegistry) -> Iterator[ServedRegistry]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append((self.path, self.headers.get("Authorization")))
            status, answer = registry.answers.get(self.path, NOT_FOUND)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if registry.location:
                self.send_header("Location", registry.location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        registry.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
