"""A whole mirror can be held, and only chosen tables mirrored; nothing is dropped by either."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from openmirror.errors import WrongRequest
from openmirror.mirroring import Mirroring, parse_mirroring
from openmirror.operate.http_verbs import Ask, Verb, operate
from openmirror.operate.overview import MirrorState, mirror_head
from openmirror.operate.requests import Operator
from openmirror.protocol.names import TableName
from openmirror.table import layout
from tests.harness.command_line import Root, root
from tests.harness.publishing import table
from tests.harness.world import World

__all__ = ["root"]

ITEMS, ORDERS = table("m", "Items"), table("m", "Sales.schema/Orders")
OTHER = table("n", "Items")


def tables_of(root: Root, mirror: str = "m") -> dict[str, Any]:
    """The tables of one mirror, by name, as `status --json` has them."""
    shown = root.run("status", "--json", "--mirror", mirror).stdout
    return {entry["sourceTableName"]: entry for entry in json.loads(shown)["data"]}


def applied(root: Root, mirror: str = "m") -> dict[str, str]:
    tables = tables_of(root, mirror)
    return {name: entry["openmirror"]["appliedSequence"] for name, entry in tables.items()}


def mount(root: Root, *names: tuple[str, str]) -> None:
    """Have only these tables of the mirror `m` mirrored."""
    mounted = [
        {"source": {"typeProperties": {"schemaName": schema, "tableName": name}}}
        for schema, name in names
    ]
    document = {"properties": {"mountedTables": mounted}}
    root.store.write(layout.mirror_settings("m"), json.dumps(document).encode())


def test_a_held_mirror_stands_still_with_tables_that_come_later_and_others_go_on(
    root: Root,
) -> None:
    root.land(ITEMS, 1)
    assert root.run("drain").exit_code == 0
    assert root.run("pause", "--mirror", "m", "--why", "a move").exit_code == 0
    for folder, number in ((ITEMS, 2), (ORDERS, 1), (OTHER, 1)):
        root.land(folder, number)
    assert root.run("drain").exit_code == 0
    assert applied(root) == {"Items": "1", "Orders": "0"}
    assert applied(root, "n") == {"Items": "1"}
    assert {entry["status"] for entry in tables_of(root).values()} == {"Stopped"}
    shown = root.run("status").stdout
    assert "a move" in shown
    assert "openmirror resume --mirror m" in shown
    assert root.run("resume", "--mirror", "m").exit_code == 0
    assert root.run("drain").exit_code == 0
    assert applied(root) == {"Items": "2", "Orders": "1"}
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
    assert applied(root) == {"Items": "0"}


def test_resuming_one_table_of_a_held_mirror_names_what_would_resume_it(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("pause", "--mirror", "m")
    refused = root.run("resume", "m/dbo.Items")
    assert refused.exit_code == 1
    assert "openmirror resume --mirror m" in refused.stderr
    root.land(OTHER, 1)
    assert "not held" in root.run("resume", "--mirror", "n").stderr


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_neither_a_table_nor_a_mirror_is_wrong_usage(root: Root, verb: str) -> None:
    assert root.run(verb).exit_code == 2


def test_nothing_of_a_held_mirror_is_dropped_or_cleaned(root: Root) -> None:
    root.land(ITEMS, 1, 2)
    root.land(ORDERS, 1)
    root.run("drain")
    root.run("pause", "--mirror", "m")
    shutil.rmtree(root.folder(ORDERS))
    root.run("drain")
    root.run("drain")
    assert "nothing to clean" in root.run("clean").stdout
    assert tables_of(root)["Orders"]["status"] == "Stopped"
    assert (root.path / "lake/m/Tables/Sales/Orders").is_dir()


def test_over_http_a_verb_with_a_mirror_alone_means_all_of_it() -> None:
    world = World()
    world.land(ITEMS, 1)
    ask, operator = Ask(mirror="m", why="a move"), Operator("ann", "a move")
    done = operate(world.ports, Verb.PAUSE, ask, operator)
    assert [item.name for item in done] == ["m/dbo.Items"]
    with pytest.raises(WrongRequest, match="already held, by ann"):
        operate(world.ports, Verb.PAUSE, ask, operator)
    held = mirror_head(world.ports, "m")
    assert held.state is MirrorState.STOPPED
    assert held.trouble
    assert held.trouble.code == "Held"
    assert "by ann: a move" in held.trouble.detail
    assert "openmirror resume --mirror m" in held.trouble.solution
    operate(world.ports, Verb.RESUME, ask, operator)
    assert mirror_head(world.ports, "m").trouble is None


def test_what_holds_many_tables_alike_is_printed_once(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(ORDERS, 1)
    root.run("pause", "m/dbo.Items", "--why", "its own")
    root.run("pause", "--mirror", "m", "--why", "a move")
    shown = root.run("status").stdout
    assert "m: Held, 1 table\n" in shown  # Items is held by itself first
    root.run("resume", "m/dbo.Items")
    shown = root.run("status").stdout
    assert "m: Held, 2 tables\n" in shown
    assert shown.count("openmirror resume --mirror m") == 1


def test_only_mounted_tables_are_mirrored_in_any_casing(root: Root) -> None:
    mount(root, ("sales", "ORDERS"))
    root.land(ITEMS, 1)
    root.land(ORDERS, 1)
    assert root.run("drain").exit_code == 0
    assert applied(root) == {"Items": "0", "Orders": "1"}
    (held,) = tables_of(root)["Items"]["openmirror"]["warnings"]
    assert held["code"] == "Held"
    assert "mountedTables" in held["detail"]


def test_a_table_that_leaves_mounted_tables_is_held_and_never_dropped(root: Root) -> None:
    root.land(ITEMS, 1)
    root.land(ORDERS, 1)
    root.run("drain")
    mount(root, ("Sales", "Orders"))
    shutil.rmtree(root.folder(ITEMS))
    for _ in range(3):
        root.run("drain")
    assert tables_of(root)["Items"]["status"] == "Stopped"
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
    shutil.rmtree(root.folder(ITEMS))
    for _ in range(3):
        root.run("drain")
    assert tables_of(root)["Items"]["error"]["errorCode"] == "MirrorSettingsInvalid"
    assert (root.path / "lake/m/Tables/dbo/Items").is_dir()


def test_a_table_that_is_mounted_again_goes_on_where_it_was(root: Root) -> None:
    root.land(ITEMS, 1)
    root.run("drain")
    mount(root)
    root.land(ITEMS, 2)
    root.run("drain")
    assert applied(root) == {"Items": "1"}
    mount(root, ("dbo", "Items"))
    root.run("drain")
    assert applied(root) == {"Items": "2"}


def test_mounted_tables_are_read_as_fabric_publishes_them() -> None:
    named = {"source": {"typeProperties": {"schemaName": "dbo", "tableName": "testtable"}}}
    parsed = parse_mirroring(json.dumps({"properties": {"mountedTables": [named]}}).encode())
    assert isinstance(parsed, Mirroring)
    assert parsed.policy_of(TableName("dbo", "TestTable")).mounted
    assert not parsed.policy_of(TableName("dbo", "other")).mounted
    every = parse_mirroring(b"{}")
    assert isinstance(every, Mirroring)
    assert every.policy_of(TableName("dbo", "other")).mounted
