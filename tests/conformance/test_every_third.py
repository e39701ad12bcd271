"""A mirror in which every third table has a fault: all others are current, and each fault is shown.

With its code, its place and what to do about it, by `drain`, `up`, `status --json`, the status
page of both, the sweep and the Function App's calls. Modes of files count, also where tests run
as root.
"""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import azure.functions as func
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from functions import status as status_functions
from functions import sweep as sweep_function
from openmirror import wiring
from openmirror.cli.app import app
from openmirror.errors import SOLUTIONS
from openmirror.ports import TableEngine
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.reconcile.liveness import SWEPT_EVERY
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.sweeper import Sweeper
from openmirror.runtime.sweeping import publish_all, sweep
from openmirror.settings import Settings
from openmirror.status import TableStatus, wait_remedy
from openmirror.stores.local.store import LocalStore
from openmirror.stores.local.wake_up import LocalWaker
from openmirror.stores.memory.dead_letters import MemoryDeadLetters
from openmirror.stores.memory.work import MemoryLeases
from openmirror.table import layout
from tests.conformance.faults import FAULTS, MIRROR, Fault, OneOfMany, file_name
from tests.harness.paper import PaperEngine
from tests.harness.rights import of_a_plain_user
from tests.zone import read_delta

ENV = {
    "OPENMIRROR_METADATA_GRACE": "0",
    "OPENMIRROR_DROP_GRACE": "0",
    "OPENMIRROR_SWEEP_INTERVAL": "1",
    "OPENMIRROR_STATUS_INTERVAL": "1",
}
MISPLACED = f"{layout.landing_zone(MIRROR)}/{file_name(7)}"
"""What lies beside the tables' folders is a fault of the mirror."""
PATIENCE = 60.0
WHERE_SPARK_GOES = ("damaged", "linked_file", "locked_file", "locked_log")
"""Faults of what Spark itself reads and writes; the other tests here show all of them."""
Engine = Callable[[Path], TableEngine]


@dataclass(frozen=True)
class Many:
    """A root with one mirror: for each fault two good tables, which come before and after it."""

    root: Path
    faults: tuple[Fault, ...] = FAULTS

    @classmethod
    def made(cls, root: Path, faults: tuple[Fault, ...] = FAULTS) -> Many:
        (root / layout.landing_zone(MIRROR)).mkdir(parents=True)
        many = cls(root, faults)
        for name in (*many.good, *many.faulty):
            many.table(name).metadata({"keyColumns": ["id"]})
        return many

    @property
    def faulty(self) -> list[str]:
        return [fault.name for fault in self.faults]

    @property
    def good(self) -> list[str]:
        return [f"{side}_{fault.name}" for fault in self.faults for side in ("a", "z")]

    def table(self, name: str) -> OneOfMany:
        return OneOfMany(self.root, name)

    def land(self, number: int, names: list[str]) -> None:
        for name in names:
            self.table(name).rows(number)

    def breaks(self) -> None:
        for fault in self.faults:
            fault.breaks(self.table(fault.name))
        (self.root / MISPLACED).write_bytes(b"a file of no table")

    def unlock(self) -> None:
        """Let whoever cleans up after the tests in again."""
        for path in (self.root / "landing").rglob("*"):
            if not path.is_symlink() and not path.stat().st_mode & 0o400:
                path.chmod(0o755)

    def ports(self) -> RootPorts:
        settings = Settings.load({**ENV, "OPENMIRROR_ROOT": str(self.root)})
        return wiring.local_ports(settings)


@contextmanager
def paper_engine(settings: Settings, say: object = None) -> Iterator[TableEngine]:
    """An engine that only keeps the books, in Spark's place."""
    del say
    yield PaperEngine(LocalStore(settings.root_folder()))


@dataclass(frozen=True)
class Drained:
    """The mirror, and what `drain` printed of it."""

    many: Many
    exit_code: int
    printed: str

    def of(self, name: str) -> str:
        return of_table(name, self.printed)


