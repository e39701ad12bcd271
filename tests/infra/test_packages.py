"""./dev package builds what the checkout says: the same bytes, wherever and whenever it does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from typer.testing import CliRunner, Result

import openmirror
from openmirror.cli.app import app
from openmirror.deployment.publish import check_package
from openmirror.deployment.rules.parameters import PYTHONS
from release import __main__ as building
from release.__main__ import APP_PYTHON, command
from release.archive import write_folder
from release.contents import ROOTS, ignored, is_ignored
from release.refusals import Refused
from release.requirements import listed_for, vendored
from release.wheel import LEFT_OUT

ROOT = Path(__file__).parents[2]
VERSION = openmirror.__version__
SOURCES = (
    *ROOTS,
    "constraints.txt",
    "spark_jobs",
    "release",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
NOT_IN_THE_APP = tuple(
    f"openmirror/{part}/"
    for part in ("cdc", "cli", "conformance", "demo", "deployment", "emulator", "spark")
)


def checkout(folder: Path, *, reverse: bool = False) -> Path:
    """A copy of what the packages are made of, with file times of its own."""
    folder.mkdir(parents=True)
    for name in sorted((*SOURCES, ".funcignore", ".gitignore"), reverse=reverse):
        source = ROOT / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=skipped, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source, folder / name)
    return folder


def build(
    root: Path, *options: str, umask: int = 0o022, **env: str
) -> subprocess.CompletedProcess[str]:
    """What `./dev package` does, in another checkout."""
    return subprocess.run(
        [sys.executable, "-m", "release", "--runs", "0", *options],
        cwd=root,
        env={"PATH": os.environ["PATH"], **env},
        umask=umask,
        capture_output=True,
        text=True,
    )


def package(root: Path, *options: str, **env: str) -> Result:
    """The same in this process: another checkout's files, packed by the code of this one."""
    words = ["--out", str(root / "dist"), "--runs", "0", *options]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(building, "ROOT", root)
        return CliRunner().invoke(command, words, env=env)


@dataclass(frozen=True)
class Built:
    output: str
    folder: Path

    @property
    def app(self) -> Path:
        return self.folder / f"openmirror-functions-{VERSION}.zip"

    @property
    def wheel(self) -> Path:
        return self.folder / f"openmirror-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = checkout(tmp_path_factory.mktemp("one") / "checkout")
    done = build(root, "--runs", "1")
    assert done.returncode == 0, done.stderr
    return Built(done.stdout, root / "dist")


def members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_the_same_files_give_the_same_bytes_wherever_and_whenever_they_are_built(
    built: Built, tmp_path: Path
) -> None:
    root = checkout(tmp_path / "ä other place", reverse=True)
    for number, path in enumerate(sorted(root.rglob("*"))):
        os.utime(path, (time.time() - 86400 * number, 1_000_000_000 + 7 * number))
        path.chmod(0o775 if path.is_dir() else 0o666)
    done = build(root, umask=0o077, TZ="Asia/Tokyo", LANG="C", SOURCE_DATE_EPOCH="1")
    assert done.returncode == 0, done.stderr
    other = Built(done.stdout, root / "dist")
    assert other.app.read_bytes() == built.app.read_bytes()
    assert other.wheel.read_bytes() == built.wheel.read_bytes()


def test_the_apps_package_is_exactly_what_the_app_needs(built: Built) -> None:
    found = members(built.app)
    wanted = {"function_app.py", "host.json", "requirements.txt"}
    for package in ("functions", "openmirror"):
        for path in (ROOT / package).rglob("*"):
            name = path.relative_to(ROOT)
            if path.is_file() and "__pycache__" not in name.parts:
                wanted.add(name.as_posix())
    wanted = {name for name in wanted if not name.startswith(NOT_IN_THE_APP)}
    assert set(found) == wanted
    for name, content in found.items():
        assert content == (ROOT / name).read_bytes(), name


def test_the_folder_for_azd_is_the_same_as_the_package(built: Built) -> None:
    folder = built.folder / "functions"
    there = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert there == members(built.app)


