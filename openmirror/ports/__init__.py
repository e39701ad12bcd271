"""What the services need from the outside world, as small promises that adapters keep."""

from openmirror.ports.files import (
    ABSENT,
    Absent,
    Content,
    Converted,
    Converter,
    Entry,
    FileStore,
    Inspector,
    Listing,
    Part,
    RowReader,
)
from openmirror.ports.runtime import Clock, Step, Steps, Waker, WakerQueue, no_steps
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
from openmirror.ports.telemetry.port import NoTelemetry, Telemetry
from openmirror.ports.work import (
    Lease,
    Leases,
    Taken,
    WorkItem,
    WorkQueue,
)

__all__ = [
    "ABSENT",
    "Absent",
    "BadFile",
    "Clock",
    "CommitResult",
    "Content",
    "Converted",
    "Converter",
    "Counts",
    "Entry",
    "FileStore",
    "HistoryReader",
    "Inspector",
    "Lease",
    "Leases",
    "Listing",
    "LogReader",
    "NoTelemetry",
    "Part",
    "Prepared",
    "RowReader",
    "Step",
    "Steps",
    "TableEngine",
    "Taken",
    "Telemetry",
    "Transaction",
    "Waker",
    "WakerQueue",
    "WorkItem",
    "WorkQueue",
    "no_steps",
]
