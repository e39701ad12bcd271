"""Only tables that need nothing but a Parquet file are written to without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.spark.plain_tables import is_plain

SCHEMA = TableSchema((Column("id", ColumnType("long")), Column("v", ColumnType("string"))))
OLD = {"minReaderVersion": 1, "minWriterVersion": 2}


def field(name: str = "id", kind: Any = "long", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}} | more


def metadata(*fields: dict[str, Any], partitions: tuple[str, ...] = (), **properties: str) -> Any:
    return {
        "schemaString": json.dumps({"type": "struct", "fields": fields or FIELDS}),
        "partitionColumns": list(partitions),
        "configuration": {name.replace("__", "."): value for name, value in properties.items()},
    }


FIELDS = (field(), field("v", "string"))


def features(*names: str, reader: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "minReaderVersion": 3 if reader else 1,
        "minWriterVersion": 7,
        "readerFeatures": list(reader),
        "writerFeatures": list(names),
    }


@pytest.mark.parametrize(
    ("protocol", "of"),
    [
        (OLD, metadata()),
        ({"minReaderVersion": 1, "minWriterVersion": 1}, metadata()),
        (features("appendOnly", "invariants"), metadata()),
        (features("timestampNtz", reader=("timestampNtz",)), metadata()),
        (OLD, metadata(owner="somebody", openmirror__table="Orders")),
        (OLD, metadata(delta__deletedFileRetentionDuration="interval 7 days")),
        (OLD, metadata(delta__enableChangeDataFeed="false", delta__columnMapping__mode="none")),
    ],
)
def test_plain(protocol: dict[str, Any], of: dict[str, Any]) -> None:
    assert is_plain(protocol, of, SCHEMA)


@pytest.mark.parametrize(
    ("protocol", "of"),
    [
        # What its protocol asks of writers.
        ({"minReaderVersion": 2, "minWriterVersion": 5}, metadata()),
        ({"minReaderVersion": 1, "minWriterVersion": 3}, metadata()),
        ({"minReaderVersion": 2, "minWriterVersion": 2}, metadata()),
        *(
            (features(name), metadata())
            for name in (
                "allowColumnDefaults",
                "changeDataFeed",
                "checkConstraints",
                "clustering",
                "domainMetadata",
                "generatedColumns",
                "icebergCompatV2",
                "identityColumns",
                "inCommitTimestamp",
                "rowTracking",
                "something of a later year",
            )
        ),
        *(
            (features(name, reader=(name,)), metadata())
            for name in ("columnMapping", "deletionVectors", "typeWidening", "v2Checkpoint")
        ),
        # What its properties ask.
        (OLD, metadata(delta__enableChangeDataFeed="true")),
        (OLD, metadata(delta__appendOnly="true")),
        (OLD, metadata(delta__columnMapping__mode="name")),
        (OLD, metadata(delta__constraints__positive="id > 0")),
        (OLD, metadata(delta__dataSkippingNumIndexedCols="1")),
        (OLD, metadata(delta__autoOptimize__autoCompact="true")),
        (OLD, metadata(delta__setTransactionRetentionDuration="interval 1 days")),
        (OLD, metadata(delta__randomizeFilePrefixes="true")),
        (OLD, metadata(parquet__encryption__footer__key="k")),
        # Where its rows lie, and what its columns are.
        (OLD, metadata(partitions=("id",))),
        (OLD, metadata(field())),
        (OLD, metadata(*reversed(FIELDS))),
        (OLD, metadata(*FIELDS, field("more"))),
        (OLD, metadata(field("ID"), FIELDS[1])),
        (OLD, metadata(field(kind="integer"), FIELDS[1])),
        (OLD, metadata(field(kind={"type": "array", "elementType": "long"}), FIELDS[1])),
        (OLD, metadata(field(nullable=False), FIELDS[1])),
        (OLD, metadata(field(metadata={"delta.invariants": "{}"}), FIELDS[1])),
        (OLD, metadata(field(metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}), FIELDS[1])),
    ],
)
def test_not_plain(protocol: dict[str, Any], of: dict[str, Any]) -> None:
    assert not is_plain(protocol, of, SCHEMA)


def test_every_type_is_known_by_the_name_that_logs_have_of_it() -> None:
    kinds = ["byte", "decimal(38,18)", "date", "timestamp", "timestamp_ntz", "binary", "double"]
    schema = TableSchema(tuple(Column(kind, ColumnType(kind)) for kind in kinds))
    assert is_plain(OLD, metadata(*(field(kind, kind) for kind in kinds)), schema)
