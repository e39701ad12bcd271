"""Where Spark finds what lies below a root."""

from __future__ import annotations

from collections.abc import Callable

from openmirror.ports.storage_account import AccountUrl
from openmirror.table.layout import StorePath

SparkPaths = Callable[[StorePath], str]
"""Translates a path below the root to Spark's name of it: a local path, or a URI. Every character
means itself: Hadoop reads no escapes in the path of a URI that it is given as text."""


def local_spark_paths(root: str) -> SparkPaths:
    """Below a folder of this machine."""
    base = root.rstrip("/")
    return lambda path: f"{base}/{path}"


def account_spark_paths(account: AccountUrl) -> SparkPaths:
    """Below a storage account, by the ABFS driver; the path's first part is the container."""
    return account.abfs
