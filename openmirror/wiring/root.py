"""A root seen through its ports, whether it is a folder or a storage account."""

from __future__ import annotations

from openmirror.account import AccountUrl
from openmirror.ports import Steps, no_steps
from openmirror.progress import EventSink, discard
from openmirror.services.parts import Parts
from openmirror.settings import Settings
from openmirror.wiring.azure import azure_parts
from openmirror.wiring.local import local_parts


def root_parts(settings: Settings, steps: Steps = no_steps, emit: EventSink = discard) -> Parts:
    """All that does not need Spark; raises CannotStart when the root cannot be used."""
    if isinstance(settings.root_given(), AccountUrl):
        return azure_parts(settings, steps, emit)
    return local_parts(settings, steps, emit)
