"""A local stand-in for what gives a Function App the tokens of its managed identities."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from standins.loopback import serving

SECRET = "only-for-this-app"


@dataclass
class Identities:
    """What was asked for; a token names resource and client, so that others can check them."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Resource and client id of each request."""

    @property
    def env(self) -> dict[str, str]:
        """What the platform puts into an app's environment."""
        return {"IDENTITY_ENDPOINT": f"{self.url}/msi/token", "IDENTITY_HEADER": SECRET}

    @staticmethod
    def token(resource: str, client: str) -> str:
        """The token that is given out."""
        return f"{client} for {resource}"


@contextmanager
def identities() -> Iterator[Identities]:
    """Serve until left."""
    kept = Identities()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = {name: v[0] for name, v in parse_qs(urlsplit(self.path).query).items()}
            resource, client = given["resource"], given.get("client_id", "")
            kept.asked.append((resource, client))
            is_ours = self.headers.get("X-IDENTITY-HEADER") == SECRET
            claims = {
                "access_token": kept.token(resource, client),
                "expires_on": str(int(time.time()) + 3600),
                "resource": resource,
                "token_type": "Bearer",
            }
            body = json.dumps(claims if is_ours else {"error": "no such app"}).encode()
            self.send_response(200 if is_ours else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with serving(Handler) as kept.url:
        yield kept
