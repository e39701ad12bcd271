"""The status of a table, made from one observed state and its plan: what `status` shows.

Pure. The words of `status` are Fabric's, so that publishers and dashboards made for it keep
working; what Fabric has no word for (waits, holds, warnings) is given beside them.
"""

from openmirror.status.json_shape import to_json, to_monitoring
from openmirror.status.mirror_notes import (
    MirrorNotes,
    StreamNote,
    publisher_text,
    stream_warnings,
)
from openmirror.status.names import shown_names
from openmirror.status.plain_text import plain_text
from openmirror.status.remedies import wait_remedy
from openmirror.status.stages import (
    Initialized,
    Lifecycle,
    OnHold,
    Paused,
    Replicating,
    Reseeding,
    Snapshotting,
    Unreadable,
    Waits,
    WasDropped,
    fabric_status,
    leaves_undone,
    lifecycle,
    position_of,
)
from openmirror.status.table_status import (
    TableStatus,
    WaitingFor,
    is_listed,
    listed_status,
    needs_attention,
    table_status,
    unreadable,
)
from openmirror.status.warnings import never_read
from openmirror.status.words import (
    FabricStatus,
    StageWord,
    Trouble,
    Warn,
    Word,
    at_second,
    held_since,
    iso,
    message_of,
)

__all__ = [
    "FabricStatus",
    "Initialized",
    "Lifecycle",
    "MirrorNotes",
    "OnHold",
    "Paused",
    "Replicating",
    "Reseeding",
    "Snapshotting",
    "StageWord",
    "StreamNote",
    "TableStatus",
    "Trouble",
    "Unreadable",
    "WaitingFor",
    "Waits",
    "Warn",
    "WasDropped",
    "Word",
    "at_second",
    "fabric_status",
    "held_since",
    "is_listed",
    "iso",
    "leaves_undone",
    "lifecycle",
    "listed_status",
    "message_of",
    "needs_attention",
    "never_read",
    "plain_text",
    "position_of",
    "publisher_text",
    "shown_names",
    "stream_warnings",
    "table_status",
    "to_json",
    "to_monitoring",
    "unreadable",
    "wait_remedy",
]
