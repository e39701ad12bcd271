"""Debian's Chromium, driven by Playwright, over pages that a local server hands out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from playwright.sync_api import Browser, sync_playwright

from openmirror.statuspage import HtmlPage
from standins.azurite import NODE
from standins.loopback import serving

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own, closed at the end."""
    found = next((path for path in map(shutil.which, _NAMES) if path), None)
    if found is None:
        raise RuntimeError("Chromium is missing: sudo apt-get install chromium (./dev test does)")
    with pytest.MonkeyPatch.context() as patch:
        # Playwright's own Node.js wants libatomic, which a small Debian lacks; this one does not.
        patch.setenv("PLAYWRIGHT_NODEJS_PATH", str(NODE))
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=found, args=_FLAGS)
            try:
                yield started
            finally:
                started.close()


@contextmanager
def served(page: HtmlPage) -> Iterator[str]:
    """The address of a page with its own headers, so that its security policy holds as well."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.html.encode()
            self.send_response(200)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        yield f"{url}/"
