"""What a table contains is decided by the product, whatever an application's owner has set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from openmirror.spark.deciding import DECIDING, UNDONE
from openmirror.spark.jars import class_path
from openmirror.spark.transacting import fresh_session
from tests.harness.small_data import FOR_SMALL_DATA
from tests.hostile_settings import HOSTILE
from tests.integration.submitted import one_by_one
from tests.zone import Mirror, Zone, bag, read_delta

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 900
HADOOP = "spark.hadoop."


class Hostile:
    """An application whose sessions begin with hostile settings, as those of a submitted one do."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def newSession(self) -> SparkSession:  # noqa: N802 - Spark's own name
        session = self._spark.newSession()
        for key, value in HOSTILE.items():
            session.conf.set(key.removeprefix(HADOOP), value)
        return session


def test_no_setting_that_decides_reaches_a_session_that_touches_data(spark: SparkSession) -> None:
    application: Any = Hostile(spark)
    ours = fresh_session(application).conf.getAll
    for key, theirs in HOSTILE.items():
        found = ours.get(key.removeprefix(HADOOP), "as by itself")
        wanted = DECIDING.get(key.removeprefix(HADOOP), found)
        assert found == wanted != theirs, key


def test_every_setting_that_decides_has_been_tried_the_other_way() -> None:
    tried = {key.removeprefix(HADOOP) for key in HOSTILE}
    assert tried >= DECIDING.keys()
    assert not [family for family in UNDONE if not any(key.startswith(family) for key in tried)]


@pytest.mark.soak  # a whole application; that no such setting reaches a session is shown above
def test_a_submitted_application_with_hostile_settings_makes_the_same_tables(
    zone: Zone, mirror: Mirror, tmp_path: Path
) -> None:
    publish(zone)
    other = Zone(tmp_path / "other")
    shutil.copytree(zone.landing, other.landing)
    one_by_one(mirror).reconcile_all()
    submit(other.root, tmp_path)
    tables = sorted(path.name for path in tables_of(zone))
    assert tables == ["all", "kept", "wider"]
    for table in tables:
        assert content(other, table) == content(zone, table), table


def submit(root: Path, scratch: Path) -> None:
    """Drain a zone by the real `spark-submit` with a hostile `spark-defaults.conf`."""
    conf = scratch / "conf"
    conf.mkdir()
    lines = [f"{key} {value}" for key, value in {**FOR_SMALL_DATA, **HOSTILE}.items()]
    lines += ["spark.driver.extraJavaOptions -Duser.timezone=Asia/Tokyo", "spark.ui.enabled false"]
    (conf / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [
            *(Path(pyspark.__file__).parent / "bin" / "spark-submit",),
            *("--master", "local[1]", "--driver-memory", "1g"),
            *("--jars", class_path().replace(":", ",")),
            *(Path(__file__).with_name("submitted.py"), root),
        ],
        env={
            **os.environ,
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(CHECKOUT),
            "TZ": "Asia/Tokyo",
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def publish(zone: Zone) -> None:
    """A table with a value of every kind that a setting could change, and two that change."""
    old, spring = (datetime.fromisoformat(at) for at in ("1500-03-01 12:30", "2024-03-31 02:30"))
    values = {
        "id": [1, 2],
        "${user}": ["a", "b"],
        "at": pa.array([old, spring], pa.timestamp("us")),
        "zoned": pa.array([old.replace(tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
        "day": [date(1500, 3, 1), date(2024, 2, 29)],
        "amount": pa.array([Decimal("1.25"), None], pa.decimal128(9, 2)),
        "bytes": [b"\xff\x00", b"plain"],
        "text": ["back\\slash", "`quoted`"],
    }
    zone.put("all", 1, values)
    path = zone.folder("all") / "00000000000000000002.parquet"
    times = {"id": [3], "int96": pa.array([old], pa.timestamp("us"))}
    pq.write_table(pa.table(times), path, use_deprecated_int96_timestamps=True)
    zone.metadata("kept", {"keyColumns": ["id"]})
    zone.put("kept", 1, {"id": [1, 2, 3], "n": [1, 2, 3]})
    changes = {"__rowMarker__": [1, 2, 4, 4], "id": [1, 2, 9, 3], "n": [10, 0, 90, 30]}
    zone.put("kept", 2, {**changes, "late": [None, None, None, "x"]})
    zone.metadata("wider", {"keyColumns": ["id"]})
    zone.put("wider", 1, {"id": [1, 2], "n": pa.array([1, 2], pa.int32())})
    zone.put("wider", 2, {"__rowMarker__": [1], "id": [2], "n": [2**40]})


def tables_of(zone: Zone) -> list[Path]:
    return [path.parent for path in zone.root.glob("lake/*/Tables/*/*/_delta_log")]


def content(zone: Zone, table: str) -> object:
    """All that another reader can see: rows, types, properties, features, and the files' types."""
    [path] = [path for path in tables_of(zone) if path.name == table]
    read = deltalake.DeltaTable(str(path))
    files = [pq.ParquetFile(uri.removeprefix("file://")) for uri in read.file_uris()]
    # How many files there are is the owner's affair, and names in them are drawn anew where columns
    # are mapped: so all kinds of all files.
    types = sorted({str(kind) for file in files for kind in file.schema_arrow.types})
    physical = sorted({column.physical_type for file in files for column in file.schema})
    protocol = read.protocol()
    return (
        bag(read_delta(path)),
        [(field.name, str(field.type)) for field in read.schema().fields],
        dict(read.metadata().configuration),
        (protocol.min_reader_version, protocol.min_writer_version),
        types,
        physical,
        [bool(commit.get("userMetadata")) for commit in read.history()],
        read.version(),
    )
