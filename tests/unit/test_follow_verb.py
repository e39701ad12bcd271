"""What `cdc follow` says of a command that cannot be, before anything is started or made."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.cli.cdc_follow import _FollowedTopics
from openmirror.errors import Unavailable, UnknownName

URL = "kafka://127.0.0.1:1/shop"


def refused(root: Path, *words: str) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["cdc", "follow", *words, "--root", str(root)])
    assert not list(root.glob("*/*")), "nothing is made"
    return shown.exit_code, " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["postgresql://a@b/c"], 1, "is no URL of a topic"),
        (["kafka://me:s3cret@b/t"], 1, "--client-config"),
        (["kafka://b/shop.*"], 1, "name their mirror with --mirror"),
        ([URL, "--mirror", "a/b"], 1, "cannot be a mirror's name"),
        ([URL, "--trigger", "2min"], 2, "--trigger"),
        ([URL, "--client-config", "nowhere.conf"], 1, "nowhere.conf cannot be read"),
    ],
)
def test_a_command_that_cannot_be_is_refused_in_words(
    tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    found = refused(tmp_path, *words)
    assert found[0] == code
    assert says in found[1]
    assert "s3cret" not in found[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--zone", "/tmp/zone", "--mirror", "m"], "has a mirror of its own"),
        (["--zone", "/tmp/zone", "--root", "/tmp"], "has a mirror of its own"),
        (
            ["--root", "https://contoso.dfs.core.windows.net", "--mirror", "m"],
            "--zone https://contoso.dfs.core.windows.net/landing/m/Files/LandingZone",
        ),
    ],
)
def test_it_is_clear_who_applies_what_lands(words: list[str], says: str) -> None:
    shown = CliRunner().invoke(app, ["cdc", "follow", URL, *words])
    assert shown.exit_code == 1
    assert says in " ".join(shown.output.split())


def test_brokers_that_are_away_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openmirror.cdc.kafka.brokers._PATIENCE", 1.0)
    code, output = refused(tmp_path, URL)
    assert code == 1
    assert "127.0.0.1:1 does not answer" in output


def test_a_topic_that_ends_ends_no_other_and_the_last_one_ends_all() -> None:
    lines: list[str] = []
    followed = _FollowedTopics(lines.append, 2)
    with followed.apart("a"):
        raise UnknownName("it is gone")
    assert lines == ["topic a is landed no further: it is gone"]
    with pytest.raises(Unavailable, match="away"), followed.apart("b"):
        raise Unavailable("away")