def test_a_folder_that_holds_the_same_is_left_alone_while_azd_may_read_it(built: Built) -> None:
    folder = built.folder / "functions"
    before = folder.stat().st_ctime_ns, (folder / "host.json").stat().st_ctime_ns
    packages = [built.app.read_bytes(), built.wheel.read_bytes()]
    done = package(built.folder.parent)
    assert done.exit_code == 0, done.output
    assert (folder.stat().st_ctime_ns, (folder / "host.json").stat().st_ctime_ns) == before
    assert [built.app.read_bytes(), built.wheel.read_bytes()] == packages


FILES = {"a.py": b"1", "b/c.py": b"2", "b/d/e.py": b""}


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "b/c.py").write_bytes(b"3"),
        lambda folder: (folder / "b/c.py").unlink(),
        lambda folder: (folder / "b/d/more.py").touch(),
        lambda folder: (folder / "b/empty").mkdir(),
        lambda folder: (folder / "a.py").replace(folder / "A.py"),
        lambda folder: [(folder / "b/c.py").unlink(), (folder / "b/c.py").mkdir()],
        lambda folder: [
            (folder / "b/c.py").replace(folder.parent / "c"),
            (folder / "b/c.py").symlink_to(folder.parent / "c"),
        ],
    ],
    ids=["changed", "missing", "added", "an empty folder", "renamed", "a folder", "a link"],
)
def test_a_folder_that_differs_in_anything_is_replaced_whole(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    folder = tmp_path / "functions"
    write_folder(folder, FILES)
    change(folder)
    write_folder(folder, FILES)
    plain = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in plain} == FILES
    assert sorted(path.name for path in folder.rglob("*") if path.is_dir()) == ["b", "d"]
    assert not list(tmp_path.glob(".functions*"))


