"""Settings: one default each, and errors that say which variable is wrong and what is allowed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from openmirror.errors import CannotStart
from openmirror.plan import Limits
from openmirror.ports.connection import Connection
from openmirror.ports.storage_account import AccountUrl
from openmirror.settings import Settings, limits, variable


def test_the_defaults_of_plans_are_those_of_settings() -> None:
    assert limits(Settings.load({}, {})) == Limits()


def test_every_setting_says_what_it_means() -> None:
    assert [n for n, field in Settings.model_fields.items() if not field.description] == []


def test_the_environment_sets_every_setting_by_its_name() -> None:
    settings = Settings.load(
        {
            "OPENMIRROR_ROOT": "/data",
            "OPENMIRROR_BATCH_FILES": "7",
            "OPENMIRROR_BATCH_BYTES": "5 MiB",
            "OPENMIRROR_DROP_GRACE": "0",
            "OPENMIRROR_SWEEP_INTERVAL": "2m",
            "OPENMIRROR_DRIVER_MEMORY": "800m",
            "UNRELATED": "x",
        },
        {},
    )
    assert settings.root_folder() == Path("/data")
    assert limits(settings) == Limits(
        batch_files=7, batch_bytes=5 * 1024**2, drop_grace=timedelta(0)
    )
    assert settings.sweep_interval == timedelta(minutes=2)
    assert settings.driver_memory == "800m"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30", timedelta(seconds=30)),
        ("1.5", timedelta(seconds=1.5)),
        ("500ms", timedelta(milliseconds=500)),
        ("30 s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        ("2H", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
    ],
)
def test_durations_are_seconds_unless_they_have_a_unit(text: str, meant: timedelta) -> None:
    assert Settings.load({"OPENMIRROR_METADATA_GRACE": text}, {}).metadata_grace == meant


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("workers", "0", "at least 1"),
        ("workers", "two", "a whole number"),
        ("workers", "9999", "at most 256"),
        ("batch_bytes", "much", "1GiB"),
        ("drop_grace", "-1", "10m"),
        ("drop_grace", "soon", "10m"),
        ("sweep_interval", "0", "at least 1 s"),
        ("driver_memory", "all of it", "800m, 2g"),
        ("debug", "perhaps", "true or false"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    with pytest.raises(CannotStart) as raised:
        Settings.load({variable(name): value}, {})
    text = str(raised.value)
    assert variable(name) in text
    assert f'"{value}"' in text
    assert allowed in text
    assert str(Settings.model_fields[name].description) in text


def test_all_wrong_values_are_reported_at_once() -> None:
    with pytest.raises(CannotStart) as raised:
        Settings.load({"OPENMIRROR_WORKERS": "x", "OPENMIRROR_BATCH_FILES": "0"}, {})
    assert len(str(raised.value).splitlines()) == 2


def test_an_option_wins_over_the_environment_and_is_named_when_it_is_wrong() -> None:
    env = {"OPENMIRROR_WORKERS": "3"}
    assert Settings.load(env, {"workers": 5}).workers == 5
    assert Settings.load(env, {"workers": None}).workers == 3
    with pytest.raises(CannotStart, match="--workers is 0"):
        Settings.load(env, {"workers": 0})


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    assert Settings.load({"OPENMIRROR_WORKERS": ""}, {}).workers == Settings().workers


def test_a_missing_root_says_how_to_give_one() -> None:
    with pytest.raises(CannotStart, match=r"--root FOLDER.*OPENMIRROR_ROOT"):
        Settings.load({}, {}).root_folder()


# Storage accounts


@pytest.mark.parametrize(
    ("text", "account", "blob"),
    [
        (
            "https://contoso.dfs.core.windows.net/",
            "contoso",
            "https://contoso.blob.core.windows.net",
        ),
        (
            "https://contoso.dfs.core.chinacloudapi.cn",
            "contoso",
            "https://contoso.blob.core.chinacloudapi.cn",
        ),
        ("http://127.0.0.1:10000/dev", "dev", "http://127.0.0.1:10000/dev"),
        ("http://[::1]:10000/dev", "dev", "http://[::1]:10000/dev"),
        ("https://dev.dfs.localhost:10004", "dev", "https://dev.blob.localhost:10004"),
        ("http://endpoint:10080/dev", "dev", "http://endpoint:10080/dev"),
        ("http://10.1.2.3:10080/dev", "dev", "http://10.1.2.3:10080/dev"),
    ],
)
def test_a_url_is_an_account_of_any_cloud_or_emulator(text: str, account: str, blob: str) -> None:
    root = Settings.load({"OPENMIRROR_ROOT": text}).root_given()
    assert isinstance(root, AccountUrl)
    assert (root.account, root.blob_url, str(root)) == (account, blob, text.rstrip("/"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://contoso.dfs.core.windows.net", "an https:// URL"),
        ("https://contoso.blob.core.windows.net", ".dfs."),
        ("https://contoso.dfs.core.windows.net/landing/sales", "without a container"),
        ("abfss://landing@contoso.dfs.core.windows.net", "the https:// URL"),
        ("https://contoso.dfs.core.windows.net/?sig=x", "without user, query"),
        ("https://", "without user, query"),
        ("https://contoso:99999", "Port out of range"),
        ("http://127.0.0.1:10000", "account's name as its path"),
    ],
)
def test_a_url_that_is_no_account_says_why(text: str, why: str) -> None:
    with pytest.raises(CannotStart, match="OPENMIRROR_ROOT is") as raised:
        Settings.load({"OPENMIRROR_ROOT": text})
    assert why in str(raised.value)


def test_a_verb_that_needs_a_folder_says_who_does_it_on_an_account() -> None:
    settings = Settings.load({}, {"root": "https://contoso.dfs.core.windows.net"})
    with pytest.raises(CannotStart, match="Function App and the Spark runner"):
        settings.root_folder()


def test_connections_are_read_as_the_functions_platform_names_them() -> None:
    settings = Settings.load(
        {
            "OPENMIRROR_QUEUES__queueServiceUri": "https://contoso.queue.core.windows.net/",
            "OPENMIRROR_QUEUES__credential": "managedidentity",
            "OPENMIRROR_QUEUES__clientId": "0-1",
            "OPENMIRROR_DEAD_LETTERS": "UseDevelopmentStorage=true",
        }
    )
    service = "https://contoso.queue.core.windows.net"
    assert settings.queues == Connection(service=service, client_id="0-1")
    assert settings.dead_letters == Connection(text="UseDevelopmentStorage=true")
    assert Settings.load({}).queues is None


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"OPENMIRROR_QUEUES": "https://contoso.queue.x"}, "OPENMIRROR_QUEUES__queueServiceUri"),
        ({"OPENMIRROR_QUEUES": "UseDev"}, "a connection string"),
        ({"OPENMIRROR_QUEUES__queueServiceUri": "contoso"}, "a URL in queueServiceUri"),
        ({"OPENMIRROR_QUEUES__accountName": "contoso"}, "accountname is not understood"),
        (
            {"OPENMIRROR_QUEUES": "A=b", "OPENMIRROR_QUEUES__queueServiceUri": "https://x"},
            "not both",
        ),
    ],
)
def test_a_wrong_connection_is_named(env: dict[str, str], why: str) -> None:
    with pytest.raises(CannotStart, match="OPENMIRROR_QUEUES must be") as raised:
        Settings.load(env)
    assert why in str(raised.value)


def test_secrets_are_never_shown() -> None:
    env = {
        "OPENMIRROR_QUEUES": "AccountName=a;AccountKey=hidden",
        "OPENMIRROR_DEAD_LETTERS": "hidden",
        "OPENMIRROR_ACCOUNT_KEY": "hidden",
    }
    with pytest.raises(CannotStart) as raised:
        Settings.load(env)
    del env["OPENMIRROR_DEAD_LETTERS"]
    assert "hidden" not in f"{raised.value} {raised.value!r} {Settings.load(env)!r}"
