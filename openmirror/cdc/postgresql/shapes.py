"""The shape of a table's rows: which columns are sent, and how each is read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openmirror.cdc.postgresql.definitions import Oid, ReplicaIdentity, TableDefinition, Types
from openmirror.cdc.postgresql.pgoutput import Relation
from openmirror.cdc.postgresql.types import TypeReading, reading_of
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case, is_unicode
from openmirror.protocol.schema import Column, TableSchema
from openmirror.protocol.streams import StopCode, StopReason


@dataclass(frozen=True, kw_only=True)
class ShapeColumn:
    """A column that is mirrored."""

    name: str
    at: int
    """The column's index among the columns that are sent, from 0."""
    type: Oid
    modifier: int
    reading: TypeReading
    is_key: bool


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """How rows of a table are sent, from one Relation message to the next."""

    relation: Oid
    schema: str
    name: str
    sent: int
    """How many columns a row has in the log."""
    is_full: bool
    """Whether old rows are whole (REPLICA IDENTITY FULL). Otherwise they have their key only."""
    columns: tuple[ShapeColumn, ...]
    """The mirrored columns, in the order in which they are sent."""
    keys: tuple[str, ...]
    """Key columns, in the order of `columns`."""

    @property
    def title(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"

    @property
    def table_schema(self) -> TableSchema:
        """The Delta columns."""
        return TableSchema(tuple(Column(c.name, c.reading.type) for c in self.columns))


def shape_of(
    relation: Relation,
    definition: TableDefinition | None,
    types: Types,
    *,
    as_text: frozenset[str],
    without: frozenset[str],
) -> TableShape | StopReason:
    """Return the shape of the rows behind a Relation message, or why they cannot be mirrored.

    Args:
        relation: The message.
        definition: The table in the catalogue. Its primary key is the key of a table whose
            replica identity is FULL or an index. Otherwise the message names the key, but for
            generated columns, which are not sent. None for a table that is gone.
        types: Facts of the columns' types.
        as_text: Names of columns that are mirrored as the server's text.
        without: Names of columns that are left out.
    """
    sent = [_Sent(c.name, c.type, c.modifier) for c in relation.columns]
    flagged = frozenset(c.name for c in relation.columns if c.is_key)
    table = _Table(relation.oid, relation.schema, relation.name, relation.identity)
    keys = _relation_keys(table, flagged, definition)
    if isinstance(keys, frozenset) and definition is not None:
        # The message does not say that a column of the key is generated, and so is not sent.
        keys |= {c.name for c in definition.columns if c.is_generated} & set(definition.keys)
    return (
        keys if isinstance(keys, StopReason) else _shape(table, sent, keys, types, as_text, without)
    )


def shape_of_definition(
    definition: TableDefinition,
    types: Types,
    *,
    as_text: frozenset[str],
    without: frozenset[str],
    sends_generated: bool = False,
) -> TableShape | StopReason:
    """Return the shape of a table's rows by its definition, or why they cannot be mirrored.

    It is that of the table's Relation messages as well. COPY has the shape's `columns` only, in
    their order.

    Args:
        definition: The table in the catalogue.
        types: Facts of the columns' types.
        as_text: Names of columns that are mirrored as the server's text.
        without: Names of columns that are left out.
        sends_generated: Whether the server sends stored generated columns. No other generated
            column is ever sent.
    """
    sent = [
        _Sent(c.name, c.type, c.modifier)
        for c in definition.columns
        if not c.is_generated or (sends_generated and not c.is_virtual)
    ]
    table = _Table(definition.oid, definition.schema, definition.name, definition.identity)
    keys = _definition_keys(table, definition)
    return (
        keys if isinstance(keys, StopReason) else _shape(table, sent, keys, types, as_text, without)
    )


def same_rows(a: TableShape, b: TableShape) -> bool:
    """Return whether rows of both shapes are read in the same way into the same columns."""
    return _read(a) == _read(b)


def _read(shape: TableShape) -> tuple[object, ...]:
    return shape.relation, shape.sent, shape.is_full, shape.columns, shape.keys


@dataclass(frozen=True)
class _Sent:
    """A column that rows have in the log."""

    name: str
    type: Oid
    modifier: int


@dataclass(frozen=True)
class _Table:
    relation: Oid
    schema: str
    name: str
    identity: ReplicaIdentity

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def anew(self) -> str:
        return f"`openmirror cdc resnapshot {self.title}`"


def _relation_keys(
    table: _Table, flagged: frozenset[str], definition: TableDefinition | None
) -> frozenset[str] | StopReason:
    """Return the key columns of a Relation message."""
    if table.identity is ReplicaIdentity.NOTHING:
        return _nothing(table)
    if table.identity is ReplicaIdentity.DEFAULT:
        return flagged or _no_key(table)
    if definition is None:
        detail = f"{table.title} is not in the catalogue any more, which alone knows its key"
        return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, table.anew)
    if not definition.keys:
        return _no_key(table)
    keys = frozenset(definition.keys)
    if table.identity is ReplicaIdentity.INDEX:
        return keys if flagged == keys else _other_index(table)
    return keys


