"""The statements that read one version of a table, in the languages of those who may want to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from openmirror.ports.storage_account import AccountUrl
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class Statement:
    """What to type where."""

    reader: str
    text: str


def statements(root: Path | AccountUrl, table: StorePath, version: int) -> tuple[Statement, ...]:
    """How each reader is asked for a version of the table at this path below a root."""
    path = root.abfs(table) if isinstance(root, AccountUrl) else f"{root}/{table}"
    every = (
        Statement("Spark SQL", f"SELECT * FROM delta.{_quoted(path)} VERSION AS OF {version}"),
        Statement("DuckDB", _duckdb(root, table, path, version)),
        Statement("delta-rs (Python)", _delta_rs(root, path, version)),
        Statement("polars", _polars(path, version)),
    )
    if isinstance(root, AccountUrl) or Path(path).as_uri() == f"file://{path}":
        return every
    return every[:-1]  # polars takes such a path for a URL, and finds no file


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _duckdb(root: Path | AccountUrl, table: StorePath, path: str, version: int) -> str:
    attach = "ATTACH {} AS past (TYPE delta, VERSION " + str(version) + "); SELECT * FROM past.past"
    if not isinstance(root, AccountUrl):
        return attach.format(_text(Path(path).as_uri()))  # of a path it takes `%` for an escape
    # It takes the account from a secret: with a host in the URL it looks for another one.
    secret = (
        "CREATE SECRET (TYPE azure, PROVIDER credential_chain, "
        f"ACCOUNT_NAME {_text(root.account)}); "
    )
    return secret + attach.format(_text(f"abfss://{table}"))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _delta_rs(root: Path | AccountUrl, path: str, version: int) -> str:
    # Whoever is logged in; polars finds that by itself.
    is_account = isinstance(root, AccountUrl)
    options = ', storage_options={"azure_use_azure_cli": "true"}' if is_account else ""
    opened = f"DeltaTable({_literal(path)}, version={version}{options})"
    return (
        "from deltalake import DeltaTable, QueryBuilder; "
        f'QueryBuilder().register("past", {opened}).execute("SELECT * FROM past").read_all()'
    )


def _polars(path: str, version: int) -> str:
    return f"import polars as pl; pl.scan_delta({_literal(path)}, version={version}).collect()"


def _literal(value: str) -> str:
    """As Python writes text."""
    return json.dumps(value)
