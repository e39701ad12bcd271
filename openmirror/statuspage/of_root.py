"""The page of a root at this moment: what every server of it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from openmirror.operate.finding import find_mirror, known_mirrors
from openmirror.operate.mirror_notes import mirror_notes, stray_mirrors
from openmirror.operate.overview import mirror_head, path_of, table_page, token_of
from openmirror.reconcile.root_ports import RootPorts
from openmirror.statuspage.page import REFRESH_SECONDS, HtmlPage, render
from openmirror.statuspage.view import MirrorView, Undelivered, mirror_view


def page_of_root(
    ports: RootPorts,
    where: str,
    asked: Mapping[str, str],
    *,
    chosen: Sequence[str] = (),
    undelivered: Undelivered | None = None,
    waiting: str | None = None,
) -> HtmlPage:
    """The page for people, as the parameters of its address ask for it.

    `mirror` shows one mirror, `after` its tables from there on, and `refresh=0` stands still; all
    others are kept in its links. `chosen` are the mirrors to show where none is asked for; every
    one if empty. `where` and `waiting` are as in `render`.

    Raises UnknownName for a mirror that is not there, Malformed for an `after` that makes no sense.
    """

    def linked(**changed: str) -> str:
        return "?" + urlencode({**asked, **changed})

    def view(name: str) -> MirrorView:
        token = asked.get("after")
        head = mirror_head(ports, name)
        page = table_page(ports, name, path_of(token) if token else None)
        more = linked(mirror=name, after=token_of(page.more)) if page.more else None
        notes = mirror_notes(ports.store, name, ports.clock())
        return mirror_view(
            name, head.state.value, head.heartbeat, head.trouble, page.tables, more, notes
        )

    still = asked.get("refresh") == "0"
    return render(
        [view(name) for name in _shown(ports, asked.get("mirror"), chosen)],
        ports.clock(),
        where=where,
        undelivered=undelivered,
        refresh=None if still else REFRESH_SECONDS,
        toggle=linked(refresh="1" if still else "0"),
        waiting=waiting,
    )


def _shown(ports: RootPorts, only: str | None, chosen: Sequence[str]) -> list[str]:
    if only:
        return [find_mirror(ports.store, only)]
    if chosen:
        return list(chosen)
    known = known_mirrors(ports.store)
    return [*known, *stray_mirrors(ports.store, tuple(known))]
