"""Publishing into a landing zone: changes that land once, whole and in order, whatever fails."""

from openmirror.publishing.backlog import BacklogLimit
from openmirror.publishing.buffer import BatchLimits
from openmirror.publishing.options import PublishedFile
from openmirror.publishing.patience import Patience
from openmirror.publishing.publisher import Publisher, PublisherOptions
from openmirror.publishing.table import TableWriter

__all__ = [
    "BacklogLimit",
    "BatchLimits",
    "Patience",
    "PublishedFile",
    "Publisher",
    "PublisherOptions",
    "TableWriter",
]
