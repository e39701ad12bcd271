"""What one table, or one mirror, makes of a place that is refused."""

from __future__ import annotations

from openmirror.errors import AccessDenied
from openmirror.protocol.rules import Broken, Code


def refused_place(error: AccessDenied) -> Broken:
    """A refusal of one place as a rule that is broken there; raises it when it is of everything.

    It is found anew by each observation, so it ends with its cause: no ETag changes by that.
    """
    if error.place is None:
        raise error
    return Broken(Code.ACCESS_DENIED, str(error))
