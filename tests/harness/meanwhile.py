"""What happens once, at a moment amid something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def once_before(
    patch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]
) -> None:
    """Have this done the next time that a function of a module or a class is called, before it."""
    inner = getattr(owner, name)

    def later(*given: Any) -> Any:
        patch.setattr(owner, name, inner)
        act()
        return inner(*given)

    patch.setattr(owner, name, later)
