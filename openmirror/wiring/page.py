"""The status page of a local root, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from openmirror.wiring.packages import optional_packages


@contextmanager
def page_served(
    settings: Settings,
    ports: RootPorts,
    chosen: Sequence[str],
    waiting: Callable[[], str | None],
) -> Iterator[str]:
    """The page of these mirrors, or of all if none is chosen, until the block ends; its address.

    `waiting` names what nothing goes on without just now. Raises CannotStart when the port is
    taken, or a package is missing.
    """
    with optional_packages("the status page needs", jinja2="openmirror[cli]"):
        from openmirror.statuspage import page_of_root
        from openmirror.statuspage.serving import served
    with served(
        lambda asked: page_of_root(
            ports, str(settings.root), asked, chosen=chosen, waiting=waiting()
        ),
        settings.page_port,
    ) as address:
        yield address
