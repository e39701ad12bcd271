"""A root seen through its ports, whether it is a folder or a storage account."""

from __future__ import annotations

from openmirror.account import AccountUrl
from openmirror.ports import Steps, no_steps
from openmirror.services.parts import Parts, Watch, nobody_watches
from openmirror.settings import Settings
from openmirror.wiring.azure import azure_parts
from openmirror.wiring.local import local_parts


def root_parts(settings: Settings, steps: Steps = no_steps, watch: Watch = nobody_watches) -> Parts:
    """All that does not need Spark; raises CannotStart when the root cannot be used."""
    if isinstance(settings.root_given(), AccountUrl):
        return azure_parts(settings, steps, watch)
    return local_parts(settings, steps, watch)
