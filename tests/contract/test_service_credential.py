"""On Databricks one service credential gives every client of the runner its tokens."""

from __future__ import annotations

import gc
import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ServiceRequestError
from azure.core.pipeline.transport import HttpTransport

from openmirror.databricks.service_credential import ServiceCredential
from openmirror.errors import CannotStart, Unavailable
from openmirror.ports import ABSENT, WorkItem
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.settings import Settings
from openmirror.wiring.azure import account_store, given_identity, leases, work_queue
from openmirror.wiring.telemetry import CONNECTION, emitting
from standins.azurite import running
from tests.azurite.tokens import UnsignedTokens, make_certificate
from tests.contract.stores import DOCUMENT
from tests.emulator_server import endpoint_server
from tests.ingestion_stub import QUIET
from tests.telemetry.rig import Emitter

NAME = "openmirror"
ENV = {"OPENMIRROR_SERVICE_CREDENTIAL": NAME}
ORDERS = TableFolder("m", TablePath("", "Orders"))

# What `databricks.sdk.runtime` looks for on a cluster, and takes `dbutils` from.
_DBRUNTIME = """
class UserNamespaceInitializer:
    namespace = {}

    @classmethod
    def getOrCreate(cls):
        return cls

    @classmethod
    def get_namespace_globals(cls):
        return cls.namespace
"""


class Cluster:
    """A machine of a cluster, as far as its `dbutils.credentials` goes."""

    def __init__(self) -> None:
        self.providers: dict[str, Any] = {}
        self.asked: list[str] = []

    @property
    def credentials(self) -> Cluster:
        return self

    def getServiceCredentialsProvider(self, name: str) -> Any:  # noqa: N802 - as Databricks has it
        self.asked.append(name)
        if name not in self.providers:
            raise RuntimeError(f"PERMISSION_DENIED: no ACCESS on {name}\n\tat java.lang.Thread")
        return self.providers[name]


@pytest.fixture
def on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Any], None]]:
    """Makes this process one of a cluster, with these `dbutils`; the SDK's own code finds them."""
    (tmp_path / "dbruntime").mkdir()
    (tmp_path / "dbruntime" / "__init__.py").write_text(_DBRUNTIME)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "19.0")

    def become(dbutils: Any) -> None:
        initializer = importlib.import_module("dbruntime").UserNamespaceInitializer
        initializer.namespace = {"dbutils": dbutils}

    yield become
    for module in ("dbruntime", "databricks.sdk.runtime"):
        sys.modules.pop(module, None)


@pytest.fixture
def cluster(on_a_cluster: Callable[[Any], None]) -> Cluster:
    made = Cluster()
    on_a_cluster(made)
    return made