def test_everything_beside_the_app_is_named_in_funcignore() -> None:
    """Azure's own tools publish the checkout's folder, and know nothing but this list."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(
            "without git, what lies here by chance cannot be distinguished from what belongs here"
        )
    tracked = set(filter(None, done.stdout.split("\0")))
    patterns = ignored(ROOT)
    published = {name for name in tracked if not is_ignored(name, patterns)}
    assert {name.partition("/")[0] for name in published} == set(ROOTS)


def test_funcignore_uses_only_what_is_read_alike_by_everybody() -> None:
    for pattern in ignored(ROOT):
        assert re.fullmatch(r"\*?[\w./-]+\*?/?", pattern), pattern
        assert not pattern.startswith("/")


def test_nothing_that_is_deployed_can_give_tokens(built: Built) -> None:
    for package in (built.app, built.wheel):
        assert not [name for name in members(package) if "/onelake/" in name]
    record = members(built.wheel)[f"openmirror-{VERSION}.dist-info/RECORD"].decode()
    assert "/onelake/" not in record
    listed = {line.rpartition(",")[0].rpartition(",")[0] for line in record.splitlines()}
    assert listed == set(members(built.wheel))


def test_the_wheel_holds_both_packages_whole_but_the_stand_in_and_nothing_else(
    built: Built,
) -> None:
    found = members(built.wheel)
    info = f"openmirror-{VERSION}.dist-info/"
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in ("openmirror", "spark_jobs")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wanted = {name for name in wanted if not name.startswith(LEFT_OUT)}
    assert {name for name in found if not name.startswith(info)} == wanted
    assert list(found)[-1] == f"{info}RECORD"


def test_the_wheel_installs_and_says_its_version(built: Built, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*install, "--no-compile", "--target", tmp_path, built.wheel],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import openmirror, spark_jobs; "
        "from importlib.metadata import version; "
        "print(openmirror.__file__, version('openmirror'), openmirror.__version__)"
    )
    shown = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert shown.stdout.split() == [str(tmp_path / "openmirror/__init__.py"), VERSION, VERSION]


def test_there_is_one_version_number(built: Built) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert "version" not in project["project"]
    assert built.app.exists()
    metadata = members(built.wheel)[f"openmirror-{VERSION}.dist-info/METADATA"].decode()
    assert f"\nVersion: {VERSION}\n" in metadata
    assert f'"{VERSION}"'.encode() in members(built.app)["openmirror/__init__.py"]
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.stdout == f"openmirror {VERSION}\n"


def test_it_says_name_size_sum_and_number_of_files_and_how_long_a_cold_import_takes(
    built: Built,
) -> None:
    from hashlib import sha256

    for path in (built.app, built.wheel):
        content = path.read_bytes()
        assert (
            f"{path}\n  {len(content):,} bytes, {len(members(path))} files, "
            f"sha256 {sha256(content).hexdigest()}\n"
        ) in built.output
    assert re.search(
        r"cold import of the app with its \d+ functions: \d+\.\d\d s, the median of 1 fresh "
        r"processes, Python 3\.\d+\.\d+ on \w+ with \d+ CPUs",
        built.output,
    )


def test_packages_of_another_version_are_taken_away_and_nothing_else(tmp_path: Path) -> None:
    root = checkout(tmp_path / "checkout")
    dist = root / "dist"
    (dist / "functions" / "left").mkdir(parents=True)
    stale = [dist / "openmirror-0.0.1-py3-none-any.whl", dist / "openmirror-functions-0.0.1.zip"]
    kept = dist / "somebody-elses.zip"
    for path in (*stale, kept):
        path.touch()
    done = package(root)
    assert done.exit_code == 0, done.output
    assert not [path for path in stale if path.exists()]
    assert kept.exists()
    assert not (dist / "functions" / "left").exists()


def test_files_that_git_does_not_know_are_refused_by_name(tmp_path: Path) -> None:
    root = checkout(tmp_path / "checkout")
    for arguments in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
    names = ["functions/mine.py", "openmirror/mine.py", "spark_jobs/mine.py"]
    for name in (*names, "mine.py"):
        (root / name).touch()
    done = package(root)
    assert done.exit_code == 1
    assert [line.strip() for line in done.stderr.splitlines()[1:-1]] == names
    assert "git add" in done.stderr
    assert not (root / "dist").exists()


def test_an_app_that_cannot_be_imported_is_refused_with_the_reason(tmp_path: Path) -> None:
    root = checkout(tmp_path / "checkout")
    source = root / "functions" / "sweep.py"
    source.write_text(f"{source.read_text()}\nimport openmirror.cli\n")
    done = package(root, "--runs", "1")
    assert done.exit_code == 1
    assert "cannot be imported" in done.stderr
    assert "No module named 'openmirror.cli'" in done.stderr


def test_help_says_what_is_built_and_for_whom() -> None:
    shown = CliRunner().invoke(command, ["--help"]).stdout
    for word in ("config-zip", "azd", "Databricks", "--vendor", "sha256"):
        assert word in shown
    assert "Without --vendor the same files give the same bytes" in shown


def test_azd_and_the_bundle_have_it_built_and_find_what_it_makes(built: Built) -> None:
    azd = yaml.safe_load((ROOT / "azure.yaml").read_text())
    assert (ROOT / azd["services"]["functions"]["project"]).name == "functions"
    assert azd["hooks"]["prepackage"]["posix"]["run"] == "./dev package"
    [artifact] = yaml.safe_load((ROOT / "databricks.yml").read_text())["artifacts"].values()
    assert artifact["build"].split()[:2] == ["./dev", "package"]
    tried = CliRunner().invoke(command, [*artifact["build"].split()[2:], "--help"])
    assert tried.exit_code == 0
    [pattern] = [one["source"] for one in artifact["files"]]
    assert list(built.folder.glob(pattern.removeprefix("dist/"))) == [built.wheel]


# --- Requirements in the package ------------------------------------------------------------------


def wheel(folder: Path, name: str, *needs: str, python: str = ">=3.8") -> None:
    """A package that holds one module and may need others."""
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Python: {python}\n"
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}.py", "")
        packed.writestr(f"{info}/METADATA", metadata)
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", f"{name}.py,,\n")
        packed.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
        packed.writestr(f"{name}-1.0.data/scripts/{name}-too", "#!python\n")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index that is a folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.fixture
def requirements() -> str:
    return "# why\nold==1.0; python_version < '3.99'\nnew==1.0; python_version >= '3.99'\n"


def test_requirements_are_chosen_for_the_apps_python_and_not_for_this_one(
    index: Path, requirements: str
) -> None:
    wheel(index, "old")
    wheel(index, "new", "below", python=">=3.99")
    wheel(index, "below")
    found = vendored(requirements, "3.99")
    place = ".python_packages/lib/site-packages"
    assert {name for name in found if name.endswith(".py")} == {
        f"{place}/new.py",
        f"{place}/below.py",
    }


def test_the_same_wheels_give_the_same_bytes_and_nothing_of_the_machine_that_unpacked_them(
    index: Path, requirements: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(index, "new", "below", python=">=3.99")
    wheel(index, "below")
    found = vendored(requirements, "3.99")
    (tmp_path / "another place").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "another place"))
    assert vendored(requirements, "3.99") == found
    place = ".python_packages/lib/site-packages"
    for package in ("new", "below"):
        info = f"{place}/{package}-1.0.dist-info/"
        listed = found[f"{info}RECORD"].decode().splitlines()
        names = {f"{place}/{line.split(',')[0]}" for line in listed}
        assert names == {f"{place}/{package}.py"} | {n for n in found if n.startswith(info)}
    reported = b"".join(found.values())
    for local in (tempfile.gettempdir(), "file:", sys.executable, "#!"):
        assert local.encode() not in reported


def test_requirements_are_for_the_python_that_the_template_gives_the_app() -> None:
    template = (ROOT / "infra" / "bicep" / "main.bicep").read_text()
    assert f"param pythonVersion string = '{APP_PYTHON}'" in template


def test_what_is_needed_only_on_the_apps_python_is_missed_by_name(
    index: Path, requirements: str
) -> None:
    wheel(index, "new", "only-there; python_version >= '3.99'")
    with pytest.raises(Refused, match=r"only-there.*\(for new\)"):
        vendored(requirements, "3.99")


def test_a_requirement_that_no_index_has_is_reported_in_pips_own_words(
    index: Path, requirements: str
) -> None:
    with pytest.raises(Refused, match=r"new==1\.0(.|\n)*needs a package index"):
        vendored(requirements, "3.99")


# --- The list for Azure's own build ---------------------------------------------------------------


def listed(python: str) -> str:
    return listed_for(ROOT / "requirements.txt", ROOT / "constraints.txt", python)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_checkouts_list_is_the_one_for_the_default_python() -> None:
    """Azure's own tools publish it as it is."""
    assert lines(listed(APP_PYTHON)) == lines((ROOT / "requirements.txt").read_text())


