"""Tables with a ledger against the plain interpreter: the same order, the same state, each time."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate import requests
from openmirror.plan import plan
from openmirror.plan.decisions import Pause
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.rules import Code
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.status import table_status
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.ledger import effective
from openmirror.wiring.local import utc_now
from tests.conformance.interpreter import Interpreter
from tests.conformance.states import state_of
from tests.conformance.vectors import Step
from tests.harness.examples import examples
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, table
from tests.harness.world import NO_GRACE

ORDERS = table("m", "Orders")
ME = requests.Operator("ann", "a test")


def _parquet(value: int) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [value], "size": ["x" * value]}), buffer, compression="none")
    return buffer.getvalue()


def _content(kind: str, count: int) -> bytes:
    """No file is ever replaced by one of the same size: on disk, that and its time are its ETag."""
    whole = _parquet(count)
    return {"good": whole, "cut off": whole[: 50 + count], "bad": b"id\n" + b"1" * count}[kind]


@dataclass(frozen=True)
class Published:
    """One change file."""

    partition: str
    number: int
    minute: int
    content: str


@dataclass(frozen=True)
class Act:
    """Files that are published, then something that an operator asks for; then all is drained."""

    published: tuple[Published, ...]
    verb: str
    partition: str
    number: int


class _Asked(Step):
    """A step that is on disk already."""

    def __init__(self, asked: list[dict[str, str]]) -> None:
        super().__init__(Path("nowhere"), {})
        object.__setattr__(self, "_asked", asked)

    @property
    def asked(self) -> list[dict[str, str]]:
        return self._asked  # type: ignore[attr-defined, no-any-return]


WAYS = {
    "by time": {"fileDetectionStrategy": "LastUpdateTimeFileDetection"},
    "partitions": {"isPartitionEnabled": True},
    "both": {
        "fileDetectionStrategy": "LastUpdateTimeFileDetection",
        "isPartitionEnabled": True,
    },
}


class TwoZones:
    """The same landing zone twice: one for the engine, one for the interpreter."""

    def __init__(self, place: Path, way: str, batch_files: int) -> None:
        self._way = way
        self._root = place / "root"
        self._zones = (self._root / layout.landing_zone("m"), place / "zone")
        for zone in self._zones:
            (zone / "Orders").mkdir(parents=True)
            text = json.dumps({"keyColumns": ["id"], **WAYS[way]})
            (zone / "Orders" / "_metadata.json").write_text(text)
        store = LocalStore(self._root)
        limits = replace(NO_GRACE, batch_files=batch_files)
        self.ports = RootPorts(
            store=store,
            inspector=ChangeFileInspector(store),
            logs=LogReplay(store),
            clock=utc_now,
            limits=limits,
        )
        open_mirror(store, "m")
        self.interpreter = Interpreter(self._zones[1], None)
        self.interpreter.take(_Asked([]))
        self._published = 0

    def do(self, act: Act) -> None:
        asked: list[dict[str, str]] = []
        for file in act.published:
            self._publish(file)
        match act.verb:
            case "clean":
                clean_table(self.ports, ORDERS)
                asked.append({"verb": "clean"})
            case "give up" if self._way == "partitions":
                through = f"{act.partition}/{act.number}"
                requests.skip_through(self.ports, ORDERS, Through.parse(through), ME)
                asked.append({"verb": "skip", "through": through})
            case "skip" if (bad := self._bad_file()) is not None:
                requests.skip_file(self.ports, ORDERS, bad, ME)
                asked.append({"verb": "skip", "file": bad})
            case "reseed" if self._state() == "idle":  # else it would not begin yet
                requests.reseed(self.ports, ORDERS, ME)
                asked.append({"verb": "reseed"})
        drain(self.ports, PaperEngine(self.ports.store), ["m"], workers=1)
        self.interpreter.take(_Asked([{"folder": "Orders", **one} for one in asked]))

    def _publish(self, file: Published) -> None:
        # What is not whole is young, else it would be a problem.
        at = time.time() // 60 * 60 - 3600 + 60 * file.minute
        at = time.time() if file.content == "cut off" else at
        name = file_name(file.number)
        self._published += 1
        content = _content(file.content, self._published)
        for zone in self._zones:
            folder = zone / "Orders" / ("" if self._way == "by time" else file.partition)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            os.utime(folder / name, (at, at))

    def _bad_file(self) -> str | None:
        observed = observe(self.ports, ORDERS).observed
        match plan(observed, self.ports.limits, observed.at):
            case Pause(problem) if problem.code is Code.FILE_UNREADABLE:
                return problem.file
        return None

    def _state(self) -> object:
        observed = observe(self.ports, ORDERS).observed
        return state_of(plan(observed, self.ports.limits, observed.at))

    def check(self) -> None:
        observed = observe(self.ports, ORDERS).observed
        decision = plan(observed, self.ports.limits, observed.at)
        status = table_status(observed, decision)
        wanted = self.interpreter.outcome(ORDERS)
        assert state_of(decision) == wanted.state
        assert str(status.applied) == wanted.applied
        codes = dict.fromkeys(w.code for w in status.warnings if isinstance(w.code, Code))
        # Names of the archive are asked for as far as the next batch needs them.
        is_all = not isinstance(decision, Pause) or self._way == "partitions"
        assert tuple(codes) == wanted.warnings or (not is_all and not codes)
        assert observed.incarnation is not None
        entries = read_entries(self.ports.store, ORDERS, observed.incarnation)
        order = list(effective(entries, observed.naming, observed.applied))
        assert order == self.interpreter.order(ORDERS.path)


published = st.builds(
    Published,
    st.sampled_from(["", "P=a", "P=a", "P=b/Q=c"]),
    st.integers(1, 3),
    st.integers(0, 4),
    st.sampled_from(["good"] * 12 + ["cut off", "bad"]),
)
acts = st.builds(
    Act,
    st.lists(published, max_size=9).map(tuple),
    st.sampled_from(["", "", "", "clean", "skip", "skip", "give up", "reseed"]),
    st.sampled_from(["", "P=a"]),
    st.integers(1, 3),
)


@settings(max_examples=examples(20), deadline=None, report_multiple_bugs=False)
@given(
    st.sampled_from(["partitions", *sorted(WAYS)]),
    st.sampled_from([1, 2, 500]),
    st.lists(acts, max_size=5),
)
def test_any_history_comes_to_what_the_plain_interpreter_says(
    way: str, batch_files: int, happened: list[Act]
) -> None:
    place = Path(tempfile.mkdtemp(prefix="ledgers-"))
    try:
        world = TwoZones(place, way, batch_files)
        for act in happened:
            world.do(act)
            world.check()
    finally:
        shutil.rmtree(place)
