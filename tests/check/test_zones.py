"""Each mistake in a zone is found by the rule that is meant for it, and by no other."""

from __future__ import annotations

import pytest

from openmirror.conformance.catalogue import CATALOGUE
from openmirror.conformance.contents import read_zone
from openmirror.conformance.evidence import Evidence
from openmirror.conformance.rules import Assessed, Basis, RuleState, assess
from openmirror.conformance.zone_view import ZoneView
from openmirror.errors import NotThere, WrongRequest
from openmirror.formats.checking import ChangeFileRows
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Limits
from openmirror.protocol.names import ETag
from openmirror.table.layout import StorePath
from tests.check.wrong_zones import CASES, MIRROR, WrongZone, Zone, right


def assessed(zone: Zone) -> tuple[Assessed, ...]:
    view = ZoneView(zone.store, zone.at, MIRROR)
    contents = read_zone(view, ChangeFileInspector(view), ChangeFileRows(view), MIRROR, Limits())
    return assess(CATALOGUE, Evidence(zones=(contents,)))


def states(found: tuple[Assessed, ...], state: RuleState) -> set[str]:
    return {one.rule.id for one in found if one.state is state}


def broken(found: tuple[Assessed, ...]) -> dict[str, list[str]]:
    return {
        one.rule.id: [f"{breach.place}: {breach.what}" for breach in one.breaches]
        for one in found
        if one.state is RuleState.BROKEN
    }


def test_a_right_publisher_breaks_nothing_and_tries_what_a_zone_can_show() -> None:
    zone = Zone()
    right(zone)
    found = assessed(zone)
    assert broken(found) == {}
    of_zones = {rule.id for rule in CATALOGUE if rule.basis is Basis.ZONE}
    archived = {"applied-untouched", "number-used-once", "keys-unchanged", "options-unchanged"}
    assert states(found, RuleState.KEPT) == of_zones - archived - {"batches"}


def test_an_empty_zone_keeps_no_rule() -> None:
    assert states(assessed(Zone()), RuleState.KEPT) == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_planted_mistake_breaks_its_rules_alone(case: WrongZone) -> None:
    zone = Zone()
    case.make(zone)
    found = assessed(zone)
    assert broken(found).keys() == case.breaks, broken(found)
    for one in found:
        assert all(breach.place for breach in one.breaches)


def test_a_zone_is_shown_as_the_only_one_of_a_root_and_cannot_be_changed() -> None:
    zone = Zone()
    zone.keys()
    view = ZoneView(zone.store, zone.at, "other")
    (folder,) = view.list_folder(StorePath("landing/other/Files")).entries
    assert folder.name == "LandingZone"
    assert (
        b"id" in view.read(StorePath("landing/other/Files/LandingZone/Orders/_metadata.json")).data
    )
    with pytest.raises(NotThere):
        view.list_folder(StorePath("landing/check"))
    here = StorePath("landing/other/Files/LandingZone/Orders")
    for change in (
        lambda: view.write(here, b""),
        lambda: view.stream(here),
        lambda: view.move_file(here, here, ETag("")),
        lambda: view.move_folder(here, here),
        lambda: view.delete_file(here),
        lambda: view.delete_folder(here),
    ):
        with pytest.raises(WrongRequest, match="changes nothing"):
            change()
