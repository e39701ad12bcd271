"""The operator's verbs on a storage account: the same commands, another root."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Limits
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.stores.azure.store import AzureStore
from tests.contract.azure_stores import account_of, azure_store
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table

ORDERS = table("sales", "Orders")


@dataclass
class Rig:
    """An account with one mirrored table."""

    server: EndpointServer
    store: AzureStore

    def drain(self) -> None:
        ports = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=lambda: datetime.now(UTC),
            limits=Limits(metadata_grace=timedelta(0)),
        )
        assert not drain(ports, PaperEngine(self.store), ["sales"], workers=1).has_failed


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    with endpoint_server(tmp_path) as server, azure_store(server) as (store, _):
        monkeypatch.setenv("OPENMIRROR_ACCOUNT_KEY", server.key)
        made = Rig(server, store)
        land(store, ORDERS, 1, 2, 3)
        made.drain()
        yield made


@pytest.fixture
def ask(rig: Rig) -> Callable[..., Result]:
    def asked(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "--root", str(account_of(rig.server))])

    return asked


def table_status(ask: Callable[..., Result]) -> dict[str, object]:
    shown = ask("status", "--json")
    assert shown.exit_code == 0, shown.output
    (found,) = json.loads(shown.stdout)["data"]
    return found  # type: ignore[no-any-return]


def test_a_table_on_an_account_is_shown_held_and_let_go(
    rig: Rig, ask: Callable[..., Result]
) -> None:
    assert table_status(ask)["openmirror"]["appliedSequence"] == "3"  # type: ignore[index]
    held = ask("pause", "dbo.orders", "--why", "a load")
    assert held.exit_code == 0, held.output
    assert table_status(ask)["status"] == "Stopped"
    going = ask("resume", "sales/dbo.orders")
    assert "The Spark runner goes on" in going.output
    assert table_status(ask)["status"] == "Replicating"
    result = ask("history", "dbo.orders")
    assert result.exit_code == 0, result.output
    assert "pause" in result.output


def test_showing_a_root_writes_nothing_so_that_a_readers_role_is_enough(
    rig: Rig, ask: Callable[..., Result]
) -> None:
    before = len(rig.server.events)
    for words in (["status"], ["status", "--json"], ["history", "dbo.orders"]):
        assert ask(*words).exit_code == 0
    assert len(rig.server.events) == before > 0


def test_requests_are_written_where_the_runner_finds_them(
    rig: Rig, ask: Callable[..., Result]
) -> None:
    land(rig.store, ORDERS, 5)
    rig.drain()
    assert ask("skip", "dbo.orders", "--through", "4", "--why", "lost").exit_code == 0
    rig.drain()
    assert table_status(ask)["openmirror"]["appliedSequence"] == "5"  # type: ignore[index]
    for words in (["retry", "dbo.orders"], ["confirm-drops"], ["adopt", "--all"]):
        done = ask(*words)
        assert done.exit_code == 0, done.output


def test_cleanup_of_an_account_holds_nobody_up(rig: Rig, ask: Callable[..., Result]) -> None:
    done = ask("clean")
    assert "2 files archived" in done.output
    assert table_status(ask)["openmirror"]["appliedSequence"] == "3"  # type: ignore[index]


def test_a_container_that_is_missing_is_no_empty_mirror(
    rig: Rig, ask: Callable[..., Result]
) -> None:
    for container in ("landing", "lake"):
        (rig.server.root / container).rename(rig.server.root / f"{container}-away")
    result = ask("status")
    assert "holds no mirror" in result.output
    assert "the folder landing/<mirror>/Files/LandingZone" in result.output


@pytest.mark.parametrize("verb", ["up", "drain"])
def test_verbs_that_need_a_folder_say_who_does_it_on_an_account(
    ask: Callable[..., Result], verb: str
) -> None:
    done = ask(verb)
    assert done.exit_code == 1
    assert "the Function App and the Spark runner" in " ".join(done.output.split())
