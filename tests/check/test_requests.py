"""Each mistake that requests show is found by the rule that is meant for it, and by no other."""

from __future__ import annotations

import pytest

from openmirror.conformance.catalogue import CATALOGUE
from openmirror.conformance.evidence import Evidence
from openmirror.conformance.exchanges import Deed, InjectedFault, read_request
from openmirror.conformance.faults import FaultSchedule
from openmirror.conformance.rules import Basis, RuleState, assess
from openmirror.emulator.places import AccountNaming
from tests.check.script import ZONE, Script
from tests.check.test_zones import broken, states
from tests.check.wrong_requests import CASES, WrongRequests, begin, right
from tests.check.wrong_zones import CASES as IN_ZONES
from tests.harness.publishing import file_name


def test_a_right_publisher_breaks_nothing_and_tries_every_rule_about_requests() -> None:
    script = Script()
    right(script)
    found = assess(CATALOGUE, Evidence(history=script.history(), ended=0))
    assert broken(found) == {}
    of_requests = {rule.id for rule in CATALOGUE if rule.basis is not Basis.ZONE}
    # Nothing was flushed under its final name, which is as it should be.
    assert of_requests - states(found, RuleState.KEPT) == {"flush-closes"}


def test_whoever_asks_nothing_keeps_no_rule() -> None:
    found = assess(CATALOGUE, Evidence(history=Script().history()))
    assert states(found, RuleState.KEPT) == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_planted_mistake_breaks_its_rules_alone(case: WrongRequests) -> None:
    script = Script()
    case.make(script)
    found = assess(CATALOGUE, Evidence(history=script.history(), ended=case.ended))
    assert broken(found).keys() == case.breaks, broken(found)
    for one in found:
        assert all(breach.request and breach.at for breach in one.breaches)


def test_every_rule_is_broken_by_some_planted_mistake() -> None:
    planted = {rule for case in (*CASES, *IN_ZONES) for rule in case.breaks}
    # Found by what a mirror has applied, which tests of `validate` have; and mere advice.
    by_mirrors = {"applied-untouched", "keys-unchanged", "options-unchanged"}
    assert {rule.id for rule in CATALOGUE} - planted == by_mirrors | {"status-read"}
    assert len(CASES) + len(IN_ZONES) >= 40


def test_a_put_that_is_asked_again_with_the_same_bytes_is_no_second_file() -> None:
    script = Script()
    begin(script)
    lost = script.ask(Deed.PUT, file_name(1), size=9, new_only=True, body_hash="x", rows_hash="a")
    script.faulted(lost, InjectedFault.LOST)
    script.ask(Deed.PUT, file_name(1), size=9, new_only=True, body_hash="x", rows_hash="a")
    assert broken(assess(CATALOGUE, Evidence(history=script.history(), ended=0))) == {}


def test_a_reading_of_requests_has_each_deed_with_its_place() -> None:
    table = "landing/m/Files/LandingZone/T"
    for method, path, query, headers, deed, about in (
        ("PUT", f"/{table}/1", {"resource": "file"}, {}, Deed.MAKE_FILE, f"{table}/1"),
        ("PUT", f"/dev/{table}", {"resource": "directory"}, {}, Deed.MAKE_FOLDER, table),
        ("PUT", "/landing", {"resource": "filesystem"}, {}, Deed.MAKE_FOLDER, "landing"),
        ("PUT", "/landing", {"restype": "container"}, {}, Deed.MAKE_FOLDER, "landing"),
        ("PATCH", f"/{table}/1", {"action": "append"}, {}, Deed.APPEND, f"{table}/1"),
        ("PATCH", f"/{table}/1", {"action": "flush"}, {}, Deed.FLUSH, f"{table}/1"),
        ("PATCH", f"/{table}/1", {"action": "setProperties"}, {}, Deed.CHANGE, f"{table}/1"),
        ("PUT", f"/{table}/1", {}, {"x-ms-blob-type": "BlockBlob"}, Deed.PUT, f"{table}/1"),
        ("PUT", f"/{table}/1", {"comp": "block"}, {}, Deed.APPEND, f"{table}/1"),
        ("PUT", f"/{table}/1", {"comp": "blocklist"}, {}, Deed.PUT, f"{table}/1"),
        ("PUT", f"/{table}/1", {"comp": "metadata"}, {}, Deed.CHANGE, f"{table}/1"),
        ("PUT", f"/{table}/1", {"comp": "lease"}, {}, Deed.OTHER, f"{table}/1"),
        ("DELETE", f"/{table}/1", {}, {}, Deed.DELETE, f"{table}/1"),
        ("GET", f"/{table}/1", {}, {}, Deed.READ, f"{table}/1"),
        ("GET", f"/{table}", {"resource": "filesystem"}, {}, Deed.LIST, table),
        (
            "GET",
            "/landing",
            {"resource": "filesystem", "directory": "m/Files/LandingZone/T"},
            {},
            Deed.LIST,
            table,
        ),
        (
            "GET",
            "/landing",
            {"comp": "list", "restype": "container", "prefix": "m/Files/LandingZone/T/"},
            {},
            Deed.LIST,
            table,
        ),
        ("GET", "/work%20space/m/Files/LandingZone/T/1", {}, {}, Deed.READ, f"{table}/1"),
    ):
        if "%20" in path:
            path = path.replace("work%20space", "workspace")  # a container's name, as here
        asked = read_request(method, path, query, headers, AccountNaming("dev"))
        assert (asked.deed, asked.path) == (deed, about), (method, path, query)
    renamed = read_request(
        "PUT",
        f"/{table}/{file_name(1)}",
        {"mode": "legacy"},
        {"x-ms-rename-source": f"https://host/dev/{table}/_1?mode=legacy", "if-none-match": '"*"'},
        AccountNaming("dev"),
    )
    assert (renamed.deed, renamed.source, renamed.new_only) == (Deed.RENAME, f"{table}/_1", True)


def test_faults_come_one_at_a_time_and_never_to_the_first_file_or_a_file_again() -> None:
    script = Script()
    for number in (1, 2, 2, 3, 4):
        script.land(number)
    script.metadata()
    schedule = FaultSchedule((InjectedFault.BUSY, InjectedFault.LOST))
    chosen = [schedule.choose(one.asked) for one in script.exchanges]
    landings = [fault for one, fault in zip(script.exchanges, chosen, strict=True) if fault]
    assert landings == [InjectedFault.BUSY, InjectedFault.LOST]
    names = [one.asked.path for one, fault in zip(script.exchanges, chosen, strict=True) if fault]
    assert names == [f"{ZONE}/Orders/{file_name(2)}", f"{ZONE}/Orders/{file_name(3)}"]
    assert schedule.left == ()
