"""The whole way: a publisher's program, the account that it writes to, faults, and the report."""

from __future__ import annotations

import base64
import http.client
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from openmirror.cli.app import app
from openmirror.emulator.listening import Listening, listen
from openmirror.settings import Settings
from tests.check.client import Account
from tests.emulator_server import endpoint_server
from tests.harness.publishing import file_name, parquet

CLIENT = Path(__file__).parent / "client.py"


@pytest.fixture(autouse=True)
def _any_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmirror.emulator.access.is_signed", lambda *_, **__: True)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["check", *words], env={"COLUMNS": "200", "OPENMIRROR_ROOT": ""})


def contents(folder: Path, count: int) -> Path:
    """Files of one row each, none like another, in a form that a small program can read."""
    lines = [base64.b64encode(parquet(id=[number])).decode() for number in range(count)]
    path = folder / "files"
    path.write_text("\n".join(lines))
    return path


def states(result: Result) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"kept": set(), "broken": set(), "untried": set()}
    for rule in json.loads(result.stdout)["data"]:
        found[rule["state"]].add(rule["rule"])
    return found


def test_a_right_publisher_survives_every_fault_and_breaks_nothing(tmp_path: Path) -> None:
    junit = tmp_path / "check.xml"
    files = contents(tmp_path, 7)
    result = run(
        "--serve", "--faults", "--json", "--junit", str(junit), "--fail-on", "advice",
        "--", sys.executable, "-S", str(CLIENT), "right", str(files),
    )  # fmt: skip
    found = states(result)
    assert found["broken"] == set(), result.stdout
    assert result.exit_code == 0
    of_faults = {rule["rule"] for rule in data(result) if rule["basis"] == "faults"}
    assert of_faults <= found["kept"]
    suite = ElementTree.parse(junit).getroot()[0]
    assert int(suite.attrib["tests"]) == len(data(result))
    assert int(suite.attrib["skipped"]) == len(found["untried"])
    assert suite.attrib["failures"] == "0"


def data(result: Result) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads(result.stdout)["data"]
    return rules


def found_out(result: Result) -> dict[str, Any]:
    """That the careless publisher was; the breach of the rule about metadata."""
    assert result.exit_code == 3
    assert states(result)["broken"] == {
        "appears-whole", "flush-closes", "new-names-only", "metadata-first", "metadata-spelt"
    }  # fmt: skip
    (late,) = (rule for rule in data(result) if rule["rule"] == "metadata-first")
    (breach,) = late["breaches"]
    assert breach["place"] == f"check/Orders/{file_name(1)}"
    found: dict[str, Any] = breach
    return found


def test_a_careless_publisher_is_found_out(tmp_path: Path) -> None:
    junit = tmp_path / "check.xml"
    result = run(
        "--serve", "--root", str(tmp_path), "--json", "--junit", str(junit),
        "--", sys.executable, "-S", str(CLIENT), "careless", str(contents(tmp_path, 3)),
    )  # fmt: skip
    breach = found_out(result)
    assert all(breach[name] for name in ("request", "at", "remedy"))
    suite = ElementTree.parse(junit).getroot()[0]
    failed = {case.attrib["name"] for case in suite if case.find("failure") is not None}
    assert failed == {"metadata-first"}


def test_a_publisher_that_keeps_no_state_repeats_itself_after_a_restart(tmp_path: Path) -> None:
    result = run(
        "--serve", "--faults", "--json",
        "--", sys.executable, "-S", str(CLIENT), "without-state", str(contents(tmp_path, 7)),
    )  # fmt: skip
    broken = states(result)["broken"]
    assert {"restart-repeats-nothing"} <= broken, result.stdout


def test_a_publisher_for_onelake_is_observed_unmodified_through_every_fault(
    tmp_path: Path,
) -> None:
    """Though it calls the mirror by other names, its requests and its files are the mirror's."""
    files = contents(tmp_path, 7)
    result = run(
        "--serve", "--onelake", "--mirror", "sales", "--faults", "--json", "--fail-on", "advice",
        "--", sys.executable, "-S", str(CLIENT), "right", str(files),
    )  # fmt: skip
    found = states(result)
    assert (result.exit_code, found["broken"]) == (0, set()), result.stdout + result.stderr
    of_faults = {rule["rule"] for rule in data(result) if rule["basis"] == "faults"}
    assert of_faults | {"new-names-only", "no-gaps", "stays-in-zone"} <= found["kept"]


def test_a_careless_publisher_for_onelake_is_found_out(tmp_path: Path) -> None:
    result = run(
        "--serve", "--onelake", "--run-by", "proxy", "--root", str(tmp_path), "--json",
        "--", sys.executable, "-S", str(CLIENT), "careless", str(contents(tmp_path, 3)),
    )  # fmt: skip
    found_out(result)


def test_onelake_is_refused_in_front_of_a_remote_account() -> None:
    result = run("--serve", "--onelake", "--root", "https://contoso.dfs.core.windows.net")
    assert result.exit_code == 2
    assert "--onelake is on this machine" in result.output


def test_a_command_that_fails_before_it_publishes_is_no_success() -> None:
    result = run("--serve", "--json", "--", sys.executable, "-S", "-c", "raise SystemExit(7)")
    assert result.exit_code == 1
    assert not states(result)["kept"]


def test_faults_are_refused_in_front_of_a_remote_account() -> None:
    result = run("--serve", "--faults", "--root", "https://contoso.dfs.core.windows.net")
    assert result.exit_code == 2
    assert "never injected in front of a remote account" in result.output


def test_a_publisher_is_observed_on_its_way_to_another_account(tmp_path: Path) -> None:
    from openmirror.wiring import observed_account

    with endpoint_server(tmp_path) as remote:
        (tmp_path / "landing/check/Files/LandingZone").mkdir(parents=True)
        options = {"root": f"{remote.url}/{remote.account}", "serve_port": 0}
        settings = Settings.load({}, options)
        with observed_account(settings, (), lambda fault: None) as account:
            publisher = Account(f"{account.url}/landing/check/Files/LandingZone")
            publisher.write("T/_1.parquet", b"PAR1")
            publisher.rename("T/_1.parquet", f"T/{file_name(1)}", if_none_match="*")
            assert publisher.numbers("T") == [1]
            status, _, _ = publisher.ask("GET", "T/none")
            assert publisher.must("GET", f"T/{file_name(1)}") == b"PAR1"
        assert (tmp_path / f"landing/check/Files/LandingZone/T/{file_name(1)}").is_file()
    assert status == 404
    assert [one.status for one in account.exchanges] == [201, 202, 200, 201, 200, 404, 200]


def test_an_account_that_cannot_be_reached_is_a_bad_gateway() -> None:
    from openmirror.conformance.forwarding import Forwarder
    from openmirror.ports.storage_account import AccountUrl

    nobody = listen("127.0.0.1", 0)
    port = nobody.getsockname()[1]
    nobody.close()
    listening = listen("127.0.0.1", 0)
    here = listening.getsockname()[1]
    with Listening(Forwarder(AccountUrl.parse(f"http://127.0.0.1:{port}/dev")), listening):
        connection = http.client.HTTPConnection("127.0.0.1", here, timeout=20)
        connection.request("GET", "/dev/landing/x")
        assert connection.getresponse().status == 502
        connection.close()