def _definition_keys(table: _Table, definition: TableDefinition) -> frozenset[str] | StopReason:
    if table.identity is ReplicaIdentity.NOTHING:
        return _nothing(table)
    if not definition.keys:
        return _no_key(table)
    keys = frozenset(definition.keys)
    is_by_index = table.identity is ReplicaIdentity.INDEX
    if is_by_index and keys != frozenset(definition.identity_index_keys):
        return _other_index(table)
    return keys


def _nothing(table: _Table) -> StopReason:
    detail = f"{table.title} has REPLICA IDENTITY NOTHING, so the log has no old rows"
    return StopReason(
        StopCode.SOURCE_KEY_MISSING, detail, f"`ALTER TABLE {table.title} REPLICA IDENTITY DEFAULT`"
    )


def _no_key(table: _Table) -> StopReason:
    detail = f"{table.title} has no primary key"
    remedy = f"add a primary key, then {table.anew}"
    return StopReason(StopCode.SOURCE_KEY_MISSING, detail, remedy)


def _other_index(table: _Table) -> StopReason:
    detail = f"the replica identity of {table.title} is an index of other columns than its key"
    remedy = f"`ALTER TABLE {table.title} REPLICA IDENTITY DEFAULT`, then {table.anew}"
    return StopReason(StopCode.SOURCE_KEY_MISSING, detail, remedy)


def _shape(
    table: _Table,
    sent: Sequence[_Sent],
    keys: frozenset[str],
    types: Types,
    as_text: frozenset[str],
    without: frozenset[str],
) -> TableShape | StopReason:
    wrong = _wrong_key(table, sent, keys, without) or _wrong_name(
        table, [column.name for column in sent if column.name not in without], keys
    )
    if wrong is not None:
        return wrong
    columns = []
    for at, column in enumerate(sent):
        if column.name in without:
            continue
        is_key = column.name in keys
        reading = _column_reading(table, column, types, column.name in as_text, is_key)
        if isinstance(reading, StopReason):
            return reading
        columns.append(
            ShapeColumn(
                name=column.name,
                at=at,
                type=column.type,
                modifier=column.modifier,
                reading=reading,
                is_key=is_key,
            )
        )
    return TableShape(
        relation=table.relation,
        schema=table.schema,
        name=table.name,
        sent=len(sent),
        is_full=table.identity is ReplicaIdentity.FULL,
        columns=tuple(columns),
        keys=tuple(column.name for column in columns if column.is_key),
    )


def _column_reading(
    table: _Table, column: _Sent, types: Types, as_text: bool, is_key: bool
) -> TypeReading | StopReason:
    title = f"{table.title}.{column.name}"
    reading = reading_of(
        title, column.type, column.modifier, types, as_text=as_text, table=table.title
    )
    if not is_key:
        return reading
    if isinstance(reading, StopReason):
        # A key column cannot be left out.
        remedy = f"make a primary key of other columns, then {table.anew}"
        return StopReason(reading.code, f"key {reading.detail}", remedy)
    if not reading.is_stable_key:
        detail = (
            f"key column {title} is an array of JSON values, where NULL and JSON's null would be "
            "the same key"
        )
        return StopReason(StopCode.SOURCE_TYPE_UNSUPPORTED, detail, f"`--as-text {title}`")
    return reading


def _wrong_key(
    table: _Table, sent: Sequence[_Sent], keys: frozenset[str], without: frozenset[str]
) -> StopReason | None:
    names = [column.name for column in sent]
    for key in sorted(keys):
        title = f"{table.title}.{key}"
        if key not in names:
            detail = f"key column {title} is not among the columns that the log has"
            remedy = f"make a primary key of other columns, then {table.anew}"
            return StopReason(StopCode.SOURCE_KEY_MISSING, detail, remedy)
        if key in without:
            detail = f"column {title} belongs to the primary key, so it cannot be left out"
            remedy = f"start without `--without-column {title}`"
            return StopReason(StopCode.CHANGE_REFUSED, detail, remedy)
    return None


def _wrong_name(table: _Table, names: Iterable[str], keys: frozenset[str]) -> StopReason | None:
    seen: dict[str, str] = {}
    for name in names:
        title = f"{table.title}.{name}"
        if not is_unicode(name):
            detail = f"the name of column {title!a} is no text of the database's encoding"
            return StopReason(StopCode.CHANGE_REFUSED, detail, "rename the column")
        if fold_case(name) == fold_case(ROW_MARKER_COLUMN):
            detail = f"column {title} has the name of the marker column of change files"
            remedy = _without_one(table, [name], keys)
            return StopReason(StopCode.CHANGE_REFUSED, detail, remedy)
        if fold_case(name) in seen:
            other = seen[fold_case(name)]
            detail = f"columns {table.title}.{other} and {title} are one name to a Delta table"
            remedy = _without_one(table, [name, other], keys)
            return StopReason(StopCode.CHANGE_REFUSED, detail, remedy)
        seen[fold_case(name)] = name
    return None


def _without_one(table: _Table, names: Sequence[str], keys: frozenset[str]) -> str:
    """Return the remedy for columns of which one has to go; the key's cannot be left out."""
    for name in names:
        if name not in keys:
            return f"`--without-column {table.title}.{name}`, or rename the column"
    return f"rename the column, then {table.anew}"
