"""Commits that change what a table is and none of its rows: properties, and clustering.

Each is a commit of its own, in a session that carries no batch's transaction and record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from openmirror.plan.features import TableFeatures
from openmirror.spark.frames import quoted


def set_features(session: SparkSession, table: str, features: TableFeatures) -> None:
    """Set what a table lacks, and take away what it must not have, before a batch counts on it."""
    if features.unset:
        names = ", ".join(map(_text, features.unset))
        session.sql(f"ALTER TABLE delta.{quoted(table)} UNSET TBLPROPERTIES IF EXISTS ({names})")
    if features.properties:
        set_properties(session, table, dict(features.properties))
    if features.reclusters:
        columns = ", ".join(map(quoted, features.clustering))
        by = f"({columns})" if columns else "NONE"
        session.sql(f"ALTER TABLE delta.{quoted(table)} CLUSTER BY {by}")


def set_properties(session: SparkSession, table: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table that is there."""
    pairs = properties_in_sql(properties.items())
    session.sql(f"ALTER TABLE delta.{quoted(table)} SET TBLPROPERTIES ({pairs})")


def properties_in_sql(properties: Iterable[tuple[str, str]]) -> str:
    """Properties as SQL writes them."""
    return ", ".join(f"{_text(key)} = {_text(value)}" for key, value in properties)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
