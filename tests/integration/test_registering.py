"""Tables are known in a catalog after their first commit, and none the worse without one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from openmirror.progress.base import Severity
from openmirror.progress.tables import RegistrationFailed
from openmirror.progress.union import ProgressEvent
from openmirror.spark.places import local_spark_paths
from openmirror.spark.registering import Catalog, Registering
from tests.zone import Mirror


def registering(mirror: Mirror, spark: SparkSession, catalog: str) -> list[ProgressEvent]:
    emitted: list[ProgressEvent] = []
    known = Catalog(spark, local_spark_paths(str(mirror.zone.root)), catalog, {})
    mirror.engine = Registering(mirror.engine, known, emitted.append)
    return emitted


def test_a_table_is_known_by_its_name_and_by_none_that_is_another_tables(
    mirror: Mirror, spark: SparkSession
) -> None:
    emitted = registering(mirror, spark, "spark_catalog")
    mirror.zone.put("Known.schema/Orders", 1, {"id": [1, 2]})
    mirror.reconcile_until_idle("Known.schema/Orders")
    assert not emitted
    assert spark.table("spark_catalog.`Known`.Orders").count() == 2
    mirror.zone.put("Known.schema/Orders", 2, {"id": [3]})
    mirror.reconcile_until_idle("Known.schema/Orders")
    assert spark.table("spark_catalog.`Known`.Orders").count() == 3
    spark.sql("DROP TABLE spark_catalog.`Known`.Orders")
    spark.sql("CREATE TABLE spark_catalog.`Known`.Orders (x INT) USING DELTA")
    emitted = registering(mirror, spark, "spark_catalog")
    mirror.zone.put("Known.schema/Orders", 3, {"id": [4]})
    mirror.reconcile_until_idle("Known.schema/Orders")
    [failed] = emitted
    assert isinstance(failed, RegistrationFailed)
    assert "is another table" in failed.reason
    spark.sql("DROP SCHEMA spark_catalog.`Known` CASCADE")


def test_a_catalog_that_is_not_there_is_reported_and_the_table_is_applied(
    mirror: Mirror, spark: SparkSession
) -> None:
    emitted = registering(mirror, spark, "of_{mirror}")
    mirror.zone.put("Orders", 1, {"id": [1]})
    mirror.reconcile_until_idle("Orders")
    assert mirror.rows("Orders") == [{"id": 1}]
    [failed] = emitted
    assert isinstance(failed, RegistrationFailed)
    assert failed.severity is Severity.WARNING
    assert "of_m" in failed.reason
