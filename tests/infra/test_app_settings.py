"""The app settings that Bicep gives are what the app and its host read: no fewer, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from functions import bindings
from openmirror.deployment.rules.function_app import FUNCTIONS
from openmirror.emulator.certificate import certificate as make_certificate
from openmirror.errors import CannotStart
from openmirror.ports.connection import Connection
from openmirror.settings import PREFIX, variable
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from openmirror.wiring.functions import WORKSPACE, function_app_context, function_settings
from openmirror.wiring.telemetry import CONNECTION
from standins.azurite import Azurite
from standins.functions_host import Result, host
from tests.databricks_stub import JOB, Jobs, jobs_api
from tests.harness.publishing import land, table
from tests.identity_stub import identities
from tests.infra.bicep.expansion import expand
from tests.infra.sample_deployment import PARAMETERS, folder
from tests.ingestion_stub import QUIET, ingestion

RECORDER = Path(__file__).parent / "names_read"
GIVEN_BY_HAND = "OPENMIRROR_BATCH_FILES"
"""What the parameter `settings` adds."""
CLIENT = "11111111-1111-1111-1111-111111111111"

READ_BY_THE_HOST: Mapping[str, str] = {
    "AzureWebJobsStorage__blobServiceUri": "the host's own state: locks of timers, its keys",
    "AzureWebJobsStorage__queueServiceUri": "the host's own storage is one connection of three",
    "AzureWebJobsStorage__tableServiceUri": "the host's diagnostic events",
    "AzureWebJobsStorage__credential": "the host asks with an identity",
    "AzureWebJobsStorage__clientId": "and with this one",
    f"{bindings.QUEUES}__credential": "queue triggers ask with an identity",
}
"""Names that no Python reads, and what the platform reads them for."""
OF_THE_FORM: Mapping[str, str] = {
    f"{variable('dead_letters')}__credential": "no trigger has this connection: it only looks like "
    "the one beside it, and our own code takes no other kind",
}


def bicep_settings(**more: object) -> dict[str, str]:
    """The app's settings, as the Bicep files give them."""
    own = {"settings": {GIVEN_BY_HAND: "7"}, "databricksJobId": str(JOB)}
    made = expand(folder(), {**PARAMETERS, **own, **more})
    (found,) = [
        one for one in made.of("Microsoft.Web/sites/config") if one.name.endswith("/appsettings")
    ]
    return {name: str(value) for name, value in found.properties.items()}


def app_settings(**more: object) -> dict[str, str]:
    """The same, with client ids that Azure only says later."""
    return {
        name: CLIENT if value.endswith("clientId") else value
        for name, value in bicep_settings(**more).items()
    }


@dataclass
class Running:
    """What the app did under the real runtime library with these settings."""

    done: list[Result]
    jobs: Jobs
    read: Path
    functions: set[str]
    sent: int = 0
    """Items of telemetry that arrived."""

    def names(self) -> set[str]:
        """Every name that was asked for so far."""
        return set(self.read.read_text().split())


STOOD_IN = {
    variable("root"),
    *(
        f"{variable(connection)}__{part}"
        for connection, service in (
            ("queues", "queueServiceUri"),
            ("dead_letters", "blobServiceUri"),
        )
        for part in (service, "credential", "clientId")
    ),
}
"""What names a service of Azure and an identity for it: emulators have an address and a key."""


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, accounts: Iterator[Azurite]
) -> Iterator[Running]:
    azurite = next(accounts)
    place = tmp_path_factory.mktemp("settings")
    (place / "root" / landing_zone("m")).mkdir(parents=True)
    certificate = make_certificate(place / "certificate", [])
    with (
        identities() as given,
        jobs_api(certificate) as jobs,
        ingestion(certificate) as sent,
    ):
        emulators = {
            variable("root"): str(place / "root"),
            variable("queues"): azurite.connection_string,
            variable("dead_letters"): azurite.connection_string,
            WORKSPACE: jobs.url,
            CONNECTION: sent.connection_string,
        }
        of_this_machine = {
            **QUIET,
            **given.env,
            "REQUESTS_CA_BUNDLE": str(certificate[0]),
            "TMPDIR": str(place),
            "PYTHONPATH": str(RECORDER),
            "NAMES_READ": str(place / "read"),
        }
        kept = {name: value for name, value in app_settings().items() if name not in STOOD_IN}
        with host({**kept, **emulators, **of_this_machine}) as app:
            land(LocalStore(place / "root"), table("m", "Orders"), 1)
            done = [
                app.timer(name) for name in ("sweep", "start_runner", "cleanup", "dead_letters")
            ]
            done += [app.queue("poison_work", "no work item", identity="id-1"), app.http("status")]
            ran = Running(done, jobs, place / "read", set(app.functions))
        # Now it has ended, and all that it emits has arrived.
        ran.sent = len(sent.items)
        yield ran