@pytest.mark.parametrize("python", PYTHONS)
def test_no_list_chooses_a_version_by_the_python_that_builds_it(python: str) -> None:
    every = [Requirement(line) for line in lines(listed(python))]
    (one_line,) = (one for one in every if one.marker is not None)
    assert one_line.url
    chosen = {one.name: str(one.specifier) for one in every}
    old = python != "3.13"
    assert chosen["azure-functions"] == ("==1.26.0" if old else "==2.3.0")
    assert ("azure-functions-runtime" in chosen) is not old
    assert {"pyarrow", "azure-identity", "databricks-sdk"} <= chosen.keys()


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-m", "pip", "install", "--dry-run", "--no-index", *arguments],
        capture_output=True,
        text=True,
    )


def test_a_build_by_another_python_ends_and_names_the_one_that_it_takes(tmp_path: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in PYTHONS:
        path = tmp_path / f"{python}.txt"
        # The first line alone: the rest would take an index.
        path.write_text(lines(listed(python))[0] + "\n")
        done = pip("--requirement", str(path))
        if python == here:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode != 0
            assert f"this-build-must-run-Python-{python}" in done.stderr


def test_the_package_for_another_python_has_its_list(tmp_path: Path) -> None:
    root = checkout(tmp_path / "checkout")
    done = package(root, OPENMIRROR_PYTHON_VERSION="3.12")
    assert done.exit_code == 0, done.output
    found = members(root / "dist" / f"openmirror-functions-{VERSION}.zip")
    assert found["requirements.txt"].decode() == listed("3.12")


def test_a_package_with_its_requirements_has_no_list_for_a_build(
    tmp_path: Path, index: Path
) -> None:
    root = checkout(tmp_path / "checkout")
    (root / "requirements.txt").write_text("new==1.0\n")
    wheel(index, "new")
    done = package(root, "--vendor")
    assert done.exit_code == 0, done.output
    found = members(root / "dist" / f"openmirror-functions-{VERSION}.zip")
    assert "requirements.txt" not in found
    assert ".python_packages/lib/site-packages/new.py" in found
    check_package((root / "dist" / f"openmirror-functions-{VERSION}.zip").read_bytes())
