"""What the documents say is what the program does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deployment.rules.findings import Check
from openmirror.errors import SOLUTIONS
from openmirror.plan.decisions import WaitKind
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.rules import Code
from openmirror.protocol.streams import StopCode
from openmirror.settings import Settings
from release import __main__ as release
from tests.infra.commands.shell import simple_commands

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPERATIONS = (ROOT / "docs" / "OPERATIONS.md").read_text()
PROTOCOL = (ROOT / "docs" / "PROTOCOL.md").read_text()

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_CITATION = re.compile(r"\b(PROTOCOL|ARCHITECTURE|INTERNALS) §(\d+(?:\.\d+)?)")


def blocks(path: Path, language: str) -> list[str]:
    return [body for kind, body in _BLOCK.findall(path.read_text()) if kind == language]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of ours in a shell block, as words."""
    for path in DOCS:
        for body in blocks(path, "sh"):
            for simple in simple_commands(body):
                if simple.words[0] in ("openmirror", "./dev"):
                    yield f"{path.name}: {' '.join(simple.words)}", list(simple.words)


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_row_in_operations_with_its_remedy(code: Code) -> None:
    row = next((line for line in OPERATIONS.splitlines() if f"`{code.value}`" in line), None)
    assert row is not None
    assert SOLUTIONS[code]


def test_each_code_of_a_stopped_table_of_a_stream_has_a_row_in_operations() -> None:
    section = OPERATIONS.partition("\n## Streams of databases")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", section, re.MULTILINE)
    assert named == [code.value for code in StopCode]


def test_operations_names_no_code_that_does_not_exist() -> None:
    section = OPERATIONS.partition("\n## Problems")[2].partition("\n## Recipes")[0]
    streams = section.partition("\n## Streams of databases")[2].partition("\n## ")[0]
    section = section.replace(streams, "")
    named = re.findall(r"^\| `([A-Z]\w+)`", section, re.MULTILINE)
    words = {"Held", "Dropped", "Requested", "Retrying", "Skipped", "MaintenanceBehind"}
    words |= {"HistoryStopped", "HistoryBegunAnew"}
    assert set(named) - words == {code.value for code in Code}


@pytest.mark.parametrize("kind", WaitKind)
def test_every_wait_is_explained_in_operations(kind: WaitKind) -> None:
    assert f"`{kind.value}`" in OPERATIONS.partition("\n## Waits")[2].partition("\n## Problems")[0]


@pytest.mark.parametrize("check", Check)
def test_every_check_of_a_deployment_is_in_operations(check: Check) -> None:
    section = OPERATIONS.partition("\n## Deployment")[2].partition("\n## Telemetry")[0]
    assert f"\n| `{check.value}` |" in section


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_in_operations(name: str) -> None:
    section = OPERATIONS.partition("\n## Settings of a run")[2].partition("\n## ")[0]
    assert f"\n| `OPENMIRROR_{name.upper()}` |" in section


@pytest.mark.parametrize(("where", "words"), list(commands()), ids=lambda value: str(value)[:60])
def test_every_command_in_the_docs_exists_with_these_options(where: str, words: list[str]) -> None:
    if words[0] == "./dev":
        menu = subprocess.run(["./dev", "help"], cwd=ROOT, capture_output=True, text=True).stdout
        assert f"./dev {words[1]}" in menu, where
        if words[1] not in ("openmirror", "package"):
            return
        words = words[1:]
    program, verbs = (app, words[1:2]) if words[0] == "openmirror" else (release.command, [])
    if verbs in (["azure"], ["cdc"]):
        verbs = words[1:3]
    options = [word for word in words[1:] if word.startswith("--")]
    shown = CliRunner().invoke(program, [*verbs, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0, where
    for option in options:
        assert option in shown.stdout, where


def test_the_menu_of_dev_names_every_command() -> None:
    menu = subprocess.run(["./dev", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    branches = (ROOT / "dev").read_text().partition("case $command in\n")[2]
    commands = re.findall(r"^([a-z][a-z-]+)\)$", branches, re.MULTILINE)
    assert {"test", "package", "workbook", "check-infra"} <= set(commands)
    for command in commands:
        assert f"  ./dev {command} " in menu


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_json_example_is_json(path: Path) -> None:
    for body in blocks(path, "json"):
        json.loads(body)


def test_every_metadata_example_is_accepted() -> None:
    examples = [body for path in DOCS for body in blocks(path, "json") if "keyColumns" in body]
    assert examples
    for body in examples:
        assert isinstance(parse_metadata(body.encode()), TableMetadata), body


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_local_link_leads_somewhere(path: Path) -> None:
    for target, _ in _LINK.findall(path.read_text()):
        if target and "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_way_through_the_code_names_files_that_are_there_and_returns_to_two_of_them() -> None:
    way = (ROOT / "docs" / "ARCHITECTURE.md").read_text().partition("\n## 6. ")[2]
    _, *legs = re.split(r"^\*\*From", way, flags=re.MULTILINE)
    returns = []
    for leg, least in zip(legs, (15, 15, 6, 6), strict=True):
        named = re.findall(r"`([\w/]+\.py)`", leg)
        assert len(named) > least
        for name in named:
            assert (ROOT / name).is_file() or (ROOT / "openmirror" / name).is_file(), name
        returns += [name for at, name in enumerate(named) if name in named[:at]]
    assert re.findall(r"`([\w/]+\.py)`\s+\*\(return", way) == returns
    assert len(returns) == 2


def test_every_section_that_the_code_cites_is_there() -> None:
    names = ("PROTOCOL", "ARCHITECTURE", "INTERNALS")
    texts = {name: (ROOT / f"docs/{name}.md").read_text() for name in names}
    for source in (ROOT / "openmirror").rglob("*.py"):
        for document, section in _CITATION.findall(source.read_text()):
            heading = re.compile(rf"^#+ (§ ?)?{re.escape(section)}\b", re.MULTILINE)
            assert heading.search(texts[document]), f"{source.name} cites {document} §{section}"


def test_the_readmes_publisher_writes_a_folder_that_validates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (script,) = blocks(ROOT / "README.md", "python")
    exec(compile(script, "README.md", "exec"), {})  # the reader's own code, run as it stands
    folder = tmp_path / "mirrors/landing/sales/Files/LandingZone/orders"
    problem_of = CliRunner().invoke(app, ["validate", str(folder)])
    assert problem_of.exit_code == 0, problem_of.output


def test_the_first_table_of_the_page_to_deploy_by_validates(tmp_path: Path) -> None:
    lines = [
        line
        for body in blocks(ROOT / "docs" / "DEPLOY.md", "sh")
        for line in body.splitlines()
        if line.startswith("printf ")
    ]
    subprocess.run(["sh", "-ec", "\n".join(lines)], cwd=tmp_path, check=True)
    (tmp_path / "first.csv").rename(tmp_path / f"{1:020d}.csv")
    problem_of = CliRunner().invoke(app, ["validate", str(tmp_path)])
    assert problem_of.exit_code == 0, problem_of.output
    assert "nothing is wrong" in problem_of.output