def test_queue_leases_and_files_are_reached_with_it_from_every_thread(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = cluster.providers[NAME] = UnsignedTokens()
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    # Had anything asked the environment, it would have failed.
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    options = ("--oauth", "basic", "--cert", str(certificate), "--key", str(key))
    with (
        running(tmp_path, *options) as emulator,
        endpoint_server(tmp_path / "root", certificate=(certificate, key)) as server,
    ):
        env = ENV | {"OPENMIRROR_QUEUES__queueServiceUri": emulator.queue_url}
        settings = Settings.load(env, {"root": f"{server.url}/{server.account}"})
        queue, locks, store = work_queue(settings), leases(settings), account_store(settings)
        store.write(DOCUMENT, b"{}", only_if=ABSENT)

        def at_work(number: int) -> bytes:
            queue.send(WorkItem(ORDERS, f"{number}"))
            return store.read(DOCUMENT).data

        with ThreadPoolExecutor(4) as workers:
            assert set(workers.map(at_work, range(8))) == {b"{}"}
        assert len(queue.take(32)) == 8
        lease = locks.take(ORDERS)
        assert lease is not None
        assert locks.take(ORDERS) is None
        lease.release()
        _close(queue, locks, store)
    assert set(cluster.asked) == {NAME}
    assert set(tokens.scopes) == {"https://storage.azure.com/.default"}


def _close(*parts: Any) -> None:
    for part in parts:
        part.close()
    # Errors that the SDK distinguished keep a connection alive until then, and the server waits.
    gc.collect()


class Expiring(UnsignedTokens):
    """Gives tokens that are as good as expired."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        token = super().get_token(*scopes, **options).token
        return AccessToken(token, int(time.time()) + 5)


@pytest.mark.parametrize(("tokens", "times"), [(Expiring(), 4), (UnsignedTokens(), 2)])
def test_a_token_is_asked_for_again_when_the_last_one_is_about_to_expire(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokens: UnsignedTokens,
    times: int,
) -> None:
    cluster.providers[NAME] = tokens
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    with endpoint_server(tmp_path / "root", certificate=certificate) as server:
        store = account_store(Settings.load(ENV, {"root": f"{server.url}/{server.account}"}))
        store.write(DOCUMENT, b"{}", only_if=ABSENT)
        for _ in range(2):
            assert store.read(DOCUMENT).data == b"{}"
        _close(store)
    # One to see that it works, and then for each request, or once.
    assert len(tokens.scopes) == times


def test_telemetry_is_sent_with_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = cluster.providers[NAME] = UnsignedTokens()
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    # Where the exporter keeps what it could not send.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Nothing listens there; a token is asked for before that is found out.
    env = {CONNECTION: f"InstrumentationKey={uuid4()};IngestionEndpoint=https://127.0.0.1:1/"}
    given = given_identity(Settings.load(ENV))
    with emitting(Emitter().process(), env, "runner", timedelta(minutes=15), given) as ports:
        ports.telemetry.report_statuses("m", ())
    assert set(tokens.scopes[1:]) == {"https://monitor.azure.com//.default"}


def test_a_workspace_that_gives_no_token_for_a_while_stops_no_table_for_good(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HttpTransport, "sleep", lambda *_: None)

    class Failing(UnsignedTokens):
        def get_token(self, *scopes: str, **options: Any) -> AccessToken:
            if self.scopes:
                raise RuntimeError("the metastore is being replaced\nmore")
            return super().get_token(*scopes, **options)

    cluster.providers[NAME] = Failing()
    store = account_store(Settings.load(ENV, {"root": "https://contoso.dfs.core.windows.net"}))
    with pytest.raises(Unavailable, match=r"the metastore is being replaced$"):
        store.read(DOCUMENT)


def test_without_the_right_to_use_it_the_runner_says_which_grant_is_missing(
    cluster: Cluster,
) -> None:
    with pytest.raises(CannotStart) as raised:
        given_identity(Settings.load(ENV))
    message = str(raised.value)
    assert "PERMISSION_DENIED: no ACCESS on openmirror" in message
    assert "GRANT ACCESS ON SERVICE CREDENTIAL `openmirror` TO" in message
    assert "java.lang" not in message


def test_off_a_cluster_it_is_refused_before_any_workspace_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    with pytest.raises(CannotStart, match="only be had on a Databricks cluster"):
        given_identity(Settings.load(ENV))


def test_a_runtime_without_service_credentials_is_named(
    on_a_cluster: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old:
        credentials = object()

    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "14.3")
    on_a_cluster(Old())
    with pytest.raises(CannotStart, match=r"16\.2 or newer.*this is 14\.3"):
        given_identity(Settings.load(ENV))


def test_over_http_it_gives_no_token_to_anybody(cluster: Cluster) -> None:
    cluster.providers[NAME] = UnsignedTokens()
    with pytest.raises(CannotStart, match="only sent over https"):
        account_store(Settings.load(ENV, {"root": "http://127.0.0.1:1/account"}))


def test_what_the_sdk_already_understands_is_handed_on_as_it_is() -> None:
    class Refusing:
        def get_token(self, *scopes: str, **options: Any) -> AccessToken:
            raise ServiceRequestError("as the provider raised it")

    with pytest.raises(ServiceRequestError, match=r"^as the provider raised it$"):
        ServiceCredential(NAME, Refusing()).get_token("scope")