def of_table(name: str, text: str) -> str:
    """What was first printed of one table: its line, and those below it that are indented."""
    lines = text.splitlines()
    begins = (f"m/dbo.{name} is ", f"m/dbo.{name} waits ", f"m/dbo.{name}: ")
    begin = next(number for number, line in enumerate(lines) if line.startswith(begins))
    printed = [lines[begin]]
    for line in lines[begin + 1 :]:
        if not line.startswith("  "):
            break
        printed.append(line)
    return "\n".join(printed)


def run(root: Path, *words: str) -> Any:
    with of_a_plain_user():
        return CliRunner().invoke(app, [*words, "--root", str(root)], env=ENV)


@pytest.fixture(scope="module")
def drained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drained]:
    many = Many.made(tmp_path_factory.mktemp("third") / "root")
    every = [*many.good, *many.faulty]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wiring, "local_engine", paper_engine)
        many.land(1, every)
        assert run(many.root, "drain").exit_code == 0
        many.land(2, every)
        many.breaks()
        done = run(many.root, "drain")
    yield Drained(many, done.exit_code, done.stderr)
    many.unlock()


def every_fault() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


def test_every_third_table_has_a_fault() -> None:
    many = Many(Path("root"))
    assert len(many.good) == 2 * len(many.faulty)
    assert len(many.faulty) >= 10  # so there are 30 tables or more


def test_drain_ends_with_its_summary_and_the_code_of_what_is_left(drained: Drained) -> None:
    many = drained.many
    assert f"{len(many.good) + len(many.faulty)} tables" in drained.printed
    assert drained.exit_code == 3


@every_fault()
def test_drain_shows_each_fault_with_code_place_and_remedy(fault: Fault, drained: Drained) -> None:
    printed = drained.of(fault.name)
    assert fault.code in printed or (fault.is_wait and "waits since" in printed)
    assert fault.place in printed
    assert fault.advice in printed


def is_misplacement_shown(printed: str) -> bool:
    return all(
        part in printed for part in (Code.FILE_MISPLACED, MISPLACED, SOLUTIONS[Code.FILE_MISPLACED])
    )


def test_drain_shows_what_feeds_no_table(drained: Drained) -> None:
    assert is_misplacement_shown(drained.printed)


def of_status(root: Path) -> dict[str, Any]:
    shown = run(root, "status", "--json")
    assert shown.exit_code == 0, shown.output
    return {table["sourceTableName"]: table for table in json.loads(shown.stdout)["data"]}


def is_shown(fault: Fault, table: dict[str, Any]) -> bool:
    """Whether `status --json` shows this fault of its table: problem or wait, and where."""
    ours = table["openmirror"]
    if fault.is_wait:
        wait = ours["waitingFor"]
        return bool(wait["kind"] == fault.code and f"{int(wait['sequence']):020d}" in fault.place)
    if fault.is_warning:
        return any(
            warning["code"] == fault.code
            and fault.place in f"{warning['file']} {warning['detail']}"
            and warning["solution"] == fault.advice
            for warning in ours["warnings"]
        )
    problem = ours["problem"]
    where = f"{problem['file']} {problem['detail']}"
    reported = (problem["code"], table["error"]["errorCode"], table["status"])
    return bool(
        reported == (fault.code, fault.code, "Failed")
        and fault.place in where
        and problem["solution"] == fault.advice
    )


def test_status_shows_every_fault_and_all_others_are_current(drained: Drained) -> None:
    tables = of_status(drained.many.root)
    assert set(tables) == {*drained.many.good, *drained.many.faulty}
    for name in drained.many.good:
        ours = tables[name]["openmirror"]
        assert (ours["appliedSequence"], ours["pendingFiles"], ours["problem"]) == ("2", 0, None)
    assert [fault.name for fault in FAULTS if not is_shown(fault, tables[fault.name])] == []


def test_status_for_people_names_every_fault_once(drained: Drained) -> None:
    shown = " ".join(run(drained.many.root, "status").stdout.split())
    for fault in FAULTS:
        assert re.search(rf"m/dbo\.{fault.name}[ :]", shown)
        assert fault.advice in shown


