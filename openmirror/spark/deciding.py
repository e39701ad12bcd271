"""The settings that decide what a table contains: its rows, its types, and what its log says.

They hold in every session that touches data, whoever started Spark and however it was configured.
How fast that is (memory, partitions, adaptive execution, compression) is the owner's affair.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

DECIDING = {
    # Zone-less timestamps are UTC by our own rule; and Delta checks its whole state at every
    # commit of a session in another zone.
    "spark.sql.session.timeZone": "UTC",
    # Schemas are handed over as SQL: `timestamp` would else be a type without a zone.
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # Or what does not fit a type becomes NULL, or another number, without an error.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    # Names that differ in case only are one column by the protocol.
    "spark.sql.caseSensitive": "false",
    # Or Spark reads a name like `${x}` as a variable, and writes to another place.
    "spark.sql.variable.substitute": "false",
    # Or a quoted name is a pattern, and finds other columns.
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # Or the backslashes that quote text of ours in SQL become part of it.
    "spark.sql.parser.escapedStringLiterals": "false",
    # Two files under one path are a mistake of ours; the last one would win in silence.
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    # Or a file that is damaged, or goes while it is read, counts as one without rows.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Only this finds a damaged page that is not compressed, where the writer left checksums.
    "parquet.page.verify-checksum.enabled": "true",
    # A time is the one that its file says: moved between calendars, days before 1582 change, and
    # moved between zones, all times of some writers do.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    # A column is what its file says: text, bytes, a time with a zone or without.
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    # The default, INT96, is read as nanoseconds by others: years before 1678 and after 2262 come
    # out wrong, without an error.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Or decimals are written in a form that some readers do not know.
    "spark.sql.parquet.writeLegacyFormat": "false",
    # A replace makes the table this batch and nothing else.
    "spark.sql.sources.partitionOverwriteMode": "STATIC",
    # Tables have the lowest protocol that their data needs.
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "none",
    # What replaces a table keeps its properties, also those that only other engines know.
    "spark.databricks.delta.allowArbitraryProperties.enabled": "true",
    # Or the numbers of rows that a commit asks for are not those that it marks.
    "spark.databricks.delta.deletionVectors.useMetadataRowIndex": "true",
    # A table's columns change by plan alone.
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
    # Or MERGE reads its source twice, and may read two different things.
    "spark.databricks.delta.merge.materializeSource": "auto",
    # Readers pass over files by the statistics that the log has of them.
    "spark.databricks.delta.stats.collect": "true",
}
"""By name; without `spark.` it is Hadoop's. Most are defaults that somebody may have changed."""

UNDONE = (
    # Spark's ways of before, many of which read or write other values.
    "spark.sql.legacy.",
    # Properties of every new table: retention, features, append-only.
    "spark.databricks.delta.properties.defaults.",
    # A transaction of somebody else's: Delta would take our commits for its repetition.
    "spark.databricks.delta.write.",
    # User metadata of somebody else's in commits of ours that carry none, or no room for ours.
    "spark.databricks.delta.commitInfo.",
    # Which types grow in place, and what is checked then.
    "spark.databricks.delta.typeWidening.",
    # A state that is old on purpose, where a commit reads the table that it writes.
    "spark.databricks.delta.stalenessLimit",
    "spark.databricks.delta.checkLatestSchemaOnRead",
)
"""How settings begin that are taken back to what Spark and Delta do by themselves."""

_STATIC = "spark.sql.legacy.sessionInitWithConfigDefaults"
"""The one among these that only a whole application has; it decides nothing here."""

_BETWEEN = "\0"
"""Joins what is handed over as one text: no setting holds it."""
_ARROW = " -> "


def of_application() -> dict[str, str]:
    """What decides, as the configuration of an application at its start.

    For the sessions that Delta makes by itself; and so that there is little to set in each of ours.
    """
    return {
        key if key.startswith("spark.") else f"spark.hadoop.{key}": value
        for key, value in DECIDING.items()
    }


def decide_tables(session: SparkSession) -> None:
    """Make the settings that decide what a table contains hold in a session of our own."""
    given = _given(session)
    for key in given:
        if key.startswith(UNDONE) and key not in {*DECIDING, _STATIC}:
            session.conf.unset(key)
    for key, value in DECIDING.items():
        if given.get(key) != value:
            session.conf.set(key, value)


def _given(session: SparkSession) -> dict[str, str]:
    """What is set in a session, by one call: some are a hundred, and each call costs."""
    settings: Any = session._jsparkSession.conf()
    text = str(settings.getAll().mkString(_BETWEEN))
    found = (pair.partition(_ARROW) for pair in text.split(_BETWEEN) if pair)
    return {key: value for key, _, value in found}
