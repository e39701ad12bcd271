"""Our own library for publishers, checked as anybody's is."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmirror.cli.check_verb import zone_url
from openmirror.conformance.catalogue import CATALOGUE
from openmirror.conformance.evidence import Evidence
from openmirror.conformance.exchanges import InjectedFault
from openmirror.conformance.faults import WITHOUT_COMMAND
from openmirror.conformance.observing import nobody_to_restart
from openmirror.conformance.retracing import read_history
from openmirror.conformance.rules import Basis, RuleState, assess
from openmirror.publishing import Publisher
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.wiring import observed_account, zones_of
from tests.check.test_zones import broken, states


@pytest.mark.parametrize(
    "faults",
    [
        (InjectedFault.LOST, InjectedFault.CONDITION),
        # The SDK backs off for seconds after each of the others.
        pytest.param(WITHOUT_COMMAND, marks=pytest.mark.soak),
    ],
    ids=["two", "all"],
)
def test_our_own_library_breaks_nothing_whatever_happens_to_it(
    tmp_path: Path, faults: tuple[InjectedFault, ...]
) -> None:
    (tmp_path / layout.landing_zone("check")).mkdir(parents=True)
    settings = Settings.load({}, {"root": str(tmp_path), "serve_port": 0})
    key = settings.serve_key.get_secret_value()
    with observed_account(settings, faults, nobody_to_restart) as account:
        zone = Publisher(zone_url(account.url, "check"), key)
        with zone, zone.table("dbo.orders", key=["id"]) as orders:
            zone.introduce("Contoso", "SQL", "2019")
            orders.insert([{"id": 0, "city": "Oslo"}])
            orders.flush()
            for number in range(1, 5):
                orders.upsert([{"id": number, "city": "Oslo"}])
                orders.flush()
            orders.delete([{"id": 1}])
        history = read_history(account.exchanges, account.before)
    found = assess(CATALOGUE, Evidence(zones=zones_of(settings, ()), history=history, ended=0))
    assert broken(found) == {}
    tried = states(found, RuleState.KEPT)
    of_faults = {rule.id for rule in CATALOGUE if rule.basis is Basis.FAULTS}
    without_restart = {name for name in of_faults if not name.startswith("restart")}
    some = {"survives-lost-answer", "retries-412"}
    assert (without_restart if len(faults) > len(some) else some) <= tried
    assert {"new-names-only", "appears-whole", "metadata-first", "markers"} <= tried


@pytest.mark.parametrize("name", ["dbo.orders", "orders"])
def test_a_local_zone_that_our_library_wrote_breaks_nothing(tmp_path: Path, name: str) -> None:
    place = tmp_path / layout.landing_zone("check")
    place.mkdir(parents=True)
    with Publisher(place) as zone, zone.table(name, key=["id"]) as orders:
        orders.upsert([{"id": 1, "city": "Oslo"}])
    settings = Settings.load({}, {"root": str(tmp_path)})
    assert broken(assess(CATALOGUE, Evidence(zones=zones_of(settings, ())))) == {}
