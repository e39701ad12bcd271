"""Publishing a package that has its requirements in it: Azure must not build anything then.

`az functionapp deployment source config-zip` always has Azure build an app in Python, whatever
`--build-remote` says, and a build without a package index fails.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from openmirror.errors import Unavailable, WrongRequest

VENDORED = ".python_packages/"
"""Where the requirements lie in a package that has them."""
REQUIREMENTS = "requirements.txt"
EVERY = timedelta(seconds=5)
LONGEST = timedelta(minutes=15)
"""How long a deployment is waited for."""


@dataclass(frozen=True)
class Publication:
    """How the app's last deployment stands, as its deployment endpoint says."""

    is_over: bool
    failed: bool
    text: str
    accepted: bool = False
    """Whether the endpoint answers that it still works on it: it may be gone once that is done."""


class Publishing(Protocol):
    """One Function App's deployment endpoint."""

    def send(self, package: bytes) -> None:
        """Begin a deployment without a build; raises WrongRequest while another one runs."""
        ...

    def last(self) -> Publication | None:
        """How the newest deployment stands; None while the endpoint does not know of one."""
        ...


def check_package(content: bytes) -> None:
    """Refuse what would not run without a build; raises WrongRequest with what to do instead."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            names = packed.namelist()
    except zipfile.BadZipFile as error:
        raise WrongRequest(
            f"it is no package: {error}. Build one: ./dev package --vendor"
        ) from None
    if "host.json" not in names:
        raise WrongRequest(
            "it has no host.json: it is not the app. Build it: ./dev package --vendor"
        )
    if REQUIREMENTS in names or not any(name.startswith(VENDORED) for name in names):
        raise WrongRequest(
            "its requirements are not in it, so it takes a build: make one with ./dev package "
            "--vendor, or deploy this one with az functionapp deployment source config-zip "
            "--build-remote true"
        )


def publish(
    publishing: Publishing, package: bytes, sleep: Callable[[timedelta], None]
) -> Iterator[str]:
    """Send a package and wait until it is there; says what happens.

    Raises WrongRequest when it is refused or fails, Unavailable when its end cannot be seen.
    """
    check_package(package)
    yield f"sending {len(package):,} bytes"
    publishing.send(package)
    waited, shown = timedelta(), ""
    before: Publication | None = None
    while True:
        found = publishing.last()
        if found is None and before is not None:
            if before.accepted:
                return  # as az takes it: what was accepted and is not known any more is done
            raise Unavailable("the app no longer says how its deployment stands: verify it")
        text = found.text if found is not None else "not begun"
        if text != shown:
            shown = text
            yield text
        if found is not None and found.failed:
            raise WrongRequest(f"the app did not take the package: {text}")
        if found is not None and found.is_over:
            return
        if waited >= LONGEST:
            raise Unavailable(f"after {LONGEST} the app still says: {text}")
        before = found
        sleep(EVERY)
        waited += EVERY
