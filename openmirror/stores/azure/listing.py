"""The children of a folder, complete, whatever number of pages that takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from openmirror.ports import Entry
from openmirror.protocol.names import Incarnation
from openmirror.stores.azure.clients import Clients
from openmirror.stores.azure.heads import bare
from openmirror.stores.azure.paths import ContainerPath

_BEGIN = datetime(1601, 1, 1, tzinfo=UTC)
"""The zero of the service's creation times."""


class Child(NamedTuple):
    """One child of a folder, and when it was created."""

    entry: Entry
    created: Incarnation | None


class ChildrenPage(NamedTuple):
    """Some children, and the service's clock."""

    at: datetime
    children: list[Child]
    is_of_file: bool
    """The service answers a listing of a file with that file."""


def pages(
    clients: Clients, where: ContainerPath, *, start: str | None = None, most: int | None = None
) -> Iterator[ChildrenPage]:
    """Pages of direct children, from the name `start` on, at most `most` in each.

    Raises the SDK's errors.
    """
    container = clients.files.get_file_system_client(where.container)
    extra: dict[str, Any] = {} if start is None else {"start_from": start}
    listed = container.get_paths(where.path or None, recursive=False, max_results=most, **extra)
    inside = f"{where.path}/" if where.path else ""
    for items in listed.by_page():
        found = list(items)
        at = clients.date.now()
        children = [
            _child(item, item.name.removeprefix(inside))
            for item in found
            if item.name.startswith(inside)
        ]
        yield ChildrenPage(at, children, len(children) < len(found))


def _child(item: Any, name: str) -> Child:
    entry = Entry(
        name=name,
        is_folder=item.is_directory,
        size=0 if item.is_directory else item.content_length,
        modified=item.last_modified.replace(tzinfo=UTC),
        etag=bare(item.etag),
    )
    return Child(entry, _ticks(item.creation_time))


def _ticks(created: datetime | None) -> Incarnation | None:
    if created is None:
        return None
    # The service counts 100 ns, of which the SDK keeps microseconds: much less than a request.
    return Incarnation(str((created - _BEGIN) // timedelta(microseconds=1) * 10))
