"""A key of `_metadata.json` that is close to a known one is a warning."""

from __future__ import annotations

import json

import pytest

from openmirror.protocol.metadata import TableMetadata, parse_metadata


def slips(document: object) -> tuple[str, ...]:
    metadata = parse_metadata(json.dumps(document).encode())
    assert isinstance(metadata, TableMetadata)
    return metadata.misspelt


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("keyColumn", "keyColumns"),
        ("key_columns", "keyColumns"),
        ("primaryKeyColumns", "keyColumns"),
        ("isUpsertDefaultRowMaker", "isUpsertDefaultRowMarker"),
        ("fileDetectionStrategie", "fileDetectionStrategy"),
        ("isPartitioned", "isPartitionEnabled"),
        ("conditionalUpdateColumns", "ConditionalUpdateColumn"),
        ("fileFormats", "FileFormat"),
        ("columnSeparator", "FileFormatTypeProperties.ColumnSeparator"),
    ],
)
def test_a_key_that_is_close_to_a_known_one_is_named_with_it(key: str, meant: str) -> None:
    assert slips({key: "x"}) == (f"{key} means nothing; {meant} may be meant",)


def test_slips_are_found_in_the_objects_inside() -> None:
    columns = [{"Name": "a", "DataType": "Int32", "Nullable": False}]
    document = {
        "FileFormatTypeProperties": {"ColumnSeperator": ";"},
        "SchemaDefinition": {"Columns": columns},
    }
    assert slips(document) == (
        "FileFormatTypeProperties.ColumnSeperator means nothing; "
        "FileFormatTypeProperties.ColumnSeparator may be meant",
        "SchemaDefinition.Columns[0].Nullable means nothing; "
        "SchemaDefinition.Columns[0].IsNullable may be meant",
    )


def test_what_somebody_keeps_for_himself_is_no_slip() -> None:
    assert slips({"comment": "x", "version": 1, "owner": {"Name": "x"}}) == ()
    assert slips({"keyColumns": ["id"], "keyColumn": "id"}) == ()
    assert slips({"KEYCOLUMNS": ["id"], "fileformat": "csv"}) == ()
