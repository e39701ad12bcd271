"""A whole mirror can be held, and only chosen tables mirrored; nothing is dropped by either."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from openmirror import wiring
from openmirror.cli.app import app
from openmirror.mirroring import Mirroring, parse_mirroring
from openmirror.operate.http_verbs import Ask, Verb, operate
from openmirror.operate.requests import Operator
from openmirror.protocol.names import TableFolder, TableName
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table
from tests.harness.world import World

ITEMS, ORDERS = table("m", "Items"), table("m", "Sales.schema/Orders")
OTHER = table("n", "Items")


@dataclass
class Root:
    """A local root with two mirrors, drained by an engine that only keeps the books."""

    path: Path

    def land(self, folder: TableFolder, *numbers: int) -> None:
        land(LocalStore(self.path), folder, *numbers)

    def run(self, *words: str) -> Result:
        settings = {
            "COLUMNS": "200",
            "OPENMIRROR_METADATA_GRACE": "0",
            "OPENMIRROR_DROP_GRACE": "0",
        }
        return CliRunner().invoke(app, [*words, "--root", str(self.path)], env=settings)

    def tables(self, mirror: str = "m") -> dict[str, Any]:
        shown = self.run("status", "--json", "--mirror", mirror).stdout
        return {entry["sourceTableName"]: entry for entry in json.loads(shown)["data"]}

    def applied(self, mirror: str = "m") -> dict[str, str]:
        tables = self.tables(mirror)
        return {name: entry["openmirror"]["appliedSequence"] for name, entry in tables.items()}

    def mount(self, *names: tuple[str, str]) -> None:
        mounted = [
            {"source": {"typeProperties": {"schemaName": schema, "tableName": name}}}
            for schema, name in names
        ]
        path = self.path / layout.mirror_settings("m")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"properties": {"mountedTables": mounted}}))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    made = Root(tmp_path / "root")
    for mirror in ("m", "n"):
        (made.path / layout.landing_zone(mirror)).mkdir(parents=True)

    @contextmanager
    def engine(settings: object, say: object = None) -> Iterator[PaperEngine]:
        yield PaperEngine(LocalStore(made.path))

    monkeypatch.setattr(wiring, "local_engine", engine)
    return made


def test_a_held_mirror_stands_still_with_tables_that_come_later_and_others_go_on(
    root: Root,
) -> None:
    root.land(ITEMS, 1)
    assert root.run("drain").exit_code == 0
    assert root.run("pause", "--mirror", "m", "--why", "a move").exit_code == 0
    for folder, number in ((ITEMS, 2), (ORDERS, 1), (OTHER, 1)):
        root.land(folder, number)
    assert root.run("drain").exit_code == 0
    assert root.applied() == {"Items": "1", "Orders": "0"}
    assert root.applied("n") == {"Items": "1"}
    assert {entry["status"] for entry in root.tables().values()} == {"Stopped"}
    shown = root.run("status").stdout
    assert "a move" in shown
    assert "openmirror resume --mirror m" in shown
    assert root.run("resume", "--mirror", "m").exit_code == 0
    assert root.run("drain").exit_code == 0
    assert root.applied() == {"Items": "2", "Orders": "1"}
    acts = json.loads(root.run("history", "m/dbo.Items", "--json").stdout)["data"]
    whole = [act["what"] for act in acts if act["event"] == "act"]
    assert whole == ["resume of the whole mirror", "pause of the whole mirror"]


def test_a_table_that_is_held_by_itself_stays_so_when_its_mirror_is_resumed(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("pause", "m/dbo.Items")
    root.run("pause", "--mirror", "m")
    refused = root.run("pause", "--mirror", "m")
    assert (refused.exit_code, "already held" in refused.stderr) == (1, True)
    root.run("resume", "--mirror", "m")
    root.run("drain")
    assert root.applied() == {"Items": "0"}


def test_resuming_one_table_of_a_held_mirror_names_what_would_resume_it(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("pause", "--mirror", "m")
    refused = root.run("resume", "m/dbo.Items")
    assert refused.exit_code == 1
    assert "openmirror resume --mirror m" in refused.stderr
    assert "not held" in root.run("resume", "--mirror", "n").stderr


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_neither_a_table_nor_a_mirror_is_wrong_usage(root: Root, verb: str) -> None:
    assert root.run(verb).exit_code == 2


def test_nothing_of_a_held_mirror_is_dropped_or_cleaned(root: Root) -> None:
    root.land(ITEMS, 1, 2)
    root.land(ORDERS, 1)
    root.run("drain")
    root.run("pause", "--mirror", "m")
    shutil.rmtree(root.path / layout.table_folder(ORDERS))
    root.run("drain")
    root.run("drain")
    assert "nothing to clean" in root.run("clean").stdout
    assert root.tables()["Orders"]["status"] == "Stopped"
    assert (root.path / "lake/m/Tables/Sales/Orders").is_dir()


def test_over_http_a_verb_with_a_mirror_alone_means_all_of_it() -> None:
    world = World()
    world.land(ITEMS, 1)
    ask, operator = Ask(mirror="m", why="a move"), Operator("ann", "a move")
    done = operate(world.ports, Verb.PAUSE, ask, operator)
    assert [item.name for item in done] == ["m/dbo.Items"]
    with pytest.raises(Exception, match="already held, by ann"):
        operate(world.ports, Verb.PAUSE, ask, operator)
    operate(world.ports, Verb.RESUME, ask, operator)


def test_only_mounted_tables_are_mirrored_in_any_casing(root: Root) -> None:
    root.mount(("sales", "ORDERS"))
    root.land(ITEMS, 1)
    root.land(ORDERS, 1)
    assert root.run("drain").exit_code == 0
    assert root.applied() == {"Items": "0", "Orders": "1"}
    (held,) = root.tables()["Items"]["openmirror"]["warnings"]
    assert held["code"] == "Held"
    assert "mountedTables" in held["detail"]


def test_a_table_that_leaves_mounted_tables_is_held_and_never_dropped(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(ORDERS, 1)
    root.run("drain")
    root.mount(("Sales", "Orders"))
    shutil.rmtree(root.path / layout.table_folder(ITEMS))
    for _ in range(3):
        root.run("drain")
    assert root.tables()["Items"]["status"] == "Stopped"
    assert (root.path / "lake/m/Tables/dbo/Items").is_dir()
    (root.path / layout.mirror_settings("m")).unlink()
    for _ in range(3):
        root.run("drain")
    assert not (root.path / "lake/m/Tables/dbo/Items").exists(), "it is mirrored again, and gone"


def test_nothing_is_dropped_while_mirroring_json_cannot_be_read(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(OTHER, 1)
    root.run("drain")
    (root.path / layout.mirror_settings("m")).write_text("{ broken")
    shutil.rmtree(root.path / layout.table_folder(ITEMS))
    for _ in range(3):
        root.run("drain")
    assert root.tables()["Items"]["error"]["errorCode"] == "MirrorSettingsInvalid"
    assert (root.path / "lake/m/Tables/dbo/Items").is_dir()


def test_a_table_that_is_mounted_again_goes_on_where_it_was(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("drain")
    root.mount()
    root.land(ITEMS, 2)
    root.run("drain")
    assert root.applied() == {"Items": "1"}
    root.mount(("dbo", "Items"))
    root.run("drain")
    assert root.applied() == {"Items": "2"}


def test_mounted_tables_are_read_as_fabric_publishes_them() -> None:
    named = {"source": {"typeProperties": {"schemaName": "dbo", "tableName": "testtable"}}}
    parsed = parse_mirroring(json.dumps({"properties": {"mountedTables": [named]}}).encode())
    assert isinstance(parsed, Mirroring)
    assert parsed.policy_of(TableName("dbo", "TestTable")).mounted
    assert not parsed.policy_of(TableName("dbo", "other")).mounted
    every = parse_mirroring(b"{}")
    assert isinstance(every, Mirroring)
    assert every.policy_of(TableName("dbo", "other")).mounted
