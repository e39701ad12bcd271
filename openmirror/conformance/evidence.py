"""Everything that a publisher is assessed by, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.conformance.history import PublisherHistory
from openmirror.operate.validate import FolderFinding
from openmirror.plan.facts import LandedFile
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import TablePath
from openmirror.protocol.partner import Partner
from openmirror.protocol.rules import Broken


@dataclass(frozen=True, kw_only=True)
class TableContents:
    """One table folder as it lies there."""

    path: TablePath
    metadata: TableMetadata | Broken | None
    metadata_written: datetime | None
    """When `_metadata.json` was last written; None without one."""
    findings: tuple[FolderFinding, ...]
    files: tuple[LandedFile, ...]
    """Change files by name, with their facts."""
    archived: tuple[LandedFile, ...] = ()
    staged: tuple[str, ...] = ()
    """Data under names that begin with `_`, from the table folder on."""
    has_partner_events: bool = False
    """Whether a `_partnerEvents.json` lies in it, where nobody reads it."""

    @property
    def is_text(self) -> bool:
        """Whether its change files are delimited text, as far as anybody declared it."""
        declared = self.metadata
        if isinstance(declared, TableMetadata) and declared.declares_format:
            return declared.text is not None
        return any(not file.name.lower().endswith(".parquet") for file in self.files)


@dataclass(frozen=True, kw_only=True)
class ZoneContents:
    """One landing zone as it lies there."""

    name: str
    """The mirror, or the folder that was given."""
    tables: tuple[TableContents, ...]
    misplaced: tuple[tuple[str, str], ...] = ()
    """What lies where it feeds no table: the place from the zone on, and the reason."""
    refused_names: tuple[tuple[str, str], ...] = ()
    """Table folders that no table can be called after, and why."""
    has_partner_events: bool = False
    partner: Partner | None = None
    """None where `_partnerEvents.json` is missing or cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was seen of a publisher."""

    zones: tuple[ZoneContents, ...] = ()
    history: PublisherHistory | None = None
    """None where nothing stood between the publisher and its account."""
    ended: int | None = None
    """The exit code of the publisher's command; None where none was run."""
    default_schema: str = "dbo"

    @property
    def tables(self) -> tuple[tuple[ZoneContents, TableContents], ...]:
        """Every table of every zone."""
        return tuple((zone, table) for zone in self.zones for table in zone.tables)

    def place(self, zone: ZoneContents, table: TableContents, name: str | None = None) -> str:
        """How a file or a table folder is called in a report."""
        above = f"{zone.name}/" if len(self.zones) > 1 else ""
        return f"{above}{table.path}" + (f"/{name}" if name else "")
