"""Which columns of a table are mirrored, which are its key, and why a table is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openmirror.cdc.postgresql.definitions import (
    ColumnDefinition,
    ReplicaIdentity,
    TableDefinition,
    TypeFacts,
    TypeKind,
)
from openmirror.cdc.postgresql.pgoutput import Relation, RelationColumn
from openmirror.cdc.postgresql.shapes import (
    TableShape,
    same_rows,
    shape_of,
    shape_of_definition,
)
from openmirror.protocol.streams import StopCode, StopReason

NONE: frozenset[str] = frozenset()
_INT, _TEXT, _REGCLASS, _JSONB_ARRAY = 23, 25, 2205, 3807
_TYPES = {
    _JSONB_ARRAY: TypeFacts(
        oid=_JSONB_ARRAY, schema="pg_catalog", name="_jsonb", kind=TypeKind.BASE, element=3802
    )
}


def _table(
    columns: dict[str, int],
    keys: tuple[str, ...] = ("id",),
    identity: ReplicaIdentity = ReplicaIdentity.DEFAULT,
    **more: tuple[str, ...],
) -> TableDefinition:
    return TableDefinition(
        oid=7,
        schema="public",
        name="t",
        identity=identity,
        columns=tuple(
            ColumnDefinition(name=name, number=n, type=type, modifier=-1)
            for n, (name, type) in enumerate(columns.items(), 1)
        ),
        keys=keys,
        **more,
    )


def _relation(table: TableDefinition, flagged: tuple[str, ...] | None = None) -> Relation:
    names = table.keys if flagged is None else flagged
    is_full = table.identity is ReplicaIdentity.FULL
    columns = tuple(
        RelationColumn(c.name, c.type, c.modifier, is_full or c.name in names)
        for c in table.columns
        if not c.is_generated
    )
    return Relation(table.oid, table.schema, table.name, table.identity, columns)


def _both(
    table: TableDefinition, as_text: frozenset[str] = NONE, without: frozenset[str] = NONE
) -> TableShape | StopReason:
    """The shape by the definition, which is the same by the Relation message."""
    by_definition = shape_of_definition(table, _TYPES, as_text=as_text, without=without)
    by_relation = shape_of(_relation(table), table, _TYPES, as_text=as_text, without=without)
    assert by_definition == by_relation
    return by_definition


def _stop(found: TableShape | StopReason, code: StopCode) -> StopReason:
    assert isinstance(found, StopReason), found
    assert found.code is code
    return found


def test_both_ways_give_one_shape() -> None:
    table = _table({"a": _TEXT, "id": _INT, "b": _INT})
    for identity in (ReplicaIdentity.DEFAULT, ReplicaIdentity.FULL):
        shape = _both(replace(table, identity=identity))
        assert isinstance(shape, TableShape)
        assert [(c.name, c.at, c.is_key) for c in shape.columns] == [
            ("a", 0, False), ("id", 1, True), ("b", 2, False)
        ]  # fmt: skip
        assert (shape.sent, shape.keys, shape.title) == (3, ("id",), "public.t")
        assert shape.is_full is (identity is ReplicaIdentity.FULL)


def test_columns_are_left_out_or_taken_as_text() -> None:
    table = _table({"a": _REGCLASS, "id": _INT, "b": _INT})
    shape = _both(table, as_text=frozenset("b"), without=frozenset("a"))
    assert isinstance(shape, TableShape)
    assert [(c.name, c.at, c.reading.type) for c in shape.columns] == [
        ("id", 1, "integer"), ("b", 2, "string")
    ]  # fmt: skip
    assert shape.sent == 3
    other = _both(table, without=frozenset("a"))
    assert isinstance(other, TableShape)
    assert same_rows(shape, shape)
    assert same_rows(shape, replace(shape, name="renamed"))
    assert not same_rows(shape, other)


def test_generated_columns_are_left_out_by_name() -> None:
    table = _table({"id": _INT, "g": _INT, "b": _INT})
    columns = tuple(replace(c, is_generated=c.name == "g") for c in table.columns)
    shape = _both(replace(table, columns=columns))
    assert isinstance(shape, TableShape)
    assert [(c.name, c.at) for c in shape.columns] == [("id", 0), ("b", 1)]
    assert shape.sent == 2
    # The Relation message flags the rest of such a key only.
    keyed = replace(table, columns=columns, keys=("id", "g"))
    stop = _stop(_both(keyed), StopCode.SOURCE_KEY_MISSING)
    assert "public.t.g" in stop.detail


def test_columns_that_differ_only_by_case_are_refused_with_both_names() -> None:
    table = _table({"id": _INT, "Name": _TEXT, "name": _TEXT})
    stop = _stop(_both(table), StopCode.CHANGE_REFUSED)
    assert "public.t.Name and public.t.name" in stop.detail
    assert "`--without-column public.t.name`" in stop.remedy
    assert isinstance(_both(table, without=frozenset({"name"})), TableShape)


@pytest.mark.parametrize("name", ["__rowMarker__", "__ROWMARKER__"])
def test_the_name_of_the_marker_is_reserved(name: str) -> None:
    table = _table({"id": _INT, name: _TEXT})
    stop = _stop(_both(table), StopCode.CHANGE_REFUSED)
    assert f"`--without-column public.t.{name}`" in stop.remedy
    assert isinstance(_both(table, without=frozenset({name})), TableShape)


def test_a_name_that_is_no_text_is_refused() -> None:
    stop = _stop(_both(_table({"id": _INT, "a\udcff": _TEXT})), StopCode.CHANGE_REFUSED)
    assert stop.detail.isascii()


def test_tables_without_a_key_that_the_log_has_are_refused() -> None:
    columns = {"id": _INT, "u": _INT}
    for table in (
        _table(columns, keys=()),
        _table(columns, keys=(), identity=ReplicaIdentity.FULL),
        _table(columns, identity=ReplicaIdentity.NOTHING),
    ):
        _stop(_both(table), StopCode.SOURCE_KEY_MISSING)


def test_an_index_as_identity_must_be_of_the_key() -> None:
    columns = {"id": _INT, "u": _INT}
    other = _table(columns, identity=ReplicaIdentity.INDEX, identity_index_keys=("u",))
    relation = _relation(other, flagged=("u",))
    for found in (
        shape_of_definition(other, {}, as_text=NONE, without=NONE),
        shape_of(relation, other, {}, as_text=NONE, without=NONE),
    ):
        assert "replica identity" in _stop(found, StopCode.SOURCE_KEY_MISSING).detail
    same = _table(columns, identity=ReplicaIdentity.INDEX, identity_index_keys=("id",))
    assert isinstance(_both(same), TableShape)


def test_the_message_knows_the_key_unless_the_identity_is_full() -> None:
    table = _table({"id": _INT, "u": _INT})
    relation = _relation(table, flagged=("u",))
    shape = shape_of(relation, None, {}, as_text=NONE, without=NONE)
    assert isinstance(shape, TableShape)
    assert shape.keys == ("u",)
    full = replace(relation, identity=ReplicaIdentity.FULL)
    gone = shape_of(full, None, {}, as_text=NONE, without=NONE)
    _stop(gone, StopCode.RESNAPSHOT_NEEDED)
    # The catalogue is newer than the message, and its key is another one.
    later = replace(table, keys=("other",))
    _stop(shape_of(full, later, {}, as_text=NONE, without=NONE), StopCode.SOURCE_KEY_MISSING)


def test_a_key_cannot_be_left_out() -> None:
    table = _table({"id": _INT, "v": _INT})
    stop = _stop(_both(table, without=frozenset({"id"})), StopCode.CHANGE_REFUSED)
    assert stop.remedy == "start without `--without-column public.t.id`"


def test_keys_of_types_that_are_no_keys_are_refused_by_name() -> None:
    unstable = _stop(_both(_table({"id": _REGCLASS})), StopCode.SOURCE_TYPE_UNSUPPORTED)
    assert "key column public.t.id is of type regclass" in unstable.detail
    assert "--without-column" not in unstable.remedy
    table = _table({"id": _JSONB_ARRAY})
    merged = _stop(_both(table), StopCode.SOURCE_TYPE_UNSUPPORTED)
    assert merged.remedy == "`--as-text public.t.id`"
    assert isinstance(_both(table, as_text=frozenset({"id"})), TableShape)
    assert isinstance(_both(_table({"id": _INT, "v": _JSONB_ARRAY})), TableShape)
