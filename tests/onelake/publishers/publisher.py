"""Python's: azure-identity and azure-storage-file-datalake."""

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from azure.core.credentials import TokenCredential
from azure.identity import (
    AzureCliCredential,
    ClientSecretCredential,
    DefaultAzureCredential,
    ManagedIdentityCredential,
)
from azure.storage.filedatalake import DataLakeServiceClient


def credential(way: str) -> TokenCredential:
    if way == "secret":
        return ClientSecretCredential("contoso.onmicrosoft.com", "app", "no-real-secret")
    if way == "managed":
        return ManagedIdentityCredential()
    if way == "default":
        return DefaultAzureCredential()
    return AzureCliCredential()


def publish(zone: str, table: str, way: str, rows: bytes) -> None:
    url = urlsplit(zone)
    workspace, _, folder = unquote(url.path).strip("/").partition("/")
    service = DataLakeServiceClient(f"https://{url.netloc}", credential=credential(way))
    landing = service.get_file_system_client(workspace)
    there = landing.get_directory_client(f"{folder}/{table}")
    there.create_directory()
    there.get_file_client("_metadata.json").upload_data(b'{"keyColumns": ["id"]}', overwrite=True)
    staged = there.get_file_client("_00000000000000000001.parquet")
    staged.upload_data(rows, overwrite=True)
    staged.rename_file(f"{workspace}/{folder}/{table}/00000000000000000001.parquet")
    names = [path.name.rpartition("/")[2] for path in landing.get_paths(f"{folder}/{table}")]
    assert sorted(names) == ["00000000000000000001.parquet", "_metadata.json"], names


if __name__ == "__main__":
    zone, file, *ways = sys.argv[1:]
    for one in ways:
        publish(zone, f"python_{one}", one, Path(file).read_bytes())
