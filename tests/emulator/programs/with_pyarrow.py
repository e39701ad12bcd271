"""pyarrow's file system for accounts, over Azure's SDK for C++."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import pyarrow.fs as fs
import pytest


def account(url: str, key: str) -> fs.AzureFileSystem:
    parts = urlsplit(url)
    return fs.AzureFileSystem(
        account_name=parts.path.strip("/"),
        account_key=key,
        blob_storage_authority=parts.netloc,
        dfs_storage_authority=parts.netloc,
        blob_storage_scheme=parts.scheme,
        dfs_storage_scheme=parts.scheme,
    )


def use(files: fs.AzureFileSystem) -> None:
    assert files.get_file_info("lake/none").type == fs.FileType.NotFound
    assert files.get_file_info("nowhere/none").type == fs.FileType.NotFound
    files.create_dir("lake/a/b", recursive=True)
    with files.open_output_stream("lake/a/b/1.parquet", metadata={"by": "pyarrow"}) as out:
        out.write(b"one")
    files.copy_file("lake/a/b/1.parquet", "lake/a/b/2 %20#é.parquet")
    with files.open_input_file("lake/a/b/2 %20#é.parquet") as copy:
        assert copy.read() == b"one"
    files.copy_file("lake/a/b/1.parquet", "lake/a/3.parquet")
    found = files.get_file_info(fs.FileSelector("lake/a", recursive=True))
    assert {info.path: info.size for info in found if info.type == fs.FileType.File} == {
        "lake/a/b/1.parquet": 3,
        "lake/a/b/2 %20#é.parquet": 3,
        "lake/a/3.parquet": 3,
    }
    # What it moves, here as in Azure, has a lease for a few seconds, so that nothing else follows.
    files.move("lake/a/3.parquet", "lake/moved.parquet")
    assert files.get_file_info("lake/a/3.parquet").type == fs.FileType.NotFound
    files.delete_file("lake/a/b/1.parquet")
    files.delete_dir_contents("lake/a")
    assert files.get_file_info("lake/a").type == fs.FileType.Directory
    assert files.get_file_info("lake/a/b").type == fs.FileType.NotFound
    files.delete_dir("lake/a")
    assert files.get_file_info("lake/a").type == fs.FileType.NotFound
    with pytest.raises(OSError, match="404"):
        files.copy_file("lake/none", "lake/other")


if __name__ == "__main__":
    use(account(*sys.argv[1:]))