class App(SimpleNamespace):
    """What functions share, over the mirror."""


@pytest.fixture
def hosted(drained: Drained, monkeypatch: pytest.MonkeyPatch) -> App:
    ports, waker = drained.many.ports(), LocalWaker()
    starter: Any = SimpleNamespace(start_if_needed=lambda: None)
    resting = RestingTables(SWEPT_EVERY, SWEPT_EVERY)
    made = App(
        ports=ports,
        dead_letters=MemoryDeadLetters(),
        sweep_waker=waker,
        sweeper=Sweeper(ports, waker, starter, MemoryLeases(ports.clock), resting, SWEPT_EVERY),
    )
    monkeypatch.setattr(status_functions, "built", lambda: made)
    monkeypatch.setattr(sweep_function, "built", lambda: made)
    return made


def called(blueprint: func.Blueprint, name: str, argument: object) -> Any:
    host = func.FunctionApp()
    host.register_functions(blueprint)
    found = {one.get_function_name(): one.get_user_function() for one in host.get_functions()}
    with of_a_plain_user():
        return found[name](argument)


def request(method: str) -> func.HttpRequest:
    address = "https://app.azurewebsites.net/api/x?code=secret"
    return func.HttpRequest(method, address, route_params={"mirror": MIRROR}, body=b"")


def not_on_page(page: str, many: Many) -> list[str]:
    """What of the faults and of the good tables the page should have and has not."""
    bare = re.sub(r"<[^>]+>", " ", page)
    shown = html.unescape(bare).replace(" ", "")
    wanted = [f"dbo.{name}" for name in many.good]
    for fault in many.faults:
        wanted += [f"dbo.{fault.name}", fault.code, fault.place, fault.advice]
    wanted += [Code.FILE_MISPLACED, MISPLACED, SOLUTIONS[Code.FILE_MISPLACED]]
    # Pieces of code in a sentence have an element of their own there.
    return [part for part in wanted if part.replace("`", "").replace(" ", "") not in shown]


@pytest.mark.usefixtures("hosted")
def test_the_status_page_shows_every_fault(drained: Drained) -> None:
    page = called(status_functions.blueprint, "status", request("GET"))
    assert not_on_page(page.get_body().decode(), drained.many) == []


@pytest.mark.usefixtures("hosted")
def test_the_function_apps_call_shows_what_the_command_shows(drained: Drained) -> None:
    answer = called(status_functions.blueprint, "getTablesMirroringStatus", request("POST"))
    tables = {one["sourceTableName"]: one for one in json.loads(answer.get_body())["data"]}
    assert set(tables) == {*drained.many.good, *drained.many.faulty}
    assert [fault.name for fault in FAULTS if not is_shown(fault, tables[fault.name])] == []
    for name in drained.many.good:
        assert tables[name]["status"] == "Replicating"
        assert tables[name]["openmirror"]["problem"] is None
    assert is_misplacement_shown(answer.get_body().decode())


def test_the_sweep_wakes_nobody_in_vain_and_leaves_no_stale_status(
    drained: Drained, hosted: App
) -> None:
    monitored = drained.many.root / layout.monitoring(MIRROR) / "tables.json"
    monitored.unlink()
    called(sweep_function.blueprint, "sweep", SimpleNamespace(past_due=False))
    assert hosted.sweep_waker.take(0) is None
    tables = {t["sourceTableName"]: t for t in json.loads(monitored.read_text())["tables"]}
    assert {tables[name]["status"] for name in drained.many.good} == {"Replicating"}
    for fault in FAULTS:
        reported = tables[fault.name]
        if not fault.is_wait and not fault.is_warning:
            assert (reported["status"], reported["errorCode"]) == ("Failed", fault.code)
            assert fault.place in reported["errorMessage"]
            assert fault.advice in reported["errorMessage"]


