"""A publisher over the real DataLake and Blob SDKs, in every way of writing that is seen."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from openmirror.protocol.names import TableFolder
from openmirror.table import layout
from tests.emulator_server import EndpointServer


class Publisher:
    """Writes table folders and change files of one mirror; how it writes is drawn from a seed."""

    def __init__(self, server: EndpointServer, draw: random.Random) -> None:
        url = f"{server.url}/{server.account}"
        self._files: FileSystemClient = DataLakeServiceClient(
            url, credential=server.credential
        ).get_file_system_client(layout.LANDING)
        self._blobs = BlobServiceClient(url, credential=server.credential)
        self._draw = draw
        self._ways: list[Callable[[str, bytes], None]] = [
            self._created_and_closed,
            self._flushed_without_close,
            self._staged_and_renamed,
            self._uploaded,
            self._put_as_blob,
        ]

    def begin(self, folder: TableFolder, metadata: dict[str, object]) -> None:
        """Make a table folder and say its keys."""
        path = _below_landing(layout.table_folder(folder))
        self._files.create_directory(path)
        self._uploaded(f"{path}/_metadata.json", json.dumps(metadata).encode())

    def introduce(self, mirror: str, about: dict[str, object]) -> None:
        """Say who publishes into a mirror."""
        zone = _below_landing(layout.landing_zone(mirror))
        self._uploaded(f"{zone}/_partnerEvents.json", json.dumps(about).encode())

    def publish(self, folder: TableFolder, sequence: int, rows: pa.Table) -> None:
        """Write the change file of this number."""
        data = io.BytesIO()
        pq.write_table(rows, data)
        self.write(folder, sequence, data.getvalue())

    def write(self, folder: TableFolder, sequence: int, data: bytes) -> None:
        """Write these bytes as the change file of this number."""
        path = _below_landing(layout.table_folder(folder))
        self._draw.choice(self._ways)(f"{path}/{sequence:020d}.parquet", data)

    def delete(self, folder: TableFolder) -> None:
        """Delete a table folder with all in it."""
        self._files.delete_directory(_below_landing(layout.table_folder(folder)))

    def _created_and_closed(self, path: str, data: bytes) -> None:
        file = self._files.get_file_client(path)
        file.create_file()
        half = len(data) // 2
        file.append_data(data[:half], 0)
        file.append_data(data[half:], half)
        file.flush_data(len(data), close=True)

    def _flushed_without_close(self, path: str, data: bytes) -> None:
        """Only its creation is ever announced, with length 0."""
        file = self._files.get_file_client(path)
        file.create_file()
        file.append_data(data, 0)
        file.flush_data(len(data))

    def _staged_and_renamed(self, path: str, data: bytes) -> None:
        folder, _, name = path.rpartition("/")
        file = self._files.get_file_client(f"{folder}/_{name}")
        file.create_file()
        file.append_data(data, 0)
        file.flush_data(len(data))
        file.rename_file(f"{layout.LANDING}/{path}")

    def _uploaded(self, path: str, data: bytes) -> None:
        self._files.get_file_client(path).upload_data(data, overwrite=True)

    def _put_as_blob(self, path: str, data: bytes) -> None:
        self._blobs.get_blob_client(layout.LANDING, path).upload_blob(data, overwrite=True)


def _below_landing(path: layout.StorePath) -> str:
    return path.removeprefix(f"{layout.LANDING}/")