def test_the_app_runs_with_these_settings_and_no_others(running: Running) -> None:
    assert [result.error for result in running.done] == [None] * 6
    assert running.done[-1].value["status"] == 200
    # The two services that it asks in its identity's name, beside storage.
    assert len(running.jobs.runs) == 1
    assert running.sent


def test_verify_checks_every_function_of_the_app(running: Running) -> None:
    assert running.functions == FUNCTIONS


def test_every_setting_that_is_given_is_read(running: Running) -> None:
    assert unread(running, app_settings()) == set(READ_BY_THE_HOST) | set(OF_THE_FORM)
    # Or it would say nothing that a name is among them.
    assert running.names().isdisjoint({*READ_BY_THE_HOST, "OPENMIRROR_NOBODYS"})


@pytest.mark.parametrize("name", ["OPENMIRROR_NOBODYS", "OPENMIRROR_QUEUES__queueServiceUrl"])
def test_a_setting_that_nobody_reads_is_noticed(running: Running, name: str) -> None:
    planted = app_settings(settings={name: "x"})
    assert name in unread(running, planted)


def unread(running: Running, given: Mapping[str, str]) -> set[str]:
    """What is given and asked for by no name, nor found as part of a connection."""
    return set(given) - running.names() - read_as_a_connection(given)


def test_no_setting_is_needed_that_is_not_given(running: Running) -> None:
    """What else of ours the app asked for, it did without."""
    asked = {name for name in running.names() if name.startswith((PREFIX, "DATABRICKS_"))}
    others = asked - set(app_settings()) - {variable("queues"), variable("dead_letters")}
    assert others, "the app asks for every setting that it knows"
    context = function_app_context(app_settings())
    context.ports.store.close()


def read_as_a_connection(env: Mapping[str, str]) -> set[str]:
    """Names that are found by what they begin with: those that change what is found."""
    found = set()
    for connection, service in (("queues", "queueServiceUri"), ("dead_letters", "blobServiceUri")):
        whole = Connection.read(env, variable(connection), service)
        assert whole is not None
        assert whole.client_id == CLIENT
        for name in env:
            if not name.startswith(variable(connection)):
                continue
            without = {key: value for key, value in env.items() if key != name}
            try:
                if Connection.read(without, variable(connection), service) != whole:
                    found.add(name)
            except ValueError:
                found.add(name)
    return found


@pytest.mark.parametrize(
    "name",
    [
        variable("root"),
        f"{variable('queues')}__queueServiceUri",
        f"{variable('dead_letters')}__blobServiceUri",
        variable("job"),
        WORKSPACE,
    ],
)
def test_one_that_is_taken_away_is_named_at_the_first_start(name: str) -> None:
    whole = app_settings()
    function_settings(whole)
    without = {key: value for key, value in whole.items() if key != name}
    with pytest.raises(CannotStart, match=name):
        function_settings(without)


def test_the_triggers_connection_is_the_one_that_our_own_code_reads() -> None:
    names = set(app_settings())
    assert f"{bindings.QUEUES}__queueServiceUri" in names
    assert variable("queues") == bindings.QUEUES
    # The host ignores case in what follows the name; neither does our own code.
    shouted = {
        key.upper() if key.startswith(f"{bindings.QUEUES}__") else key: value
        for key, value in app_settings().items()
    }
    assert function_settings(shouted).queues == function_settings(app_settings()).queues


def test_a_setting_of_the_deployment_is_added_and_none_of_ours_is_replaced() -> None:
    assert function_settings(app_settings()).batch_files == 7
    asked_for = {GIVEN_BY_HAND: "7", variable("root"): "https://evil.dfs.core.windows.net"}
    assert app_settings(settings=asked_for) == app_settings()


def test_without_a_job_neither_job_nor_workspace_is_set() -> None:
    names = set(app_settings(databricksJobId=""))
    assert set(app_settings()) - names == {variable("job"), WORKSPACE}
    assert function_settings(app_settings(databricksJobId="")).job is None


def test_nothing_that_is_given_is_a_secret() -> None:
    secrets = ("AccountKey=", "SharedAccess", "sig=", "listKeys", "@Microsoft.KeyVault")
    for name, value in app_settings().items():
        assert not any(word in value for word in secrets), name
        assert name not in (variable("account_key"), variable("queues"), variable("dead_letters"))
