"""What is wrong with records that their schemas allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoding.control import CONNECTORS, NO_SNAPSHOT, is_of_snapshot
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, no_envelope
from openmirror.cdc.decoding.keys import Key
from openmirror.cdc.decoding.parsing import UNREAD
from openmirror.cdc.decoding.unchanged import Unchanged, is_left_out
from openmirror.protocol.streams import StopCode, StopReason

DELETE = "d"
READ = "r"
_WITH_ROW = ("c", READ, "u")
_TRUNCATE = "t"


@dataclass(frozen=True, kw_only=True)
class Payloads:
    """Records of one envelope and one key; all columns are equally long."""

    rows: pa.Array
    """Where in the batch each stands."""
    offsets: pa.Array
    values: pa.Array
    """Structs, as Spark read them."""
    keys: pa.Array | None
    """Likewise; None where no record is a delete."""
    key_texts: pa.Array
    pairs: pa.Array
    absent: Mapping[int, tuple[str, ...]]
    """The columns whose values the source's log does not have, of each record that lacks some."""

    def of_source(self, name: str) -> pa.Array:
        """A field of the envelope's source; all NULL where the source has none."""
        source = pc.struct_field(self.values, "source")
        if source.type.get_field_index(name) < 0:
            return pa.nulls(len(source), pa.string())
        return pc.struct_field(source, name)


class Findings:
    """What was found wrong so far, each record for its first reason."""

    def __init__(self, rows: pa.Array) -> None:
        self._rows = rows
        self.stops: dict[int, StopReason] = {}
        self.sound = pa.repeat(pa.scalar(True), len(rows))

    def add(self, wrong: pa.Array, stop: StopReason) -> None:
        """Records for which `wrong` is true; NULL is not."""
        wrong = pc.fill_null(wrong, False)
        if not pc.any(wrong).as_py():
            return
        for row in self._rows.filter(wrong).to_pylist():
            self.stops.setdefault(row, stop)
        self.sound = pc.and_(self.sound, pc.invert(wrong))


def check(
    findings: Findings, envelope: ChangeEnvelope, key: Key | None, payloads: Payloads
) -> None:
    """Find what cannot be taken for a change of a row."""
    _check_reading(findings, payloads.values, "payload")
    known_one = pc.is_in(payloads.of_source("connector"), pa.array(CONNECTORS))
    findings.add(pc.invert(known_one), _OTHER_CONNECTOR)
    findings.add(_counted(payloads), _COUNTED)
    _check_oracle(findings, payloads)
    operations = pc.struct_field(payloads.values, "op")
    known = pc.is_in(operations, pa.array([*_WITH_ROW, DELETE, _TRUNCATE]))
    findings.add(pc.invert(known), no_envelope("its op is none that is known"))
    without = pc.is_null(pc.struct_field(payloads.values, "after"))
    changed = pc.is_in(operations, pa.array(_WITH_ROW))
    findings.add(pc.and_(changed, without), no_envelope("it has no row after its change"))
    _check_defaults(findings, envelope, payloads)
    for name, what in envelope.left_out.items():
        if what is Unchanged.UNSURE:
            findings.add(is_left_out(payloads.values, name), _unsure(name))
    if key is None:
        return
    keyless = pc.and_(pc.is_null(payloads.key_texts), pc.not_equal(operations, _TRUNCATE))
    findings.add(keyless, no_envelope("it has no key, which other records of its table have"))
    if payloads.keys is None:
        findings.add(pc.equal(operations, DELETE), no_envelope("its op is written unusually"))
    else:
        _check_reading(findings, payloads.keys, "key")


def _check_reading(findings: Findings, structs: pa.Array, what: str) -> None:
    unread = pc.is_valid(pc.struct_field(structs, UNREAD))
    findings.add(unread, no_envelope(f"its {what} is not what its schema says"))


