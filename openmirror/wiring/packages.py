"""Optional packages: which of them are missing, and what to ask pip for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openmirror.errors import CannotStart


@contextmanager
def optional_packages(needs: str, /, **extras: str) -> Iterator[None]:
    """Say what to install when a package is missing that is imported inside.

    `needs` are the message's first words; `extras` say for each top-level package what pip is
    asked for. Raises CannotStart. A package that is not named here was never optional: its
    ModuleNotFoundError passes.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in extras:
            raise
        raise CannotStart(
            f"{needs} packages that are not installed, such as {missing}: "
            f"pip install '{extras[missing]}'"
        ) from error
