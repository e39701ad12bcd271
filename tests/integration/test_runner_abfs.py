"""The runner with Spark's own driver for storage accounts, over the local endpoint and Azurite."""

from __future__ import annotations

import base64
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobPrefix, BlobServiceClient, ContainerClient
from pyspark.sql import SparkSession

from openmirror.deltalog import LogReplay
from openmirror.errors import AccessDenied, NotThere
from openmirror.formats.conversion import FileConverter
from openmirror.ports import Content, Entry, Listing, TableEngine, Transaction
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import ETag, TableFolder, table_name
from openmirror.protocol.sequence import Position
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from openmirror.spark.access import abfs_settings
from openmirror.spark.engine import SparkEngine
from openmirror.spark.places import account_spark_paths, local_spark_paths
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId
from openmirror.wiring import root_engine, root_ports
from openmirror.wiring.local import local_ports
from openmirror.wiring.runner import working
from standins.azurite import Azurite
from tests.emulator_server import EndpointServer
from tests.spark_accounts import applied, expected, forget, publish, rows_at, table
from tests.zone import bag

PATIENCE = 240.0
FILES = 4
AWKWARD = "a[1]{x,y} #2 50%20 q&$z"
"""A table folder whose name is a pattern to Spark and half escaped to a URI."""


def settings_for(root: str, key: str | None, **more: object) -> Settings:
    quick = {
        "metadata_grace": timedelta(0),
        "drop_grace": timedelta(0),
        "runner_idle": timedelta(seconds=1),
        "runner_poll": timedelta(milliseconds=50),
        "lease_delay": timedelta(seconds=1),
        "batch_files": 2,
    }
    return Settings.load({}, {"root": root, "account_key": key, **quick, **more})


def race(settings: Settings, ports: RootPorts, engine: TableEngine, folder: TableFolder) -> None:
    """Two runners that each believe to have every lease, until both are idle."""
    queue = MemoryWorkQueue(lambda: datetime.now(UTC))
    runners = [
        working(settings, ports, engine, queue, MemoryLeases(ports.clock), [folder.mirror])
        for _ in range(2)
    ]
    until = time.monotonic() + PATIENCE
    try:
        while not all(runner.is_idle() for runner in runners):
            assert time.monotonic() < until, "they never came to rest"
            for runner in runners:
                runner.serve(0.02)
    finally:
        ended = [runner.stop() for runner in runners]
    assert [run_result.failed for run_result in ended] == [{}, {}]


def test_two_runners_racing_through_the_endpoint_lose_and_repeat_nothing(
    served: EndpointServer, spark: SparkSession, tmp_path: Path
) -> None:
    settings = settings_for(f"{served.url}/{served.account}", served.key)
    folder = table("race", AWKWARD)
    publish(served.root, folder, *range(1, FILES + 1))
    ports = root_ports(settings)
    with root_engine(settings, {}) as engine:
        race(settings, ports, engine, folder)
    assert applied(ports, folder) == list(range(1, FILES + 1))
    path = served.root / layout.delta_table(folder.mirror, table_name(folder.path, "dbo"))
    assert rows_at(path, tmp_path) == expected(FILES)


# --- Azurite, which has no folders: only the tables lie there -------------------------------------


class TablesInAzurite(LocalStore):
    """A local root whose Delta logs are read from Azurite's container `lake`."""

    def __init__(self, root: Path, lake: ContainerClient) -> None:
        super().__init__(root)
        self._lake = lake

    def list_folder(self, folder: StorePath) -> Listing:
        if "/Tables/" not in folder:
            return super().list_folder(folder)
        prefix = folder.removeprefix("lake/") + "/"
        blobs = [b for b in self._lake.walk_blobs(prefix) if not isinstance(b, BlobPrefix)]
        if not blobs:
            raise NotThere(folder)
        entries = [
            Entry(b.name.removeprefix(prefix), False, b.size, b.last_modified, _etag(b))
            for b in blobs
        ]
        return Listing(datetime.now(UTC), tuple(entries))

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        entries = self.list_folder(folder).entries
        return tuple(entry for entry in entries if entry.name >= start)

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        if "/Tables/" not in path:
            return super().read(path, offset, length)
        try:
            found = self._lake.download_blob(path.removeprefix("lake/"))
        except ResourceNotFoundError as error:
            raise NotThere(f"there is no {path}") from error
        data = found.readall()
        end = None if length is None else offset + length
        return Content(data[offset:end], _etag(found.properties), len(data))


def _etag(properties: Any) -> ETag:
    return ETag(str(properties.etag).strip('"'))


def test_two_runners_racing_on_azurite_lose_and_repeat_nothing(
    azurite: Azurite, spark: SparkSession, tmp_path: Path
) -> None:
    account = AccountUrl.parse(azurite.blob_url)
    folder = table(f"race{uuid.uuid4().hex[:8]}", "Orders")
    root = tmp_path / "root"
    publish(root, folder, *range(1, FILES + 1))
    local, remote = local_spark_paths(str(root)), account_spark_paths(account)
    engine = SparkEngine(
        spark,
        lambda path: remote(path) if path.startswith("lake/") else local(path),
        FileConverter(LocalStore(root)),
        abfs_settings(account, azurite.key, {}),
    )
    settings = settings_for(str(root), None)
    with BlobServiceClient(azurite.blob_url, azurite.key) as blobs:
        lake = blobs.get_container_client("lake")
        with suppress(ResourceExistsError):
            lake.create_container()
        store = TablesInAzurite(root, lake)
        ports = replace(local_ports(settings), store=store, logs=LogReplay(store))
        race(settings, ports, engine, folder)
        assert applied(ports, folder) == list(range(1, FILES + 1))
    options = {
        "azure_storage_account_name": azurite.account,
        "azure_storage_account_key": azurite.key,
        "azure_storage_endpoint": azurite.blob_url,
        "azure_allow_http": "true",
    }
    path = layout.delta_table(folder.mirror, table_name(folder.path, "dbo"))
    shown = deltalake.DeltaTable(f"az://{path}", storage_options=options).to_pyarrow_table()
    assert bag(shown.to_pylist()) == expected(FILES)
    forget(spark, account)


def test_a_wrong_key_is_access_denied_and_no_damaged_file(
    azurite: Azurite, spark: SparkSession
) -> None:
    account = AccountUrl.parse(azurite.empty.blob_url)
    wrong = base64.b64encode(b"wrong").decode()
    converter = FileConverter(AzureStore.connect(account, wrong))
    access = abfs_settings(account, wrong, {})
    engine = SparkEngine(spark, account_spark_paths(account), converter, access)
    with pytest.raises(AccessDenied, match="Storage Blob Data Contributor"):
        engine.commit_without_rows(
            StorePath("lake/m/Tables/dbo/t"), Transaction(AppId("a"), Position(1))
        )
    forget(spark, account)
