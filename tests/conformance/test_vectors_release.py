"""The vectors as a release: one archive that another implementation can run as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import openmirror
from release.vectors import ROOT, command, vector_files
from tests.conformance.schema_words import errors
from tests.conformance.streams import STREAMS, StreamCase
from tests.conformance.vectors import CASES, HERE, Case

TINY = Path(__file__).parent / "tiny.py"
CANNOT_IMPORT = "import sys; sys.modules['openmirror'] = sys.modules['tests'] = None; import run; "
OF_TINY = (
    "change-of-a-key",
    "delete-of-a-duplicated-key",
    "everything-deleted",
    "example-of-folding",
    "insert-of-a-present-key",
    "update-of-a-duplicated-key",
    "upsert-of-an-absent-key",
    "what-follows-a-delete",
    "upsert-by-default",
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vectors")
    done = CliRunner().invoke(command, ["--out", str(out)])
    assert done.exit_code == 0, done.output
    (archive,) = out.glob("*.zip")
    assert archive.name == f"openmirror-vectors-{openmirror.__version__}.zip"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(out)
    return out / archive.stem


def test_the_archive_has_every_case_and_what_goes_along(unpacked: Path) -> None:
    packed = {path.parent.relative_to(unpacked) for path in unpacked.glob("*/*/case.json")}
    assert packed == {case.folder.relative_to(HERE) for case in CASES}
    streams = {path.relative_to(unpacked) for path in unpacked.glob("*/*/stream.json")}
    assert streams == {case.path.relative_to(HERE) for case in STREAMS}
    along = {path.name for path in unpacked.iterdir() if path.is_file()}
    schemas = {f"{name}.schema.json" for name in ("case", "step", "stream")}
    assert along == {"README.md", "VERSION", "run.py", *schemas}
    assert (unpacked / "VERSION").read_text().strip() == openmirror.__version__
    assert not [name for name in vector_files(ROOT) if name.endswith((".pyc", "build.py"))]


def tiny(unpacked: Path, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """The runner over some cases, by an implementation that cannot import this product."""
    shutil.copyfile(TINY, folder / "tiny.py")
    shutil.copyfile(unpacked / "run.py", folder / "run.py")
    for case in OF_TINY:
        shutil.copytree(unpacked / "rows" / case, folder / "rows" / case)
    words = f"sys.argv = ['run.py', 'tiny:{name}', 'rows']; sys.exit(run.main())"
    return subprocess.run(
        [sys.executable, "-c", CANNOT_IMPORT + words], cwd=folder, capture_output=True, text=True
    )


def test_another_implementation_runs_them_as_they_are(unpacked: Path, tmp_path: Path) -> None:
    done = tiny(unpacked, tmp_path, "Tiny")
    assert done.stdout == f"0 of {len(OF_TINY)} vectors give something else\n", done.stderr
    assert done.returncode == 0


def test_an_implementation_that_is_wrong_fails_with_the_difference(
    unpacked: Path, tmp_path: Path
) -> None:
    done = tiny(unpacked, tmp_path, "Wrong")
    assert done.returncode == 1
    assert "rows/update-of-a-duplicated-key: Orders: rows are" in done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_as_its_schema_says(case: Case) -> None:
    assert errors(_schema("case"), case.document) == []
    for step in case.folder.glob("**/step.json"):
        assert errors(_schema("step"), json.loads(step.read_text())) == []


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case.name)
def test_every_stream_is_as_its_schema_says(case: StreamCase) -> None:
    assert errors(_schema("stream"), case.document) == []


@cache
def _schema(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((HERE / f"{name}.schema.json").read_text())
    return found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"title": ""}, "$.title is too short"),
        ({"protocol": ["§5"]}, "$.protocol[0] does not match"),
        ({"expcted": {}}, "$ has expcted"),
        ({"expected": {}}, "$.expected has no folder"),
    ],
)
def test_a_case_that_is_not_so_is_found(change: dict[str, object], says: str) -> None:
    document = {**CASES[0].document, **change}
    assert any(line.startswith(says) for line in errors(_schema("case"), document))


@pytest.mark.parametrize(
    "state",
    ["busy", {"waiting": "coffee"}, {"paused": "MetadataInvalid"}, {"waiting": "gap", "x": 1}],
)
def test_a_state_that_there_is_not_is_found(state: object) -> None:
    document = CASES[0].document
    document["expected"]["state"] = state
    assert errors(_schema("case"), document)
