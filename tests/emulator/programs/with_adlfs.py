"""adlfs, the file system for accounts of fsspec, and so of pandas, Dask and others."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import adlfs


def account(url: str, key: str) -> adlfs.AzureBlobFileSystem:
    parts = urlsplit(url)
    name = parts.path.strip("/")
    connection = (
        f"DefaultEndpointsProtocol={parts.scheme};AccountName={name};AccountKey={key};"
        f"BlobEndpoint={url}"
    )
    return adlfs.AzureBlobFileSystem(account_name=name, connection_string=connection)


def use(files: adlfs.AzureBlobFileSystem) -> None:
    assert not files.exists("lake/none")
    files.makedirs("lake/a/b")
    files.pipe({"lake/a/b/1.csv": b"one", "lake/a/b/2.csv": b"two"})
    assert files.cat("lake/a/b/1.csv") == b"one"
    files.cp_file("lake/a/b/1.csv", "lake/a/b/3 %20#é.csv")
    assert files.cat("lake/a/b/3 %20#é.csv") == b"one"
    files.mv("lake/a/b/2.csv", "lake/a/b/4.csv")
    assert sorted(files.find("lake/a")) == [
        "lake/a/b/1.csv",
        "lake/a/b/3 %20#é.csv",
        "lake/a/b/4.csv",
    ]
    files.cp("lake/a/b", "lake/c", recursive=True)
    assert files.cat("lake/c/4.csv") == b"two"
    files.rm("lake/a", recursive=True)
    files.rm("lake/c", recursive=True)
    files.invalidate_cache()
    assert files.find("lake") == []


if __name__ == "__main__":
    use(account(*sys.argv[1:]))
