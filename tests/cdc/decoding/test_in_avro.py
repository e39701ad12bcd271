"""Records in Avro become the rows that the same records in JSON become."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from openmirror.cdc.avro.records import AvroRecords
from openmirror.cdc.decoded import Decoded
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.streams import StopCode
from tests.cdc.avro.test_records import ENVELOPE, MINTED, Registry, framed, in_avro, in_json
from tests.cdc.decoding.minted import batch


def decoded(spark: SparkSession, name: str) -> Decoded:
    registry = Registry(MINTED["schemas"])
    return Decoder(spark, AvroRecords(registry, registry)).decode(in_avro(name))


def rows(of: Decoded) -> list[dict[str, Any]]:
    return [row for table in of.tables for row in table.rows.to_pylist()]


@pytest.mark.parametrize("name", ["oracle_types", "sqlserver_types"])
def test_every_type_becomes_what_it_does_in_json(spark: SparkSession, name: str) -> None:
    by_json = Decoder(spark).decode(in_json(name))
    by_avro = decoded(spark, name)
    assert [(t.table, t.keys, t.columns) for t in by_avro.tables] == [
        (t.table, t.keys, t.columns) for t in by_json.tables
    ]
    assert by_avro.others == by_json.others
    assert by_avro.undecodable == by_json.undecodable
    assert len(rows(by_avro)) > 1
    # The converter for JSON reads its own NaN as 0 before the one for Avro gets it.
    left_out = {"__snapshot", "ONE_FLOAT", "TWO_FLOAT"}
    for in_one, in_other in zip(rows(by_avro), rows(by_json), strict=True):
        for column, value in in_other.items():
            if column not in left_out:
                assert in_one[column] == value, column


def test_a_schema_that_is_unknown_stops_before_the_record(spark: SparkSession) -> None:
    good = json.dumps(ENVELOPE)
    decoder = Decoder(spark, AvroRecords(Registry({"1": good}), Registry({})))
    (stop,) = decoder.decode(batch([("t", None, framed(b"\0", 7), {})])).undecodable
    assert (stop.offset, stop.stop.code) == (0, StopCode.RECORD_UNDECODABLE)
    assert "schema 7, which the schema registry does not have" in stop.stop.detail
