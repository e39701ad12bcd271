"""Every code of OPERATIONS.md comes of real bytes, names the culprit, and ends by its remedy.

All breaches lie in one root, a mirror each, which is drained three times: while all is well, once
something is broken, and once it was mended as the documents say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.errors import SOLUTIONS
from openmirror.protocol.rules import WARNINGS, Code
from openmirror.runtime.draining import drain
from tests.conformance.breaches import BREACHES, Breach, Scene
from tests.zone import Mirror, Zone, read_delta

OPERATIONS = Path(__file__).parent.parent.parent / "docs" / "OPERATIONS.md"


@dataclass(frozen=True)
class Observation:
    """What `status --json` and a reader saw of one breach."""

    tables: list[dict[str, Any]]
    ids: tuple[int | str, ...]
    mirrors: list[dict[str, Any]]

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [t["openmirror"]["problem"] for t in self.tables if t["openmirror"]["problem"]]

    @property
    def warnings(self) -> list[dict[str, Any]]:
        of_tables = [table["openmirror"]["warnings"] for table in self.tables]
        of_mirrors = [mirror["warnings"] for mirror in self.mirrors]
        return [warning for found in (*of_tables, *of_mirrors) for warning in found]


class Story:
    """One root, and how each drain left every breach."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        zone = Zone(root)
        zone.landing.mkdir(parents=True)
        self._runner = Mirror(zone, spark)
        self._root = root
        scenes = [(b, Scene(self._runner.ports, root, _name(b))) for b in BREACHES]
        for breach, scene in scenes:
            breach.before(scene)
        self._drain()
        for breach, scene in scenes:
            breach.breaks(scene)
        self._drain()
        self.broken = {b.code: self._seen(b, b.folder, b.stays) for b in BREACHES}
        for breach, scene in scenes:
            breach.remedy(scene)
        self._drain()
        self.mended = {b.code: self._seen(b, b.then_in, b.then) for b in BREACHES}

    def _drain(self) -> None:
        mirrors = [_name(breach) for breach in BREACHES]
        drain(self._runner.ports, self._runner.engine, mirrors, workers=4)

    def _seen(self, breach: Breach, folder: str, ids: tuple[int | str, ...]) -> Observation:
        words = ["status", "--json", "--root", str(self._root), "--mirror", _name(breach)]
        env = {"OPENMIRROR_METADATA_GRACE": "0"}
        shown = CliRunner().invoke(app, words, env=env)
        assert shown.exit_code == 0, shown.output
        table = self._root / "lake" / _name(breach) / "Tables" / "dbo" / folder.split("/")[-1]
        printed = json.loads(shown.stdout)
        return Observation(
            printed["data"], _ids(table) if ids else _none(table), printed["mirrors"]
        )


def _name(breach: Breach) -> str:
    """What its mirror is called."""
    return breach.code.value


def _ids(table: Path) -> tuple[int | str, ...]:
    return tuple(sorted(row["id"] for row in read_delta(table)))


def _none(table: Path) -> tuple[int | str, ...]:
    with pytest.raises((DeltaError, TableNotFoundError)):
        read_delta(table)
    return ()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Story:
    return Story(tmp_path_factory.mktemp("codes") / "root", spark)


PAUSING = [breach for breach in BREACHES if breach.code not in WARNINGS]
WARNING = [breach for breach in BREACHES if breach.code in WARNINGS]


def test_every_code_has_its_breach() -> None:
    assert {breach.code for breach in BREACHES} == set(Code)


@pytest.mark.parametrize("code", Code)
def test_every_code_has_its_row_in_operations_with_the_remedy(code: Code) -> None:
    text = OPERATIONS.read_text(encoding="utf-8").replace("`", "")
    row = next((line for line in text.splitlines() if line.startswith(f"| {code.value} |")), None)
    assert row, f"OPERATIONS.md says nothing of {code}"
    assert SOLUTIONS[code].replace("`", "")[:40] in row


@pytest.mark.parametrize("breach", PAUSING, ids=_name)
def test_a_problem_stops_its_table_names_the_culprit_and_says_what_to_do(
    breach: Breach, story: Story
) -> None:
    seen = story.broken[breach.code]
    (problem,) = seen.problems
    assert (problem["code"], problem["file"]) == (breach.code.value, breach.file)
    assert breach.names in problem["detail"]
    assert problem["solution"] == SOLUTIONS[breach.code]
    assert seen.ids == breach.stays
    (failed,) = (table for table in seen.tables if table["status"] == "Failed")
    assert failed["error"]["errorCode"] == breach.code.value


@pytest.mark.parametrize("breach", WARNING, ids=_name)
def test_a_warning_stops_nothing_names_the_culprit_and_says_what_to_do(
    breach: Breach, story: Story
) -> None:
    seen = story.broken[breach.code]
    (warning,) = seen.warnings
    assert (warning["code"], warning["file"]) == (breach.code.value, breach.warned_of)
    assert breach.names in warning["detail"]
    assert warning["solution"] == SOLUTIONS[breach.code]
    assert not seen.problems
    assert seen.ids == breach.stays


@pytest.mark.parametrize("breach", BREACHES, ids=_name)
def test_the_documented_remedy_ends_it_and_the_table_goes_on(breach: Breach, story: Story) -> None:
    seen = story.mended[breach.code]
    assert not seen.problems
    codes = [warning["code"] for warning in seen.warnings]
    assert (breach.code.value in codes) is (breach.code in WARNINGS and not breach.ends)
    assert seen.ids == breach.then
