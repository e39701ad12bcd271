"""Payloads to columns, in Spark: the one query of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from openmirror.cdc.decoding.connect import JsonKind, Schema
from openmirror.cdc.decoding.envelopes import ChangeEnvelope
from openmirror.cdc.decoding.keys import Key
from openmirror.cdc.decoding.types import Reading, WrittenAs

UNREAD = "__unread"
"""Where Spark puts a text that it cannot read whole. No column of a table begins so."""

_PAYLOADS = pa.schema([("version", pa.int32()), ("value", pa.string()), ("key", pa.string())])
_SOURCE = (
    *("connector", "snapshot", "db", "schema", "table", "ts_us", "ts_ms", "txId"),
    *("sequence", "lsn"),
    *("file", "pos", "row"),
    *("commit_lsn", "change_lsn", "event_serial_no"),
    *("commit_scn", "scn", "txSeq", "redo_thread"),
)
_TYPES: dict[JsonKind, type[DataType]] = {
    # Of a byte, Spark takes 128 to 255 as well, and makes them negative.
    JsonKind.INT8: ShortType,
    JsonKind.INT16: ShortType,
    JsonKind.INT32: IntegerType,
    JsonKind.INT64: LongType,
    JsonKind.FLOAT32: FloatType,
    JsonKind.FLOAT64: DoubleType,
    JsonKind.BOOLEAN: BooleanType,
    JsonKind.BYTES: BinaryType,
}
"""Text for whatever is not here: of anything nested, Spark gives the JSON as it was written."""

_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": UNREAD,
    # Or a text of more than 20,000,000 characters cannot be read.
    "maxStringLen": str((1 << 31) - 1),
}
_SETTINGS = {
    # Most batches are small, and compiling a plan takes longer than interpreting it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Or payloads are parsed by the optimizer, which has one thread.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    # What these decide is what is read of a payload, whatever the application's own settings.
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    "spark.sql.legacy.json.allowEmptyString.enabled": "false",
}


def session_for_parsing(spark: SparkSession) -> SparkSession:
    """A session of the same application whose settings are the parser's alone."""
    session = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session


class VersionQuery:
    """What a query is asked for the records of one envelope and one key."""

    def __init__(self, number: int, envelope: ChangeEnvelope, key: Key | None) -> None:
        self.number = number
        """No other version of the decoder's has it."""
        self.value_name = f"value{number}"
        self.key_name = f"key{number}"
        self._value = _parsed("value", _envelope_type(envelope), number).alias(self.value_name)
        self._key = None
        if key is not None:
            self._key = _parsed("key", _key_type(envelope, key), number).alias(self.key_name)

    def columns(self, *, with_key: bool) -> list[Column]:
        """The version's columns in a query: structs, NULL in the rows of other versions."""
        return [self._value, self._key] if with_key and self._key is not None else [self._value]


def parse(
    spark: SparkSession,
    columns: Sequence[Column],
    versions: pa.Array,
    values: pa.Array,
    keys: pa.Array,
) -> pa.Table:
    """Columns of queries, of rows with the numbers of their versions; rows keep their order.

    A struct's last field is UNREAD, and NULL where all was read.
    """
    payloads = pa.Table.from_arrays([versions, values, keys], schema=_PAYLOADS)
    return spark.createDataFrame(payloads).select(*columns).toArrow()


def _parsed(text: str, kind: StructType, number: int) -> Column:
    wanted = StructType([*kind.fields, StructField(UNREAD, StringType())])
    read = sf.from_json(sf.col(text), wanted, _OPTIONS)
    return sf.when(sf.col("version") == number, read)


def _envelope_type(envelope: ChangeEnvelope) -> StructType:
    """The row first, so that its columns are found by their place."""
    source = envelope.schema.find("source")
    row = envelope.schema.find("after")
    assert source is not None
    assert row is not None
    columns = [
        StructField(field.name, _json_type(field.schema, reading))
        for field, reading in zip(row.fields, envelope.readings, strict=True)
    ]
    of_source = [
        StructField(name, StringType() if found.kind is JsonKind.STRING else LongType())
        for name in _SOURCE
        if (found := source.find(name)) is not None
    ]
    fields = [
        StructField("after", StructType(columns)),
        StructField("source", StructType(of_source)),
        StructField("op", StringType()),
    ]
    if envelope.schema.find("transaction") is not None:
        fields.append(StructField("transaction", StringType()))
    if envelope.left_out:
        before = [StructField(name, StringType()) for name in envelope.left_out]
        fields.append(StructField("before", StructType(before)))
    return StructType(fields)


def _key_type(envelope: ChangeEnvelope, key: Key) -> StructType:
    readings = dict(zip([c.name for c in envelope.columns], envelope.readings, strict=True))
    return StructType(
        [
            StructField(field.name, _json_type(field.schema, readings[field.name]))
            for field in key.schema.fields
        ]
    )


def _json_type(schema: Schema, reading: Reading) -> DataType:
    if reading.form is WrittenAs.VARIABLE_DECIMAL:
        return StructType([StructField("scale", IntegerType()), StructField("value", BinaryType())])
    return _TYPES.get(schema.kind, StringType)()
