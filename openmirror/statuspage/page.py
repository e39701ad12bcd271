"""The page's text, and the headers under which a browser may show it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import openmirror
from openmirror.durations import short
from openmirror.statuspage.view import MirrorView, Undelivered, worst

REFRESH_SECONDS = 15


@dataclass(frozen=True)
class HtmlPage:
    """What to send."""

    html: str
    headers: dict[str, str]


def render(
    mirrors: Sequence[MirrorView],
    now: datetime,
    *,
    where: str,
    undelivered: Undelivered | None = None,
    refresh: int | None = REFRESH_SECONDS,
    toggle: str | None = None,
    waiting: str | None = None,
) -> HtmlPage:
    """The page at this moment.

    `where` names the root, `toggle` is the address of the page with its refreshing turned round,
    and `waiting` says what nothing goes on without just now.
    Every name and text in it may be a publisher's and is shown as text, whatever it holds.
    """
    environment = _environment()
    undelivered = undelivered or Undelivered()
    style = environment.get_template("page.css").render()
    html = environment.get_template("page.html").render(
        version=openmirror.__version__,
        mirrors=mirrors,
        now=now,
        where=where,
        undelivered=undelivered,
        refresh=refresh,
        toggle=toggle,
        waiting=waiting,
        worst=worst(mirrors, undelivered).value,
        style=Markup(style),  # our own file
        length=lambda moment: short(round(abs((now - moment).total_seconds()))),
        clock=_clock,
    )
    return HtmlPage(html, _headers(style))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("openmirror.statuspage", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _headers(style: str) -> dict[str, str]:
    sha256 = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Content-Type": "text/html; charset=utf-8",
        # Nothing but this one style: even what escaped escaping could not run or send anything.
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{sha256}'; img-src data:; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        # Its address may hold a key.
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def _clock(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
