"""One reading of a landing zone's address, for whoever publishes into it and whoever checks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmirror.errors import Malformed, WrongRequest
from openmirror.ports.zone_url import ZoneUrl
from openmirror.publishing.places import zone_place
from openmirror.settings import Settings
from openmirror.wiring import zone_at

ACCOUNT = "https://contoso.dfs.core.windows.net"
ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
ITEM = "My%20Workspace/Sales.MountedRelationalDatabase"


@pytest.mark.parametrize(
    ("url", "account", "path"),
    [
        (
            "abfss://landing@contoso.dfs.core.windows.net/sales/Files/LandingZone",
            ACCOUNT,
            "landing/sales/Files/LandingZone",
        ),
        (
            "https://contoso.dfs.core.chinacloudapi.cn/landing/sales/Files/LandingZone/",
            "https://contoso.dfs.core.chinacloudapi.cn",
            "landing/sales/Files/LandingZone",
        ),
        ("https://contoso.blob.core.windows.net/landing/sales", ACCOUNT, "landing/sales"),
        (f"{ACCOUNT}/landing/sales%252F50%25", ACCOUNT, "landing/sales%2F50%"),
        (
            f"{ONELAKE}/{ITEM}/Files/LandingZone",
            ONELAKE,
            "My Workspace/Sales.MountedRelationalDatabase/Files/LandingZone",
        ),
        (
            "abfss://My%20Workspace@onelake.dfs.fabric.microsoft.com/a.b/Files/LandingZone",
            ONELAKE,
            "My Workspace/a.b/Files/LandingZone",
        ),
        ("http://127.0.0.1:10000/dev/landing/m", "http://127.0.0.1:10000/dev", "landing/m"),
        ("https://127.0.0.1:10443/dev/landing/m", "https://127.0.0.1:10443/dev", "landing/m"),
        ("https://[::1]:10443/dev/landing/m", "https://[::1]:10443/dev", "landing/m"),
        ("https://localhost:10443/dev/landing/m", "https://localhost:10443/dev", "landing/m"),
        ("http://endpoint:10080/dev/landing/m", "http://endpoint:10080/dev", "landing/m"),
        ("http://azurite.local:10000/dev/landing/m", "http://azurite.local:10000/dev", "landing/m"),
        ("http://dev.localhost:10000/landing/m", "http://dev.localhost:10000", "landing/m"),
    ],
)
def test_a_zone_is_read_from_the_urls_that_people_copy(url: str, account: str, path: str) -> None:
    found = ZoneUrl.parse(url)
    assert (str(found.account), found.path) == (account, path)


WRONG = {
    "another scheme": ("ftp://x/y", "begins with ftp"),
    "no folder": (f"{ACCOUNT}/landing", "names no folder of a container"),
    "no container": ("abfss://contoso.dfs.core.windows.net/x", "no container before the @"),
    "a query": (f"{ACCOUNT}/landing/x?sv=2024&sig=SECRET", "no token in a URL is ever used"),
    "a user": ("https://SECRET@contoso.dfs.core.windows.net/landing/x", "names a user"),
    "a password": ("abfss://c:SECRET@contoso.dfs.core.windows.net/x", "no container before the @"),
    "http to Azure": ("http://contoso.dfs.core.windows.net/landing/m/x", "an https:// URL"),
    "an emulator without its account": ("https://127.0.0.1:1/Dev/landing/m", "account's name as"),
    "a port that is none": ("https://contoso.dfs.core.windows.net:x/landing/m", "Port could not"),
    "a folder above": (f"{ACCOUNT}/landing/../lake", "'..' is no name of a folder"),
    "a folder above, encoded": (f"{ACCOUNT}/landing/%2e%2e/lake", "'..' is no name of a folder"),
    "an encoded separator": (f"{ACCOUNT}/landing/a%2Fb", "'a/b' is no name of a folder"),
    "a table": (f"{ACCOUNT}/landing/m/Files/LandingZone/T", "landing zone of the mirror m"),
    "OneLake, the item alone": (f"{ONELAKE}/{ITEM}", "Files/LandingZone"),
    "OneLake, other files": (f"{ONELAKE}/{ITEM}/Files/Mine", "Files/LandingZone"),
    "OneLake, another spelling": (f"{ONELAKE}/{ITEM}/files/landingzone", "Files/LandingZone"),
    "OneLake, a table": (f"{ONELAKE}/{ITEM}/Files/LandingZone/T", "nothing behind it"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_zone_is_refused_alike_and_shows_no_secret(what: str) -> None:
    url, why = WRONG[what]
    with pytest.raises(Malformed) as checked:
        zone_at(Settings(), url)
    with pytest.raises(WrongRequest) as published:
        zone_place(url)
    assert str(checked.value) == str(published.value)
    assert why in str(checked.value)
    assert "SECRET" not in str(checked.value)


def test_a_folder_inside_of_a_landing_zone_is_no_zone(tmp_path: Path) -> None:
    table = tmp_path / "landing" / "m" / "Files" / "LandingZone" / "T"
    with pytest.raises(WrongRequest, match="inside the landing zone of the mirror m"):
        zone_place(table)
    assert zone_place(table.parent).path == "landing/m/Files/LandingZone"
    assert zone_place(tmp_path / "zone").path == "zone"
