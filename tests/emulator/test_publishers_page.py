"""The program on the page for publishers, run as it stands against an account."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import azure.identity
import pytest
from azure.core.exceptions import ResourceExistsError

from tests.emulator_server import EndpointServer

PAGE = Path(__file__).parents[2] / "docs" / "PUBLISHERS.md"
FOLDER = "sales/Files/LandingZone/orders"


def program() -> Callable[[str, str, int, bytes], None]:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (text,) = (block for block in blocks if "def publish(" in block)
    names: dict[str, object] = {}
    exec(compile(text, PAGE.name, "exec"), names)  # the reader's own code
    publish = names["publish"]
    assert callable(publish)
    return publish


@pytest.fixture
def account(server: EndpointServer, monkeypatch: pytest.MonkeyPatch) -> EndpointServer:
    # Tokens are only sent over https, which is tested elsewhere; here the key stands for them.
    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", lambda: server.credential)
    return server


def test_what_a_publisher_writes_as_the_page_says_lands_whole_and_under_its_number(
    account: EndpointServer,
) -> None:
    publish = program()
    publish(account.url, FOLDER, 1, b"PAR1 first")
    publish(account.url, FOLDER, 2, b"PAR1 second")
    landed = account.root / "landing" / FOLDER
    assert {path.name: path.read_bytes() for path in landed.iterdir()} == {
        f"{1:020d}.parquet": b"PAR1 first",
        f"{2:020d}.parquet": b"PAR1 second",
    }


def test_two_writers_who_take_one_number_do_not_both_get_it(account: EndpointServer) -> None:
    publish = program()
    publish(account.url, FOLDER, 1, b"PAR1 mine")
    with pytest.raises(ResourceExistsError):
        publish(account.url, FOLDER, 1, b"PAR1 theirs")
    assert (account.root / "landing" / FOLDER / f"{1:020d}.parquet").read_bytes() == b"PAR1 mine"
