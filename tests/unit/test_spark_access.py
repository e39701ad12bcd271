"""Where Spark finds a root, how it gets at it, and what it makes of an account's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.errors import PySparkException

from openmirror.errors import AccessDenied, CannotStart, ConditionFailed, NotThere, Unavailable
from openmirror.ports.storage_account import AccountUrl
from openmirror.spark.access import abfs_settings
from openmirror.spark.failures import storage_answers
from openmirror.spark.places import account_spark_paths, local_spark_paths
from openmirror.table.layout import StorePath

CLOUD = AccountUrl.parse("https://contoso.dfs.core.windows.net")
HOST = "contoso.dfs.core.windows.net"
EMULATOR = AccountUrl.parse("http://127.0.0.1:10000/dev")
PATH = StorePath("landing/m/Files/LandingZone/a[1] 50%20#/f.parquet")


# --- Places -------------------------------------------------------------------------------------


def test_a_path_in_an_account_is_a_uri_in_which_every_character_means_itself() -> None:
    assert (
        account_spark_paths(CLOUD)(PATH)
        == f"abfss://landing@{HOST}/m/Files/LandingZone/a[1] 50%20#/f.parquet"
    )


def test_a_sovereign_cloud_keeps_its_own_host() -> None:
    account = AccountUrl.parse("https://contoso.dfs.core.chinacloudapi.cn")
    place = account_spark_paths(account)(StorePath("lake/m"))
    assert place == "abfss://lake@contoso.dfs.core.chinacloudapi.cn/m"


def test_an_emulator_is_named_as_spark_wants_it_and_reached_by_its_address() -> None:
    place = account_spark_paths(EMULATOR)(StorePath("lake/m"))
    assert place == "abfs://lake@dev.dfs.core.windows.net/m"
    settings = abfs_settings(EMULATOR, "the key", {})
    assert settings["fs.azure.abfs.endpoint"] == "127.0.0.1:10000"
    assert settings["fs.azure.always.use.https"] == "false"
    assert settings["fs.azure.account.key.dev.dfs.core.windows.net"] == "the key"


def test_a_local_root_is_a_plain_path() -> None:
    assert local_spark_paths("/a b/")(StorePath("lake/m")) == "/a b/lake/m"


# --- Access -------------------------------------------------------------------------------------


def oauth(env: Mapping[str, str]) -> dict[str, str]:
    """Settings of the cloud account, without what is the same in each."""
    found = abfs_settings(CLOUD, None, env)
    assert found.pop("fs.azure.metrics.collection.enabled") == "false"
    assert all(name.endswith(f".{HOST}") for name in found), "another account keeps its own"
    named = {name.removesuffix(f".{HOST}"): value for name, value in found.items()}
    assert named.pop("fs.azure.account.auth.type") == "OAuth"
    named["provider"] = named.pop("fs.azure.account.oauth.provider.type").rpartition(".")[2]
    return {name.removeprefix("fs.azure.account.oauth2."): v for name, v in named.items()}


def test_without_anything_else_it_is_the_managed_identity() -> None:
    assert oauth({}) == {"provider": "MsiTokenProvider"}
    assert oauth({"AZURE_CLIENT_ID": "c"}) == {"provider": "MsiTokenProvider", "client.id": "c"}


def test_a_workloads_token_file_comes_before_all_others() -> None:
    env = {
        "AZURE_CLIENT_ID": "c",
        "AZURE_TENANT_ID": "t",
        "AZURE_FEDERATED_TOKEN_FILE": "/token",
        "AZURE_CLIENT_SECRET": "unused",
    }
    assert oauth(env) == {
        "provider": "WorkloadIdentityTokenProvider",
        "client.id": "c",
        "msi.tenant": "t",
        "msi.authority": "https://login.microsoftonline.com/",
        "token.file": "/token",
    }


def test_a_service_principal_asks_the_authority_of_its_cloud() -> None:
    env = {
        "AZURE_CLIENT_ID": "c",
        "AZURE_TENANT_ID": "t",
        "AZURE_CLIENT_SECRET": "s",
        "AZURE_AUTHORITY_HOST": "https://login.chinacloudapi.cn/",
    }
    assert oauth(env) == {
        "provider": "ClientCredsTokenProvider",
        "client.id": "c",
        "client.secret": "s",
        "client.endpoint": "https://login.chinacloudapi.cn/t/oauth2/token",
    }


def test_half_an_identity_is_refused() -> None:
    with pytest.raises(CannotStart, match="AZURE_TENANT_ID"):
        abfs_settings(CLOUD, None, {"AZURE_CLIENT_SECRET": "s", "AZURE_CLIENT_ID": "c"})


def test_no_token_goes_where_there_is_no_tls() -> None:
    with pytest.raises(CannotStart, match="without TLS"):
        abfs_settings(EMULATOR, None, {})


# --- Answers ------------------------------------------------------------------------------------


class JavaError:
    """An exception of the JVM, as far as it is asked."""

    def __init__(self, name: str, status: int = 0, cause: JavaError | None = None) -> None:
        self._name, self._status, self._cause = name, status, cause

    def getClass(self) -> JavaError:  # noqa: N802 - Java's name
        return self

    def getName(self) -> str:  # noqa: N802
        return self._name

    def getStatusCode(self) -> int:  # noqa: N802
        return self._status

    def getMessage(self) -> str:  # noqa: N802
        return "Operation failed\nand a second line"

    def getCause(self) -> JavaError | None:  # noqa: N802
        return self._cause


def answered(status: int, package: str = "org.apache.hadoop") -> PySparkException:
    name = f"{package}.fs.azurebfs.contracts.exceptions.AbfsRestOperationException"
    return raised(JavaError("java.io.IOException", cause=JavaError(name, status)))


def raised(cause: JavaError) -> PySparkException:
    error: Any = PySparkException("a file cannot be read")
    error._origin = JavaError("org.apache.spark.SparkException", cause=cause)
    return error


@pytest.mark.parametrize(
    ("status", "ours"),
    [
        (404, NotThere),
        (412, ConditionFailed),
        (401, AccessDenied),
        (403, AccessDenied),
        (-1, Unavailable),
        (408, Unavailable),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
    ],
)
def test_an_accounts_answer_is_reported_in_our_words(status: int, ours: type[Exception]) -> None:
    with pytest.raises(ours, match=r"the table: .*Operation failed"), storage_answers("the table"):
        raise answered(status)


def test_databricks_own_copy_of_the_driver_is_understood_too() -> None:
    with pytest.raises(ConditionFailed), storage_answers("the table"):
        raise answered(412, "shaded.databricks.azurebfs.org.apache.hadoop")


@pytest.mark.parametrize(
    "error", [answered(409), raised(JavaError("java.io.EOFException"))], ids=["409", "no answer"]
)
def test_anything_else_stays_what_it_is(error: PySparkException) -> None:
    with pytest.raises(PySparkException) as found, storage_answers("the table"):
        raise error
    assert found.value is error
