"""Which reader reads which table: by the features that the table's protocol asks of readers.

Held once, here. What is tested, this project's own tests see with these versions; the rest was
tried once by hand, or stands in a reader's documentation, and where that is silent nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from openmirror.plan.features import has_change_feed
from openmirror.table.log import TableProtocol


class Feature(StrEnum):
    """What a table's protocol may ask of its readers, by Delta's own names."""

    MAPPING_OF_VERSION_2 = "columnMapping (reader version 2)"
    """The same feature, where the protocol says it by its version and not by its name: some
    readers know only one of the two."""
    COLUMN_MAPPING = "columnMapping"
    DELETION_VECTORS = "deletionVectors"
    TYPE_WIDENING = "typeWidening"
    TIMESTAMP_NTZ = "timestampNtz"
    V2_CHECKPOINT = "v2Checkpoint"
    VACUUM_PROTOCOL_CHECK = "vacuumProtocolCheck"


_PREVIEWS = {"typeWidening-preview": Feature.TYPE_WIDENING}
"""Names that features had before they were final."""

CHANGE_DATA_FEED = "changeDataFeed"
"""Asks nothing of who reads the table; but not everybody can read the feed."""


class Reads(StrEnum):
    """Whether a reader reads a table."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class HowKnown(StrEnum):
    """How something is known of a reader."""

    TESTED = "tested"
    TRIED = "tried by hand"
    DOCUMENTED = "documented"


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What one reader is known to read."""

    name: str
    version: str
    """The version of which all of this is known."""
    known: HowKnown = HowKnown.TESTED
    source: str = ""
    """Its documentation, where that says it."""
    reads: frozenset[Feature] = frozenset()
    refuses: frozenset[Feature] = frozenset()
    feed: Reads = Reads.UNKNOWN
    """Whether it reads a change data feed."""

    def of(self, feature: str) -> Reads:
        """Whether it reads tables with a feature."""
        known = _PREVIEWS.get(feature, feature)
        if known in self.reads:
            return Reads.YES
        return Reads.NO if known in self.refuses else Reads.UNKNOWN


@dataclass(frozen=True, kw_only=True)
class ReaderVerdict:
    """Whether a reader reads one table, and which of its features decide that."""

    reader: Reader
    reads: Reads
    because: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReadersOf:
    """Who reads one table."""

    protocol: TableProtocol
    verdicts: tuple[ReaderVerdict, ...]
    has_feed: bool
    unknown: tuple[str, ...] = field(default=())
    """Features that ask something of readers and that are not known here."""


def readers_of(protocol: TableProtocol, properties: Mapping[str, str]) -> ReadersOf:
    """Who reads a table of this protocol. Features of writers alone shut out no reader."""
    needed = sorted(_needed(protocol))
    known = {*Feature, *_PREVIEWS}
    return ReadersOf(
        protocol=protocol,
        verdicts=tuple(_verdict(reader, needed) for reader in READERS),
        has_feed=has_change_feed(properties),
        unknown=tuple(feature for feature in needed if feature not in known),
    )


def _needed(protocol: TableProtocol) -> frozenset[str]:
    if protocol.reader_version != 2:  # the one version that stands for a feature
        return protocol.reader_features
    return protocol.reader_features - {Feature.COLUMN_MAPPING} | {Feature.MAPPING_OF_VERSION_2}


def _verdict(reader: Reader, needed: list[str]) -> ReaderVerdict:
    for reads in (Reads.NO, Reads.UNKNOWN):
        if because := tuple(feature for feature in needed if reader.of(feature) is reads):
            return ReaderVerdict(reader=reader, reads=reads, because=because)
    return ReaderVerdict(reader=reader, reads=Reads.YES)


_ALL = frozenset(Feature)
_MAPPING = frozenset({Feature.MAPPING_OF_VERSION_2, Feature.COLUMN_MAPPING})

_OF_DELTA_RS = _MAPPING | {Feature.DELETION_VECTORS, Feature.TIMESTAMP_NTZ, Feature.V2_CHECKPOINT}
_OF_POLARS = frozenset({Feature.DELETION_VECTORS, Feature.TIMESTAMP_NTZ})
_OF_DATABRICKS = _ALL - {Feature.VACUUM_PROTOCOL_CHECK}
_OF_FABRIC = "https://learn.microsoft.com/fabric/fundamentals/delta-lake-interoperability"

READERS: tuple[Reader, ...] = (
    Reader(name="Spark with Delta Lake", version="4.4.0", reads=_ALL, feed=Reads.YES),
    Reader(
        name="delta-rs (QueryBuilder, load_cdf)",
        version="1.6.6",
        reads=_OF_DELTA_RS,
        refuses=_ALL - _OF_DELTA_RS,
        feed=Reads.YES,
    ),
    Reader(
        # Of a table whose columns are mapped by version 2 it reads NULLs, without an error.
        name="delta-rs (to_pyarrow_table, to_pandas)",
        version="1.6.6",
        reads=frozenset({Feature.TIMESTAMP_NTZ}),
        refuses=_ALL - {Feature.TIMESTAMP_NTZ},
        feed=Reads.NO,
    ),
    Reader(
        name="polars",
        version="2.1.0",
        reads=_OF_POLARS,
        refuses=_ALL - _OF_POLARS,
        feed=Reads.NO,
    ),
    Reader(
        # Its kernel takes reader version 2 beside writer version 7 for a mistake.
        name="DuckDB",
        version="1.4.4",
        known=HowKnown.TRIED,
        reads=_ALL - {Feature.MAPPING_OF_VERSION_2},
        refuses=frozenset({Feature.MAPPING_OF_VERSION_2}),
        feed=Reads.NO,
    ),
    Reader(
        name="Databricks",
        version="Runtime 15.4 LTS",
        known=HowKnown.DOCUMENTED,
        source="https://docs.databricks.com/delta/feature-compatibility.html",
        reads=_OF_DATABRICKS,
        feed=Reads.YES,
    ),
    Reader(
        name="Fabric Spark",
        version="Runtime 1.3",
        known=HowKnown.DOCUMENTED,
        source=_OF_FABRIC,
        reads=_MAPPING | {Feature.DELETION_VECTORS, Feature.TIMESTAMP_NTZ},
    ),
    Reader(
        # It leaves such a column out, and shows the others.
        name="Fabric SQL analytics endpoint",
        version="2026",
        known=HowKnown.DOCUMENTED,
        source=_OF_FABRIC,
        reads=_MAPPING | {Feature.DELETION_VECTORS},
        refuses=frozenset({Feature.TIMESTAMP_NTZ}),
    ),
    Reader(
        # It reads tables as Delta Lake 1.0 wrote them.
        name="Synapse serverless SQL",
        version="2026",
        known=HowKnown.DOCUMENTED,
        source="https://learn.microsoft.com/azure/synapse-analytics/sql/query-delta-lake-format",
        refuses=_ALL,
    ),
    Reader(
        name="Trino",
        version="2026",
        known=HowKnown.DOCUMENTED,
        source="https://trino.io/docs/current/connector/delta-lake.html",
        reads=_ALL,
        feed=Reads.YES,
    ),
    Reader(
        name="Snowflake (Delta Direct)",
        version="March 2026",
        known=HowKnown.DOCUMENTED,
        source="https://docs.snowflake.com/en/release-notes/2026/other/"
        "2026-03-02-iceberg-delta-deletion-vectors.html",
        reads=_MAPPING | {Feature.DELETION_VECTORS},
    ),
)
