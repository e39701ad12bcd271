"""A folder's incarnation: the time of its creation, which only its parent's listing has.

The header of a folder has its creation time in whole seconds, too coarse for a folder that is
deleted and made again at once. The ETag in the same header differs for each incarnation, so it
shows whether a creation time that was listed before is still this folder's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

from openmirror.errors import ConditionFailed
from openmirror.protocol.names import ETag, Incarnation
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.heads import head
from openmirror.stores.azure.listing import Child, pages
from openmirror.stores.azure.paths import ContainerPath

_TRIES = 3


class _Known(NamedTuple):
    etag: ETag
    created: Incarnation


class Incarnations:
    """Creation times of folders; safe to share between threads."""

    def __init__(self, clients: Clients, remember: int = 10_000) -> None:
        self._clients = clients
        self._remember = remember
        self._known: OrderedDict[ContainerPath, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, where: ContainerPath) -> Incarnation | None:
        """The creation time of a folder in ticks of 100 ns; None when there is no such folder.

        Costs one request. Raises ConditionFailed when the folder does not hold still.
        """
        with self._lock:
            known = self._known.get(where)
        for _ in range(_TRIES):
            if known is None and (child := self._listed_first(where)):
                return self._learn(where, child)
            found = head(self._clients, where)
            if found is None or not found.is_folder:
                return None
            if known is not None and known.etag == found.etag:
                return known.created
            if known is None and (child := self._listed(where)):
                # It is there but was not listed first: a service that knows no `start`.
                return self._learn(where, child)
            known = None
        raise ConditionFailed(f"{where.path} was replaced again and again while it was identified")

    def _learn(self, where: ContainerPath, child: Child) -> Incarnation | None:
        if not child.entry.is_folder or child.created is None:
            return None
        with self._lock:
            self._known[where] = _Known(child.entry.etag, child.created)
            self._known.move_to_end(where)
            while len(self._known) > self._remember:
                self._known.popitem(last=False)
        return child.created

    def _listed_first(self, where: ContainerPath) -> Child | None:
        """The folder, when its parent's listing from its own name on begins with it."""
        parent, _, name = where.path.rpartition("/")
        # Without a parent, or with a file for one, there is no folder: its header says so.
        with suppress(ResourceNotFoundError, ResourceExistsError):
            for page in pages(
                self._clients, ContainerPath(where.container, parent), start=name, most=1
            ):
                for child in page.children:
                    return child if child.entry.name == name else None
        return None

    def _listed(self, where: ContainerPath) -> Child | None:
        parent, _, name = where.path.rpartition("/")
        for page in pages(self._clients, ContainerPath(where.container, parent)):
            for child in page.children:
                if child.entry.name == name:
                    return child
        return None
