"""A root seen through its ports, whether it is a folder or a storage account."""

from __future__ import annotations

from openmirror.ports import Steps, no_steps
from openmirror.ports.storage_account import AccountUrl
from openmirror.progress.union import EventSink, discard
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from openmirror.wiring.azure import azure_ports
from openmirror.wiring.local import local_ports


def root_ports(settings: Settings, steps: Steps = no_steps, emit: EventSink = discard) -> RootPorts:
    """All that does not need Spark; raises CannotStart when the root cannot be used."""
    if isinstance(settings.root_given(), AccountUrl):
        return azure_ports(settings, steps, emit)
    return local_ports(settings, steps, emit)
