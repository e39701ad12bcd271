"""Tables on storage accounts: what is published there, and what a runner with Spark made of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from openmirror.deltalog import LogReplay
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder, TablePath, table_name
from openmirror.reconcile.root_ports import RootPorts
from openmirror.spark.access import abfs_settings
from openmirror.spark.places import account_spark_paths
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.emulator_server import EndpointServer, account_of_its_own, endpoint_server
from tests.harness.publishing import file_name
from tests.zone import bag, read_delta


@pytest.fixture
def served(tmp_path: Path) -> Iterator[EndpointServer]:
    """An account that Spark has never heard of: Hadoop keeps a client for each account's name."""
    with endpoint_server(tmp_path / "account", account=account_of_its_own()) as server:
        yield server


def forget(spark: SparkSession, account: AccountUrl) -> None:
    """Close what Hadoop keeps of an account whose name will be another account's."""
    jvm: Any = spark._jvm
    conf = spark._jsc.hadoopConfiguration()
    for container in ("landing", "lake"):
        uri = jvm.java.net.URI(account_spark_paths(account)(StorePath(f"{container}/")))
        closing = jvm.org.apache.hadoop.conf.Configuration(conf)
        for name, value in abfs_settings(account, "AAAA", {}).items():
            closing.set(name, value)
        jvm.org.apache.hadoop.fs.FileSystem.get(uri, closing).close()


def table(mirror: str, name: str) -> TableFolder:
    return TableFolder(mirror, TablePath("", name))


def publish(root: Path, folder: TableFolder, *numbers: int) -> None:
    """Files that add a row each, and change the row that the first one added."""
    place = root / layout.table_folder(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "_metadata.json").write_text('{"keyColumns": ["id"]}')
    for number in numbers:
        rows = {"id": [number, 0], "n": [number, number], "__rowMarker__": [0, 4]}
        staged = place / f"_{number}"
        pq.write_table(pa.table(rows), staged)
        staged.rename(place / file_name(number))


def expected(last: int) -> list[Any]:
    """The rows after that many files of `publish`."""
    rows = [{"id": number, "n": number} for number in range(1, last + 1)]
    return bag([*rows, {"id": 0, "n": last}])


def applied(ports: RootPorts, folder: TableFolder) -> list[int]:
    """Every sequence in the order of the log, as often as it was applied."""
    path = layout.delta_table(folder.mirror, table_name(folder.path, "dbo"))
    batch_records = LogReplay(ports.store).history(path, 99)
    return [
        n
        for batch_record in reversed(batch_records)
        for n in range(batch_record.first, batch_record.last + 1)
    ]


def rows_at(table_path: Path, tmp_path: Path) -> list[Any]:
    """A table's rows for a reader that takes a `%` in its path for an escape."""
    plain = tmp_path / "plain"
    shutil.copytree(table_path, plain)
    return bag(read_delta(plain))