def _check_defaults(findings: Findings, envelope: ChangeEnvelope, payloads: Payloads) -> None:
    """Refuse values of a converter that writes a column's default where the column is NULL.

    The connector leaves `snapshot` NULL where there is none, and gives it a default: a converter
    that writes the default there does so in columns as well.
    """
    unsure = [column.name for column in envelope.columns if column.nullable and column.has_default]
    if unsure:
        stop = StopReason(
            StopCode.SOURCE_TYPE_UNSUPPORTED,
            f"the converter writes the default of column {unsure[0]!r} where it is NULL",
            "Set value.converter.replace.null.with.default=false and "
            "key.converter.replace.null.with.default=false (of a converter for Avro, both "
            "ignore.default.for.nullables=true), then take a new snapshot of the table.",
        )
        findings.add(pc.equal(payloads.of_source("snapshot"), NO_SNAPSHOT), stop)


def _check_oracle(findings: Findings, payloads: Payloads) -> None:
    of_oracle = pc.fill_null(pc.equal(payloads.of_source("connector"), "oracle"), False)
    if not pc.any(of_oracle).as_py():
        return
    threads = payloads.of_source("redo_thread").cast(pa.int64())
    placed = pc.is_valid(payloads.of_source("commit_scn"))
    lacking = pc.is_in(pa.array(range(len(payloads.rows))), pa.array(payloads.absent, pa.int64()))
    for wrong, stop in (
        (pc.greater(threads, 1), _CLUSTER),
        (pc.and_(is_of_snapshot(payloads.of_source), placed), _OLDER_SNAPSHOT),
        (lacking, _LARGE_OF_ORACLE),
    ):
        findings.add(pc.and_(of_oracle, wrong), stop)


def _counted(payloads: Payloads) -> pa.Array:
    """Records that say where they are in their transaction, of connectors that lose some so."""
    if payloads.values.type.get_field_index("transaction") < 0:
        return pa.repeat(pa.scalar(False), len(payloads.rows))
    counted = pc.is_valid(pc.struct_field(payloads.values, "transaction"))
    losing = pc.is_in(payloads.of_source("connector"), pa.array(["sqlserver", "oracle"]))
    return pc.and_(counted, losing)


def _unsure(column: str) -> StopReason:
    return StopReason(
        StopCode.VALUE_UNAVAILABLE,
        f"the value of column {column!r} is NULL before and after an update, which SQL Server says "
        "too where it leaves the value out",
        "Change the column's type to varchar(max), nvarchar(max) or varbinary(max), whose values "
        "are known, or leave it out with column.exclude.list; then take a new snapshot.",
    )


_OTHER_CONNECTOR = StopReason(
    StopCode.RECORD_UNDECODABLE,
    f"it comes from another connector than those for {', '.join(CONNECTORS)}",
    "Records of Debezium's connectors for PostgreSQL, MySQL, MariaDB, SQL Server and Oracle can be "
    "decoded, and no others yet.",
)
_COUNTED = StopReason(
    StopCode.RECORD_UNDECODABLE,
    "its connector sends records of transactions, and loses the first change of one when it is "
    "stopped behind its beginning",
    "Set provide.transaction.metadata=false in the connector, then take a new snapshot of the "
    "table.",
)
_OLDER_SNAPSHOT = StopReason(
    StopCode.RESNAPSHOT_NEEDED,
    "it is of a snapshot that Oracle's connector was asked for, which may be older than changes "
    "that it has sent before",
    "Begin with another connector and a new topic, and take the stream from there: --anew.",
)
_LARGE_OF_ORACLE = StopReason(
    StopCode.VALUE_UNAVAILABLE,
    "it has a column whose value Oracle's log left out (CLOB, BLOB, XMLTYPE), and the connector "
    "sends changes of such tables in no order that holds",
    "Leave the column out with column.exclude.list, and keep lob.enabled=false; then begin anew "
    "with another connector and a new topic: --anew.",
)
_CLUSTER = StopReason(
    StopCode.RECORD_UNDECODABLE,
    "it comes from the second redo thread or a later one of a cluster (Oracle RAC), and nobody "
    "knows the order between threads",
    "Mirror a database of one instance; clusters cannot be mirrored yet.",
)