def test_the_sweep_knows_every_table_or_why_not(drained: Drained) -> None:
    with of_a_plain_user():
        swept = sweep(drained.many.ports(), [MIRROR], LocalWaker())
    for fault in FAULTS:
        seen = swept.seen.get(TableFolder(MIRROR, TablePath("", fault.name)))
        assert fault.place in (
            _words(seen) if seen is not None else swept.unreadable[f"{MIRROR}/{fault.name}"]
        )


def _words(seen: TableStatus) -> str:
    if seen.problem:
        return f"{seen.problem.file} {seen.problem.detail}"
    if seen.warnings:
        return " ".join(f"{warning.file} {warning.detail}" for warning in seen.warnings)
    assert seen.waiting_for
    waiting = seen.waiting_for.waiting
    return f"{waiting.file} {waiting.detail} {wait_remedy(waiting, str(seen.name))}"


# --- up -------------------------------------------------------------------------------------------

_UP = """
import sys
from contextlib import nullcontext
from openmirror import wiring
from openmirror.cli.app import app
from openmirror.stores.local.store import LocalStore
from tests.harness.paper import PaperEngine
from tests.harness.rights import of_a_plain_user

wiring.local_spark = lambda settings, say: nullcontext()
wiring.engine_over = lambda settings, spark: PaperEngine(LocalStore(settings.root_folder()))
with of_a_plain_user():
    app(sys.argv[1:])
"""


def test_up_starts_shows_every_fault_and_goes_on_with_all_others(drained: Drained) -> None:
    many = drained.many
    log = many.root.parent / "up.log"
    with log.open("wb") as out:
        up = subprocess.Popen(
            [sys.executable, "-c", _UP, "up", "--page", "--root", str(many.root)],
            env={
                **os.environ,
                **ENV,
                "OPENMIRROR_PAGE_PORT": "0",
                "PYTHONPATH": str(Path.cwd()),
            },
            stderr=out,
        )
    try:
        until(lambda: "mirroring m" in log.read_text() or up.poll() is not None, log)
        address = log.read_text().partition("status page: ")[2].splitlines()[0]
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            page = answer.read().decode()
        many.land(3, many.good)
        until(lambda: all(f"m/dbo.{name}  file 3 " in log.read_text() for name in many.good), log)
    finally:
        up.send_signal(signal.SIGINT)
        assert up.wait(PATIENCE) == 0
    printed = log.read_text()
    for fault in FAULTS:
        shown = of_table(fault.name, printed)
        assert fault.code in shown or (fault.is_wait and "waits since" in shown)
        assert fault.place in shown
        assert fault.advice in shown
    assert is_misplacement_shown(printed)
    assert not_on_page(page, many) == []
    tables = of_status(many.root)
    assert {tables[name]["openmirror"]["appliedSequence"] for name in many.good} == {"3"}


def until(true: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


# --- With Spark -----------------------------------------------------------------------------------


def test_spark_applies_every_good_table_beside_the_faulty_ones(
    tmp_path: Path, spark: SparkSession
) -> None:
    from openmirror.formats.conversion import FileConverter
    from openmirror.runtime.draining import drain
    from openmirror.spark.engine import SparkEngine
    from openmirror.spark.places import local_spark_paths

    many = Many.made(tmp_path / "root", tuple(f for f in FAULTS if f.name in WHERE_SPARK_GOES))
    every = [*many.good, *many.faulty]
    many.land(1, every)
    many.land(2, every)
    many.breaks()
    ports = many.ports()
    engine = SparkEngine(spark, local_spark_paths(str(many.root)), FileConverter(ports.store))
    try:
        with of_a_plain_user():
            result = drain(ports, engine, [MIRROR], workers=2)
            publish_all(ports, [MIRROR])
            tables = of_status(many.root)
    finally:
        many.unlock()
    assert not result.has_failed
    assert {folder.path.table for folder in result.stopped} == set(many.faulty)
    for name in many.good:
        assert sorted(row["id"] for row in read_delta(many.table(name).delta)) == [1, 2]
    assert [fault.name for fault in many.faults if not is_shown(fault, tables[fault.name])] == []
