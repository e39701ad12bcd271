"""A table that is dropped, one that comes back, and the yes that let it go."""

from __future__ import annotations

import pytest

from openmirror.plan.transitions.confirmed import confirmed, used_up
from openmirror.plan.transitions.dropped import dropped
from openmirror.plan.transitions.restored import restored
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.table.control import (
    Dropped,
    Ended,
    Failures,
    Hold,
    MirrorDocument,
    Request,
    RequestKind,
)
from tests.unit.transitions.values import (
    BEFORE,
    FOLDER,
    NOW,
    OTHER_INCARNATION,
    RECORD,
    app,
    applied,
    batch,
    control,
    manifest,
    problem,
    record,
)

LASTS = {
    "epoch": 2,
    "epochs": (app(1), app(2)),
    "decided": batch(1, 2),
    "record": record(batches=(batch(1, 2),)),
    "applied": applied(2),
}
UNDROP = Request(RequestKind.UNDROP, BEFORE, "ann", "by mistake")


def test_a_drop_ends_what_stopped_the_table_and_forgets_nothing_that_may_come_back() -> None:
    failures = Failures(2, (manifest(1),), BEFORE, "error")
    before = control(**LASTS, missing_since=BEFORE, problem=problem(), failures=failures)
    assert dropped(before, OTHER_INCARNATION, NOW) == control(
        **LASTS,
        dropped=Dropped(OTHER_INCARNATION, NOW),
        drops=(Dropped(OTHER_INCARNATION, NOW),),
        ended=(Ended(problem(), NOW, "the table was dropped"),),
    )


def test_a_drop_of_a_table_without_a_problem_ends_none() -> None:
    assert dropped(control(**LASTS), RECORD, NOW).ended == ()


def test_a_table_that_is_back_with_its_folder_goes_on() -> None:
    before = control(**LASTS, dropped=Dropped(RECORD, BEFORE), missing_since=BEFORE)
    assert restored(before, NOW, hold=False) == control(**LASTS)


def test_a_table_that_an_operator_brought_back_is_held_and_the_request_is_done() -> None:
    before = control(dropped=Dropped(RECORD, BEFORE), request=UNDROP)
    after = restored(before, NOW, hold=True)
    assert after == control(hold=Hold(NOW, "ann", "brought back by undrop"))


def test_a_request_that_is_another_runners_by_now_holds_nothing() -> None:
    assert restored(control(dropped=Dropped(RECORD, BEFORE)), NOW, hold=True) == control()


def test_a_folder_that_is_back_leaves_the_request_to_the_next_observation() -> None:
    before = control(dropped=Dropped(RECORD, BEFORE), request=UNDROP)
    assert restored(before, NOW, hold=False) == control(request=UNDROP)


ITEMS = TableFolder("m", TablePath("", "Items"))
ZONE = Incarnation("zone")


def test_a_yes_names_each_folder_once_and_takes_the_zone_for_the_mirrors_own() -> None:
    before = MirrorDocument(zone=Incarnation("old"), confirmed_drops=("Items",))
    after = confirmed(before, [FOLDER, ITEMS], ZONE)
    assert after == MirrorDocument(zone=ZONE, confirmed_drops=("Items", str(FOLDER.path)))


@pytest.mark.parametrize(
    ("drops", "left"),
    [(("Items", "Others"), ("Others",)), (("Others",), ("Others",)), ((), ())],
)
def test_a_yes_is_used_up_by_its_own_drop_only(
    drops: tuple[str, ...], left: tuple[str, ...]
) -> None:
    before = MirrorDocument(zone=ZONE, confirmed_drops=drops)
    assert used_up(before, ITEMS) == MirrorDocument(zone=ZONE, confirmed_drops=left)
