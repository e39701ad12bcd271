"""From a store's paths to containers and what lies in them."""

from __future__ import annotations

import re
from typing import NamedTuple

from openmirror.errors import WrongRequest

_LIKE_A_SIGNATURE = re.compile(r"\?[^?]*sv=\d{4}-\d{2}-\d{2}")


class ContainerPath(NamedTuple):
    """A path in its container; empty for the container itself."""

    container: str
    path: str


def container_path(path: str) -> ContainerPath:
    """Where a path of the store lies; raises WrongRequest unless that is below the root."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise WrongRequest(f"{path!r} is not a path below the root")
    container, _, rest = path.partition("/")
    return ContainerPath(container, rest)


def new_container_path(path: str) -> ContainerPath:
    """Where something may be moved to; raises WrongRequest where the SDK would cut the name."""
    if _LIKE_A_SIGNATURE.search(path) and "sig=" in path:
        raise WrongRequest(f"{path!r} looks like a signed URL: nothing is moved there")
    return container_path(path)
