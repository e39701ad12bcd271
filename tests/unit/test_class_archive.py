"""The archive of Spark's classes: the options for it; Spark starts without it as well."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openmirror.spark import class_archive
from openmirror.spark.class_archive import archive_file, java_options, make


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(class_archive, "class_path", lambda cache: "a.jar")
    return tmp_path / "a b" / "jars"


def spark_that(
    does: Any, patch: pytest.MonkeyPatch, code: int = 0, lines: str = ""
) -> list[list[str]]:
    """What is run in place of a Spark, and with which words."""
    calls: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(words)
        does(Path(words[-2]))
        return subprocess.CompletedProcess(words, code, "", lines)

    patch.setattr(subprocess, "run", run)
    return calls


def test_a_jvm_gets_an_archive_only_where_there_is_one(cache: Path) -> None:
    assert java_options(cache, "a.jar") == ""
    archive = archive_file(cache, "a.jar")
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"x")
    assert java_options(cache, "a.jar").startswith(f'"-XX:SharedArchiveFile={archive}" ')
    assert java_options(cache, "b.jar") == "", "other classes"


def test_another_java_has_an_archive_of_its_own(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = set()
    for version in ("17", "21"):
        home = tmp_path / version
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").touch()
        (home / "release").write_text(f'JAVA_VERSION="{version}"')
        monkeypatch.setenv("JAVA_HOME", str(home))
        names.add(archive_file(cache, "a.jar"))
    assert len(names) == 2


@pytest.mark.parametrize("whose", ["pyspark", "other"])
def test_jars_that_were_written_anew_have_an_archive_of_their_own(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    (tmp_path / "jars").mkdir()
    monkeypatch.setattr(class_archive, "_folder_of_pyspark", lambda: tmp_path)
    jars = {"pyspark": tmp_path / "jars" / "spark.jar", "other": tmp_path / "delta.jar"}
    for jar in jars.values():
        jar.touch()
    before = archive_file(cache, str(jars["other"]))
    assert archive_file(cache, str(jars["other"])) == before
    os.utime(jars[whose], (1, 1))
    assert archive_file(cache, str(jars["other"])) != before


def test_an_archive_is_made_once_and_the_oldest_of_others_go(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = spark_that(lambda fresh: fresh.write_bytes(b"classes"), monkeypatch)
    lines: list[str] = []
    others = [archive_file(cache, f"{number}.jar") for number in range(5)]
    others[0].parent.mkdir(parents=True)
    for number, other in enumerate(others):
        other.write_bytes(b"x")
        os.utime(other, (number, number))
    for _ in range(2):
        archive = make(cache, lines.append)
        assert archive is not None
        assert archive.read_bytes() == b"classes"
    assert (len(calls), len(lines)) == (1, 1)
    assert [other.exists() for other in others] == [False, False, True, True, True]
    assert sorted(archive.parent.iterdir()) == sorted([archive, *others[2:]])


@pytest.mark.parametrize(("code", "leaves"), [(0, False), (1, True)])
def test_a_java_that_keeps_no_classes_is_reported_and_nothing_else(
    code: int, leaves: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark_that(
        lambda fresh: fresh.write_bytes(b"half") if leaves else None,
        monkeypatch,
        code,
        "first\nbase archive not loaded\n",
    )
    lines: list[str] = []
    assert make(cache, lines.append) is None
    assert "starts as before (base archive not loaded)" in lines[-1]
    assert list(archive_file(cache, "a.jar").parent.iterdir()) == []


@pytest.mark.parametrize("error", [OSError("no room"), subprocess.TimeoutExpired("java", 600)])
def test_what_goes_wrong_keeps_nobody_from_starting(
    error: Exception, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> None:
        raise error

    spark_that(fails, monkeypatch)
    lines: list[str] = []
    assert make(cache, lines.append) is None
    assert f"starts as before ({error})" in lines[-1]
