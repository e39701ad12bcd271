"""scripts/remove.sh deletes what belongs to a deployment, and data only where it is asked for.

az is a stand-in that writes down what it is given. The stacks hold what the Bicep files make.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.infra.bicep.deployed import GROUP, MODULE
from tests.infra.bicep.expansion import STACKS, expand
from tests.infra.bicep.folder import Folder
from tests.infra.commands.finding import ROOT, CommandLine
from tests.infra.commands.options import Table, mistakes
from tests.infra.deployments import EVERYBODY

_STAND_IN = """#!/bin/sh
printf '%s\\037' "$@" >>'{here}/calls'
printf '\\n' >>'{here}/calls'
case "$*" in
*'stack group list'*) cat '{here}/stacks' ;;
*'lock list'*) cat '{here}/locks' ;;
*'stack group delete --name {fails} '*) exit 1 ;;
esac
"""
NOTHING, CALLED_OFF, REFUSED, FAILED = 0, 130, 1, 1
LOCKS = "/providers/Microsoft.Authorization/locks/keep"


@cache
def managed(template: str, **parameters: object) -> tuple[str, ...]:
    """The ids of what the stack of a template manages."""
    folder = Folder.at()
    taken = folder.templates[template].parameters
    given = {name: one for name, one in EVERYBODY.items() if name in taken}
    made = expand(folder, {**given, **parameters}, template=template)
    return tuple(each.id for each in made.resources if each.type != MODULE)


def stack(name: str, ids: tuple[str, ...]) -> dict[str, object]:
    return {"name": name, "resources": list(ids)}


def both(name: str = "openmirror", **parameters: object) -> list[dict[str, object]]:
    """The two stacks of a deployment."""
    return [
        stack(called, managed(template, name=name, **parameters))
        for called, template in zip((f"{name}-data", name), STACKS, strict=True)
    ]


@dataclass
class Removing:
    """A checkout with the script, and a group."""

    root: Path
    stacks: list[dict[str, object]] = field(default_factory=both)
    locks: list[dict[str, str]] = field(default_factory=list)
    fails: str = "-"
    done: subprocess.CompletedProcess[str] | None = None

    def run(self, *options: str, typed: str = "") -> int:
        (self.root / "az").write_text(_STAND_IN.format(here=self.root, fails=self.fails))
        (self.root / "az").chmod(0o755)
        (self.root / "calls").write_text("")
        (self.root / "stacks").write_text(json.dumps(self.stacks))
        (self.root / "locks").write_text(json.dumps(self.locks))
        self.done = subprocess.run(
            ["sh", self.root / "scripts" / "remove.sh", "--resource-group", "my rg", *options],
            env={"PATH": f"{self.root}:/usr/bin:/bin"},
            input=typed,
            capture_output=True,
            text=True,
        )
        return self.done.returncode

    @property
    def shown(self) -> str:
        assert self.done is not None
        return self.done.stderr

    @property
    def listed(self) -> list[str]:
        assert self.done is not None
        return self.done.stdout.splitlines()

    @property
    def calls(self) -> list[list[str]]:
        text = (self.root / "calls").read_text()
        return [call.split("\037")[:-1] for call in text.splitlines()]

    @property
    def deleted(self) -> list[str]:
        """The stacks that were deleted, in this order, by name."""
        return [
            call[call.index("--name") + 1]
            for call in self.calls
            if call[:3] == ["stack", "group", "delete"]
        ]


@pytest.fixture
def removing(tmp_path: Path) -> Removing:
    root = tmp_path / "a 'checkout'".replace("'", "")
    (root / "scripts").mkdir(parents=True)
    for file in ("remove.sh", "removal.py"):
        shutil.copy(ROOT / "scripts" / file, root / "scripts")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    return Removing(root)


def test_what_holds_data_stays_and_all_else_goes(removing: Removing) -> None:
    assert removing.run("--yes") == 0, removing.shown
    assert removing.deleted == ["openmirror"]
    gone = [line for line in removing.listed if line.startswith("delete ")]
    kept = [line for line in removing.listed if line.startswith("keep ")]
    data, main = STACKS
    assert len(gone) == len(managed(main))
    assert len(kept) == len(managed(data))
    assert any("Microsoft.Web/sites func-openmirror-" in line for line in gone)
    assert any(line.startswith("delete  Microsoft.Authorization/role") for line in gone)
    assert any(line.endswith(" on landing") for line in gone)
    containers = [line for line in removing.listed if "/containers st" in line]
    kinds = {line.rpartition("/")[2]: line.split()[0] for line in containers}
    assert kinds["landing"] == kinds["lake"] == "keep"
    assert kinds["dead-letters"] == "delete"


def test_data_goes_only_where_it_is_asked_for_and_last(removing: Removing) -> None:
    assert removing.run("--with-data", "--yes") == 0, removing.shown
    assert removing.deleted == ["openmirror", "openmirror-data"]
    assert not [line for line in removing.listed if not line.startswith("delete ")]


def test_a_stack_is_deleted_with_what_it_made_also_where_azure_cannot_delete_a_part_alone(
    removing: Removing,
) -> None:
    assert removing.run("--with-data", "--yes") == 0, removing.shown
    for call in removing.calls[2:]:
        assert call[call.index("--action-on-unmanage") + 1] == "deleteAll"
        assert call[call.index("--resources-without-delete-support") + 1] == "detach"
        assert call[call.index("--resource-group") + 1] == "my rg"
        assert "--yes" in call


def test_every_call_is_one_that_az_takes(removing: Removing) -> None:
    assert removing.run("--with-data", "--yes") == 0, removing.shown
    table = Table.read("az")
    lines = [CommandLine("remove.sh", "az", tuple(call)) for call in removing.calls]
    assert len(lines) == 4
    assert not [found for line in lines for found in mistakes(line, table)]


def test_nothing_goes_before_the_groups_name_was_typed(removing: Removing) -> None:
    for typed in ("", "y\n", "my\n", "my rg 2\n"):
        assert removing.run(typed=typed) == CALLED_OFF
        assert removing.deleted == []
        assert "nothing was deleted" in removing.shown
    assert removing.run(typed="my rg\n") == 0, removing.shown
    assert removing.deleted == ["openmirror"]
    assert "ALL DATA" not in removing.shown
    assert removing.run("--with-data", typed="no\n") == CALLED_OFF
    assert "ALL DATA IS DELETED" in removing.shown


def test_it_can_only_say_what_would_go(removing: Removing) -> None:
    assert removing.run("--dry-run", "--with-data", typed="my rg\n") == 0, removing.shown
    assert removing.listed
    assert removing.deleted == []


@pytest.mark.parametrize(
    ("options", "at", "stops"),
    [
        ([], GROUP, True),
        ([], "one that goes", True),
        # The roles on it go, which a lock forbids too.
        ([], "the lake", True),
        (["--with-data"], "the lake", True),
        ([], "the network", False),
        (["--with-data"], "the network", True),
        ([], "somebody else's", False),
    ],
)
def test_a_lock_on_what_goes_is_found_before_anything_is_deleted(
    removing: Removing, options: list[str], at: str, stops: bool
) -> None:
    data, main = STACKS
    removing.stacks = both(privateNetwork=True)
    lake = next(one for one in managed(data) if "/storageAccounts/" in one)
    places = {
        "one that goes": next(one for one in managed(main) if "/Microsoft.Web/sites/" in one),
        "the lake": lake,
        "the network": next(
            one for one in managed(data, privateNetwork=True) if "/virtualNetworks/" in one
        ),
        "somebody else's": f"{GROUP}/providers/Microsoft.Web/sites/another",
    }
    lock = f"{places.get(at, at)}{LOCKS}"
    removing.locks = [{"id": lock.upper() if stops else lock, "level": "CanNotDelete"}]
    assert removing.run("--yes", *options) == (REFUSED if stops else 0), removing.shown
    assert bool(removing.deleted) is not stops
    assert ("az lock delete --ids" in removing.shown) is stops


def test_what_a_second_private_deployment_shares_is_not_taken_from_it(removing: Removing) -> None:
    removing.stacks = [*both(privateNetwork=True), *both("second", privateNetwork=True)]
    assert removing.run("--yes") == 0, removing.shown
    assert removing.run("--with-data", "--yes") == REFUSED
    assert removing.deleted == []
    for service in ("blob", "dfs", "queue", "table"):
        zone = f"Microsoft.Network/privateDnsZones privatelink.{service}.core.windows.net"
        assert f"the stack second-data has this too, and would lose it: {zone}." in removing.shown
    assert "--action-on-unmanage detachAll" in removing.shown


def test_two_deployments_that_share_nothing_are_removed_one_at_a_time(removing: Removing) -> None:
    removing.stacks = [*both(), *both("second")]
    assert removing.run("--name", "second", "--with-data", "--yes") == 0, removing.shown
    assert removing.deleted == ["second", "second-data"]


def test_data_that_the_other_stack_took_for_its_own_keeps_it_from_going(
    removing: Removing,
) -> None:
    data, main = both()
    lake = next(one for one in managed(STACKS[0]) if one.endswith("/containers/lake"))
    removing.stacks = [data, stack("openmirror", (*managed(STACKS[1]), lake.lower()))]
    assert removing.run("--yes") == REFUSED
    assert removing.deleted == []
    assert "the stack openmirror-data has this too" in removing.shown
    assert main["name"] == "openmirror"


def test_a_removal_that_broke_off_goes_on(removing: Removing) -> None:
    removing.fails = "openmirror-data"
    assert removing.run("--with-data", "--yes") == FAILED
    assert "not all of the stack openmirror-data is gone" in removing.shown
    assert "run this command again" in removing.shown
    removing.fails, removing.stacks = "-", both()[:1]
    assert removing.run("--with-data", "--yes") == 0, removing.shown
    assert removing.deleted == ["openmirror-data"]


def test_a_stack_that_failed_keeps_the_data_even_where_that_is_to_go(removing: Removing) -> None:
    removing.fails = "openmirror"
    assert removing.run("--with-data", "--yes") == FAILED
    assert removing.deleted == ["openmirror"]


def test_where_nothing_is_to_go_it_says_so(removing: Removing) -> None:
    removing.stacks = both()[:1]
    assert removing.run("--yes") == NOTHING
    assert "nothing but data is left of openmirror; --with-data" in removing.shown
    removing.stacks = both("second")
    assert removing.run("--yes") == NOTHING
    assert "there are: second, second-data" in removing.shown
    removing.stacks = []
    assert removing.run("--yes", "--with-data") == NOTHING
    assert "there are: none" in removing.shown
    assert removing.deleted == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--bogus"], "no option '--bogus'"),
        (["--name"], "--name needs a value"),
        (["--name", ""], "--name needs a value"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_asked(
    removing: Removing, options: list[str], why: str
) -> None:
    assert removing.run(*options) == 2
    assert why in removing.shown
    assert not removing.calls


def test_help_names_every_option_and_how_to_keep_data_without_its_protection() -> None:
    script = ROOT / "scripts" / "remove.sh"
    shown = subprocess.run(["sh", script, "--help"], capture_output=True, text=True, check=True)
    for option in ("--resource-group", "--name", "--with-data", "--dry-run", "--yes"):
        assert f"  {option} " in shown.stdout
    assert "--action-on-unmanage detachAll" in shown.stdout
    nothing = subprocess.run(["sh", script], capture_output=True, text=True)
    assert nothing.returncode == 2
    assert "--resource-group is missing" in nothing.stderr
