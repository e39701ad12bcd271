"""What the services need from the outside world, as small promises that adapters keep."""

from openmirror.ports.files import (
    ABSENT,
    Absent,
    Content,
    Entry,
    FileStore,
    Inspector,
    Listing,
    MarkerReader,
)
from openmirror.ports.running import (
    Clock,
    Doorbell,
    DoorbellLine,
    Progress,
    Step,
    Steps,
    no_steps,
)
from openmirror.ports.tables import (
    BadFile,
    CommitResult,
    Counts,
    HistoryReader,
    LogReader,
    Prepared,
    TableEngine,
    Transaction,
)
from openmirror.ports.telemetry import Health, NoTelemetry, Standing, Telemetry
from openmirror.ports.work import (
    Lease,
    Leases,
    Ring,
    Taken,
    WorkQueue,
)

__all__ = [
    "ABSENT",
    "Absent",
    "BadFile",
    "Clock",
    "CommitResult",
    "Content",
    "Counts",
    "Doorbell",
    "DoorbellLine",
    "Entry",
    "FileStore",
    "Health",
    "HistoryReader",
    "Inspector",
    "Lease",
    "Leases",
    "Listing",
    "LogReader",
    "MarkerReader",
    "NoTelemetry",
    "Prepared",
    "Progress",
    "Ring",
    "Standing",
    "Step",
    "Steps",
    "TableEngine",
    "Taken",
    "Telemetry",
    "Transaction",
    "WorkQueue",
    "no_steps",
]
