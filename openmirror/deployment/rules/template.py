"""What the Bicep files call those of their resources whose names must be free in all of Azure."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.deployment.rules.naming import unique_string

_FUNCTION_APP = "func-{name}-{token}"
_LAKE_ACCOUNT = "st{name}lake{short}"
_RUNTIME_ACCOUNT = "st{name}run{short}"


@dataclass(frozen=True)
class ResourceNames:
    """What a deployment would make, before it has; afterwards its outputs say what it made."""

    lake_account: str
    runtime_account: str
    function_app: str

    @classmethod
    def of(cls, name: str, group: str) -> ResourceNames:
        """The names in the group of this id, as infra/bicep makes them."""
        token = unique_string(group, name)[:6]
        made = (
            one.format(name=name, token=token, short=token[:4])
            for one in (_LAKE_ACCOUNT, _RUNTIME_ACCOUNT, _FUNCTION_APP)
        )
        return cls(*made)
