"""What `cdc run` says of a command that cannot be, before anything is started or made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app

URL = "postgresql://reader:secret@127.0.0.1:1/shop"


def refused(root: Path, *words: str) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["cdc", "run", *words, "--root", str(root)])
    assert not list(root.glob("*/*")), "nothing is made"
    return shown.exit_code, shown.output


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://reader@db/shop", "mysql://… is no URL of a database that can be read"),
        ("shop", "is no URL of a database"),
        ("postgresql://db/shop", "names no user"),
        ("postgresql://reader@/shop", "names no host"),
        ("postgresql://reader@db", "names no database"),
        ("postgresql://reader:secret@db:port/shop", "cannot be read"),
        ("postgresql://reader:secret@db/shop?sslmode=require", "has more behind"),
    ],
)
def test_a_url_that_is_none_is_refused_in_words_without_its_password(
    tmp_path: Path, url: str, says: str
) -> None:
    code, output = refused(tmp_path, url)
    assert code == 1
    assert says in output
    assert "postgresql://user:password@host:5432/database" in output
    assert "secret" not in output


@pytest.mark.parametrize("trigger", ["soon", "0.1s", "2min", "-1s"])
def test_a_trigger_that_cannot_be_kept_is_refused(tmp_path: Path, trigger: str) -> None:
    code, output = refused(tmp_path, URL, f"--trigger={trigger}")
    assert code == 2
    assert "--trigger" in output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--mirror", "a/b"], "'a/b' cannot be a mirror's name"),
        (["--mirror", ".."], "'..' cannot be a mirror's name"),
        (["--stream", "Shop-1"], "stream 'Shop-1': write"),
        (["--table", "orders"], "table 'orders': write schema.table"),
    ],
)
def test_names_that_cannot_be_are_refused(tmp_path: Path, options: list[str], says: str) -> None:
    code, output = refused(tmp_path, URL, *options)
    assert code == 1
    assert says in output


def test_a_root_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    code, output = refused(tmp_path / "none", URL)
    assert code == 1
    assert "is not there" in output


@pytest.mark.parametrize("time", ["soon", "-1s"])
def test_a_range_time_that_is_none_is_refused(tmp_path: Path, time: str) -> None:
    code, output = refused(tmp_path, URL, f"--range-time={time}")
    assert code == 2
    assert "--range-time" in output


def test_a_column_is_not_both_text_and_left_out(tmp_path: Path) -> None:
    column = "public.prices.amount"
    code, output = refused(tmp_path, URL, f"--as-text={column}", f"--without-column={column}")
    assert code == 1
    assert "not both" in output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--zone", "/tmp/zone", "--root", "."], "--root"),
        (["--zone", "/tmp/zone", "--mirror", "m"], "a mirror of its own"),
    ],
)
def test_a_zone_elsewhere_has_no_mirror_here(options: list[str], says: str) -> None:
    shown = CliRunner().invoke(app, ["cdc", "run", URL, *options])
    assert shown.exit_code == 1
    assert says in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        (["run", URL], "psycopg", "openmirror[local,cdc]"),
        (["check", URL], "psycopg", "openmirror[local,cdc]"),
        (["follow", "kafka://broker/shop"], "confluent_kafka", "openmirror[local,kafka]"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    command: list[str], missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    shown = CliRunner().invoke(app, ["cdc", *command])
    assert shown.exit_code == 1
    assert f"this needs {missing}: pip install '{extra}'" in " ".join(shown.output.split())
