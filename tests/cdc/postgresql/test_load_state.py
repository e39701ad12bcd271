"""The document of a load, and its parts in the zone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

from openmirror.cdc.postgresql.definitions import (
    ColumnDefinition,
    ReplicaIdentity,
    TableDefinition,
)
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.load_state import (
    ChangePart,
    LoadState,
    RereadPart,
    RowPart,
    definition_facts,
)
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.staging import StreamStaging
from openmirror.errors import ConditionFailed, DocumentUnreadable
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.harness.clock import Clock

MARK = LogPlace(Lsn(100), 1)
TABLE = TableDefinition(
    oid=16384,
    schema="public",
    name="a\udce9",
    identity=ReplicaIdentity.DEFAULT,
    columns=(ColumnDefinition(name="id", number=1, type=20, modifier=-1),),
    keys=("id",),
    key_index=16390,
)
NEW = LoadState(number="7", definition=definition_facts(TABLE), fingerprint=Fingerprint("{}"))
FIRST = RowPart(file="rows-1", after=None, through=(b"5", b"\xe9\xff"), rows=5)
SECOND = RowPart(file="rows-2", after=FIRST.through, through=(b"9", b""), rows=4)


def _change(file: str, begins: int, through: int) -> ChangePart:
    return ChangePart(
        file=file,
        begins=LogPlace(Lsn(begins), 1),
        through=LogPlace(Lsn(through), 2),
        rows=2,
        has_partial=True,
    )


def _whole() -> LoadState:
    state = NEW.begun(MARK, SECOND.through, 99).with_ranges(FIRST, SECOND)
    state = state.with_changes(LogPlace(Lsn(300), 2), _change("c", 200, 300))
    return state.with_rereads(RereadPart(file="again", rows=1))


@pytest.mark.parametrize("state", [NEW, NEW.begun(MARK, None, 0), _whole()])
def test_a_state_is_read_as_it_was_written(state: LoadState) -> None:
    assert LoadState.from_json(state.as_json()) == state


WRONG = [None, "x", -1, {}, [1], True]
POSSIBLE = {
    "number": ["x"],
    "fingerprint": ["x"],
    "definition": [{}],
    "firstMark": [None],
    "high": [None],
    "changesThrough": [None],
}


def test_what_is_no_state_is_refused() -> None:
    document = json.loads(_whole().as_json())
    for name in document:
        less = {key: value for key, value in document.items() if key != name}
        wrong = [value for value in WRONG if value not in POSSIBLE.get(name, [])]
        for other in [less, *({**document, name: value} for value in wrong)]:
            with pytest.raises(ValueError, match="no state of a load"):
                LoadState.from_json(json.dumps(other).encode())


def test_a_gap_between_ranges_is_refused() -> None:
    begun = NEW.begun(MARK, SECOND.through, 0)
    with pytest.raises(ValueError, match="does not follow"):
        begun.with_ranges(SECOND)
    assert not begun.with_ranges(FIRST).has_all_rows
    assert begun.with_ranges(FIRST, SECOND).has_all_rows
    assert NEW.begun(MARK, None, 0).has_all_rows
    assert not NEW.has_all_rows


def test_changes_before_the_first_mark_are_not_needed() -> None:
    staged = NEW.with_changes(LogPlace(Lsn(150), 2), _change("old", 50, 90), _change("c", 95, 150))
    assert [part.file for part in staged.begun(MARK, None, 0).changes] == ["c"]


@pytest.mark.parametrize(
    "other",
    [
        replace(TABLE, name="b"),
        replace(TABLE, oid=1),
        replace(TABLE, key_index=1),
        replace(TABLE, columns=(replace(TABLE.columns[0], type=23),)),
        replace(TABLE, columns=(replace(TABLE.columns[0], number=2),)),
        replace(TABLE, columns=(replace(TABLE.columns[0], modifier=5),)),
    ],
)
def test_another_definition_is_seen(other: TableDefinition) -> None:
    assert definition_facts(other) != definition_facts(TABLE)
    assert json.loads(json.dumps(definition_facts(TABLE))) == definition_facts(TABLE)


def _staging() -> tuple[Clock, MemoryStore, StreamStaging]:
    clock = Clock()
    store = MemoryStore(clock)
    return clock, store, StreamStaging(store, StorePath("zone"), "shop")


def test_a_load_is_found_again_without_parts_that_nothing_names() -> None:
    _, store, staging = _staging()
    load = staging.begin(NEW)
    rows = pa.table({"id": [1, 2, 3]})
    kept, lost = load.pieces.write("rows", rows), load.pieces.write("rows", rows)
    part = replace(FIRST, file=kept)
    load.change(lambda state: state.begun(MARK, FIRST.through, 0).with_ranges(part))
    found = staging.open("7")
    assert found is not None
    assert found.state == load.state
    assert pa.concat_tables(found.pieces.read(kept)).equals(rows)
    names = {entry.name for entry in store.list_folder(found.pieces.folder).entries}
    assert names == {kept, "load.json"}
    assert lost not in names
    found.remove()
    assert staging.open("7") is None


def test_two_processes_do_not_change_one_load() -> None:
    _, _, staging = _staging()
    first = staging.begin(NEW)
    second = staging.open("7")
    assert second is not None
    second.change(lambda state: state.begun(MARK, None, 0))
    with pytest.raises(ConditionFailed):
        first.change(lambda state: state.begun(MARK, None, 1))
    with pytest.raises(ConditionFailed):
        staging.begin(NEW)


def test_a_document_of_another_version_is_refused() -> None:
    _, store, staging = _staging()
    store.put(StorePath("zone/_streams/_loads/shop/7/load.json"), b'{"version": 2}')
    with pytest.raises(DocumentUnreadable):
        staging.open("7")


def test_what_nobody_owns_is_removed_after_a_day() -> None:
    clock, _, staging = _staging()
    staging.begin(NEW)
    pieces = staging.pieces("8")
    name = pieces.write("changes", pa.table({"id": [1]}))
    clock.turn(timedelta(hours=23))
    pieces.write("changes", pa.table({"id": [1]}))
    clock.turn(timedelta(hours=2))
    assert staging.remove_abandoned({"7"}) == []
    assert staging.remove_abandoned(()) == ["zone/_streams/_loads/shop/7"]
    clock.turn(timedelta(days=1))
    assert [str(path) for path in staging.unowned(())] == ["zone/_streams/_loads/shop/8"]
    assert staging.remove_abandoned(()) == ["zone/_streams/_loads/shop/8"]
    assert staging.remove_abandoned(()) == []
    pieces.remove([name])
