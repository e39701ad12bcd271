"""Lineage in Delta tables, where Spark reads something else than what the publisher wrote."""

from __future__ import annotations

from openmirror.formats.conversion import FileConverter
from openmirror.spark.engine import SparkEngine
from openmirror.spark.places import local_spark_paths
from tests.integration.test_soft_deletes import settings
from tests.zone import Mirror


def test_rows_of_a_text_in_parts_are_counted_as_its_publisher_wrote_them(mirror: Mirror) -> None:
    settings(mirror.zone, lineage=True)
    converter = FileConverter(mirror.ports.store, most_rows=2)
    root = str(mirror.zone.root)
    mirror.engine = SparkEngine(mirror.spark, local_spark_paths(root), converter)
    mirror.zone.metadata("t", {"keyColumns": ["id"], "FileFormat": "CSV"})
    text = "id,v\n" + "".join(f'{number},"two\nlines"\n' for number in range(5))
    mirror.zone.put_bytes("t", f"{1:020d}.csv", text.encode())
    mirror.reconcile_until_idle("t")
    found = {row["id"]: (row["_row"], row["_file"]) for row in mirror.rows("t")}
    assert found == {str(at): (at + 1, f"{1:020d}.csv") for at in range(5)}
