"""Tables are known in a catalog after their first commit, and none the worse without one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from openmirror.operate.report import statuses
from openmirror.progress.base import Severity
from openmirror.progress.tables import RegistrationFailed
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.registration import record_registration
from openmirror.spark.places import local_spark_paths
from openmirror.spark.registering import Catalog, Registering
from tests.zone import Mirror


def registering(mirror: Mirror, spark: SparkSession, catalog: str) -> list[ProgressEvent]:
    emitted: list[ProgressEvent] = []
    known = Catalog(spark, local_spark_paths(str(mirror.zone.root)), catalog, {})

    def record(folder: TableFolder, failure: str | None) -> None:
        record_registration(mirror.ports.store, folder, failure, mirror.ports.clock())

    mirror.engine = Registering(mirror.engine, known, emitted.append, record)
    return emitted


def warned(mirror: Mirror) -> list[str]:
    (table,) = statuses(mirror.ports, ["m"])
    return [warning.code for warning in table.warnings]


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
    assert warned(mirror) == ["CatalogRegistrationFailed"]
    registering(mirror, spark, "spark_catalog")
    mirror.zone.put("Orders", 2, {"id": [2]})
    mirror.reconcile_until_idle("Orders")
    assert warned(mirror) == [], "a later commit has registered it"
    spark.sql("DROP TABLE spark_catalog.dbo.Orders")
