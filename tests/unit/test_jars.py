"""The jar cache: whole or fetched again, never half."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from openmirror.spark import jars
from openmirror.spark.ivy import Jar, JarsError
from openmirror.spark.jars import resolve


def content(name: str) -> bytes:
    return f"the bytes of {name}".encode()


def frozen(name: str) -> Jar:
    return Jar("org.example", name, "1.0", hashlib.sha256(content(name)).hexdigest())


JARS = (frozen("engine"), frozen("storage"))


class Repository:
    """Stands for Maven: delivers, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, wanted: Sequence[Jar], folder: Path) -> None:
        self.asked += 1
        for jar in wanted:
            (folder / jar.file).write_bytes(content(jar.name))


@pytest.fixture
def repository() -> Repository:
    return Repository()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def filled(cache: Path, repository: Repository) -> Path:
    """The folder of a cache that was just filled."""
    resolve(cache, silent, jars=JARS, fetch=repository)
    return cache / "engine-1.0"


def silent(_: str) -> None:
    pass


def test_an_empty_cache_is_filled_and_says_so(cache: Path, repository: Repository) -> None:
    lines: list[str] = []
    paths = resolve(cache, lines.append, jars=JARS, fetch=repository)
    assert [path.name for path in paths] == ["engine-1.0.jar", "storage-1.0.jar"]
    assert [path.read_bytes() for path in paths] == [content("engine"), content("storage")]
    assert len(lines) == 1


def test_a_whole_cache_is_used_without_asking_or_saying_anything(
    cache: Path, filled: Path, repository: Repository
) -> None:
    lines: list[str] = []
    resolve(cache, lines.append, jars=JARS, fetch=repository)
    assert (repository.asked, lines) == (1, [])


@pytest.mark.parametrize("damage", ["truncated", "missing", "no manifest", "torn manifest"])
def test_a_damaged_cache_is_fetched_again(
    cache: Path, filled: Path, repository: Repository, damage: str
) -> None:
    match damage:
        case "truncated":
            (filled / "storage-1.0.jar").write_bytes(b"the")
        case "missing":
            (filled / "storage-1.0.jar").unlink()
        case "no manifest":
            (filled / "manifest.json").unlink()
        case "torn manifest":
            (filled / "manifest.json").write_text('{"jars": [{"na')
    paths = resolve(cache, silent, jars=JARS, fetch=repository)
    assert repository.asked == 2
    assert [path.read_bytes() for path in paths] == [content("engine"), content("storage")]
    assert [path.name for path in cache.glob(".fetching-*")] == []


@pytest.mark.parametrize("manifest", ["[]", "{}", "null", '{"jars": [1]}', '{"jars": [{}]}'])
def test_a_manifest_of_another_shape_is_fetched_again(
    cache: Path, filled: Path, repository: Repository, manifest: str
) -> None:
    (filled / "manifest.json").write_text(manifest)
    resolve(cache, silent, jars=JARS, fetch=repository)
    assert repository.asked == 2


def test_other_pins_are_fetched_though_the_first_jar_is_the_same(
    cache: Path, filled: Path, repository: Repository
) -> None:
    more = (*JARS, frozen("kernel"))
    assert len(resolve(cache, silent, jars=more, fetch=repository)) == 3
    assert repository.asked == 2


def test_a_file_that_is_not_the_published_one_is_refused_and_leaves_nothing(cache: Path) -> None:
    def tampering(wanted: Sequence[Jar], folder: Path) -> None:
        for jar in wanted:
            (folder / jar.file).write_bytes(b"something else")

    with pytest.raises(JarsError, match=r"engine-1\.0\.jar is not the published file"):
        resolve(cache, silent, jars=JARS, fetch=tampering)
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_a_failed_fetch_leaves_the_next_one_a_clean_start(
    cache: Path, repository: Repository
) -> None:
    def half(wanted: Sequence[Jar], folder: Path) -> None:
        (folder / wanted[0].file).write_bytes(content(wanted[0].name))

    with pytest.raises(JarsError, match=r"storage-1\.0\.jar was not delivered"):
        resolve(cache, silent, jars=JARS, fetch=half)
    (cache / ".fetching-of-a-killed-run").mkdir()
    resolve(cache, silent, jars=JARS, fetch=repository)
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "engine-1.0"]


def test_the_manifest_says_name_size_and_checksum(filled: Path) -> None:
    manifest = json.loads((filled / "manifest.json").read_text())
    assert manifest["jars"][0] == {
        "name": "engine-1.0.jar",
        "size": len(content("engine")),
        "sha256": JARS[0].sha256,
    }


def test_a_cache_that_cannot_be_written_names_the_remedy(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(JarsError, match="OPENMIRROR_CACHE"):
        resolve(blocked / "cache", silent, jars=JARS, fetch=Repository())


def test_without_java_the_remedy_names_the_package(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    with pytest.raises(JarsError, match="openjdk-17-jre-headless"):
        resolve(cache, silent)


def test_the_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("OPENMIRROR_CACHE", raising=False)
    assert jars.default_cache() == tmp_path / "xdg" / "openmirror" / "jars"
    monkeypatch.setenv("OPENMIRROR_CACHE", str(tmp_path / "own"))
    assert jars.default_cache() == tmp_path / "own" / "jars"
