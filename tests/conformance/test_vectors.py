"""Every vector gives what it says, by the plain interpreter and by the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations
from pathlib import Path

import deltalake
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.operate import requests
from openmirror.plan import plan
from openmirror.plan.decisions import Wait, WaitKind
from openmirror.ports import Entry, TableEngine, no_steps
from openmirror.progress.union import discard
from openmirror.protocol.names import TableFolder, name_of
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import Column, ColumnType
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.status import table_status
from openmirror.status.stages import is_dropped
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.conformance.interpreter import Interpreter
from tests.conformance.reference_engine import ReferenceEngine
from tests.conformance.states import state_of
from tests.conformance.streams import STREAMS
from tests.conformance.vectors import CASES, HERE, Case, Expected, Outcome, check, encoded
from tests.vectors.build import build
from tests.zone import EVERY_PATH, NO_WAITS, Mirror, Paths, Zone, read_delta

pytestmark = pytest.mark.timeout(1800)
"""One fixture takes every vector through the engine: minutes, on two cores with other work."""

PROTOCOL = Path(__file__).parent.parent.parent / "docs" / "PROTOCOL.md"


def _mirror(case: Case) -> str:
    return case.name.replace("/", "-")


def _of(case: Case, table: Expected) -> TableFolder:
    return replace(table.folder, mirror=_mirror(case))


# --- The plain interpreter ------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_interpreter_gives_what_a_vector_says(case: Case, tmp_path: Path) -> None:
    interpreter = Interpreter(tmp_path, case.settings)
    for step in case.steps:
        step.publish(tmp_path)
        interpreter.take(step)
    assert interpreter.folders == {expected.folder for expected in case.expected}
    for expected in case.expected:
        check(expected, interpreter.outcome(expected.folder))


# --- The product ----------------------------------------------------------------------------------


RowsOf = Callable[[Path, TableLog], Iterable[Mapping[str, object]]]
_ME = requests.Operator("a vector", "it says so")
_ASKING: dict[str, Callable[[RootPorts, TableFolder, Mapping[str, str]], object]] = {
    "pause": lambda ports, folder, _: requests.hold(ports, folder, _ME),
    "resume": lambda ports, folder, _: requests.resume(ports, folder, _ME),
    "undrop": lambda ports, folder, _: requests.undrop(ports, folder, _ME),
    "reseed": lambda ports, folder, of: requests.reseed(
        ports, folder, _ME, Sequence(int(of["through"])) if "through" in of else None
    ),
    "skip": lambda ports, folder, of: (
        requests.skip_file(ports, folder, of["file"], _ME)
        if "file" in of
        else requests.skip_through(ports, folder, Through.parse(of["through"]), _ME)
    ),
    "confirm-hard-deletes": lambda ports, folder, _: requests.confirm_hard_deletes(
        ports, folder, _ME
    ),
    "clean": lambda ports, folder, _: clean_table(ports, folder),
}


class Drained:
    """Vectors side by side, each in a mirror of its own, drained together by one engine."""

    def __init__(
        self, ports: RootPorts, engine: TableEngine, root: Path, cases: list[Case]
    ) -> None:
        self.ports = ports
        self._root = root
        self._outcomes: dict[TableFolder, object] = {}
        for number in range(max(len(case.steps) for case in cases)):
            pending = [case for case in cases if number < len(case.steps)]
            for case in pending:
                self._take(case, number)
            mirrors = [_mirror(case) for case in pending]
            done = drain(ports, engine, mirrors, workers=4)
            assert not done.has_failed, done
            self._outcomes.update(done.outcomes)

    def _take(self, case: Case, number: int) -> None:
        step = case.steps[number]
        settings = step.settings or (case.settings if number == 0 else None)
        if settings:
            path = self._root / layout.mirror_settings(_mirror(case))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(settings)
        step.publish(self._root / layout.landing_zone(_mirror(case)))
        for asked in step.asked:
            folder = TableFolder.of_key(_mirror(case), asked["folder"])
            _ASKING[asked["verb"]](self.ports, folder, asked)

    def tables(self, case: Case) -> set[Path]:
        """Where this case's mirror has tables."""
        tables = self._root / "lake" / _mirror(case) / "Tables"
        return {path.parent for path in tables.glob("*/*/_delta_log")}

    def path(self, folder: TableFolder) -> Path:
        document = Documents(self.ports.store).mirror(folder.mirror).value
        name = name_of(folder, document.default_schema)
        return self._root / layout.delta_table(folder.mirror, name)

    def outcome(self, folder: TableFolder, rows_of: RowsOf) -> Outcome:
        """`rows_of` reads the rows of a table that is there."""
        observed = observe(self.ports, folder).observed
        decision = plan(observed, self.ports.limits, observed.at)
        left = self._outcomes[folder]
        if isinstance(left, Wait) and left.waiting.kind is WaitKind.GRACE:
            decision = left  # the next drain ends it
        assert type(decision) is type(left), "a drain leaves nothing to do"
        status = table_status(observed, decision)
        columns: tuple[Column, ...] = ()
        rows: list[list[object]] = []
        if isinstance(observed.log, TableLog) and observed.folder in observed.log.owners:
            columns = observed.log.schema.columns
            found = rows_of(self.path(folder), observed.log) if columns else []
            rows = [encoded(row, columns, observed.incarnation) for row in found]
        codes = (warning.code for warning in status.warnings)
        warnings = tuple(sorted({code for code in codes if isinstance(code, Code)}))
        state = "dropped" if is_dropped(observed) else state_of(decision)
        return Outcome(columns, rows, state, str(status.applied), warnings)

    def check(self, case: Case, rows_of: RowsOf) -> None:
        """Compare everything that a vector says."""
        expected = {_of(case, table): table for table in case.expected}
        assert discover(self.ports.store, _mirror(case)) == sorted(expected)
        made = {self.path(folder) for folder, table in expected.items() if table.columns}
        assert self.tables(case) == made
        for folder, table in expected.items():
            check(table, self.outcome(folder, rows_of))


def _ports(ports: RootPorts, batch_files: int) -> RootPorts:
    # Files without a time of their own are as old as this run, which may take its ten minutes.
    limits = replace(NO_WAITS, batch_files=batch_files, incomplete_grace=timedelta(days=1))
    return replace(ports, limits=limits)


# --- All of the product but Spark -----------------------------------------------------------------


class ByReference:
    """All vectors, drained by the engine that keeps rows by definition."""

    def __init__(self, root: Path, batch_files: int, cases: list[Case]) -> None:
        store = LocalStore(root)
        ports = RootPorts(
            store=store,
            inspector=ChangeFileInspector(store),
            logs=LogReplay(store),
            clock=lambda: datetime.now(UTC),
            limits=NO_WAITS,
            steps=no_steps,
            emit=discard,
        )
        self._engine = ReferenceEngine(store)
        self._drained = Drained(_ports(ports, batch_files), self._engine, root, cases)

    def check(self, case: Case) -> None:
        self._drained.check(case, lambda path, log: self._engine.rows(log))


_OF_SEVERAL_FILES = [case for case in CASES if len(case.change_files) > 1]
"""A file alone is the same batch whatever a batch may hold."""
_SOAKED = [case for at, case in enumerate(_OF_SEVERAL_FILES) if at % 3]
_BY_BATCHES = {1: CASES, 500: _OF_SEVERAL_FILES[::3]}
"""By large batches every third; the soak takes all."""


@pytest.fixture(scope="module")
def by_reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], ByReference]:
    """All vectors as they come out by batches of so many files."""

    @cache
    def drained(batch_files: int) -> ByReference:
        root = tmp_path_factory.mktemp("reference")
        return ByReference(root, batch_files, _BY_BATCHES[batch_files])

    return drained


@pytest.mark.parametrize(
    ("batch_files", "case"),
    [
        pytest.param(batch_files, case, id=f"batches of {batch_files}-{case.name}")
        for batch_files, cases in _BY_BATCHES.items()
        for case in cases
    ],
)
def test_all_but_spark_gives_what_a_vector_says_by_batches_of_any_size(
    batch_files: int, case: Case, by_reference: Callable[[int], ByReference]
) -> None:
    by_reference(batch_files).check(case)


@pytest.mark.soak
def test_all_but_spark_gives_what_the_other_vectors_say_by_large_batches(tmp_path: Path) -> None:
    drained = ByReference(tmp_path, 500, _SOAKED)
    for case in _SOAKED:
        drained.check(case)


# --- The engine -----------------------------------------------------------------------------------

WITHOUT_SPARK = ("metadata", "naming", "sequence", "tables", "text", "zone")
"""Groups about what happens before rows come to Spark: it takes them in the soak alone."""
TAKEN_ANYWAY = (
    "tables/dropped",
    "tables/names-of-any-characters",
    "tables/names-that-differ-in-case-only",
    "tables/re-created-at-once",
    "tables/re-created-with-a-bad-row",
    "tables/re-created-with-other-columns",
    "tables/re-created-with-other-keys",
    "tables/reseeded",
    "tables/reseeded-through-a-file",
    "tables/undropped-with-its-folder",
)
"""Of these groups: paths as Spark spells them, and each kind of commit that opens an epoch."""
FOUND_IN_ROWS = (
    Code.ROW_MARKER_INVALID,
    Code.KEY_COLUMNS_UNDECLARED,
    Code.NO_ROW_TO_UPDATE,
)
"""Problems that Spark finds; all others stop a file by its footer, or while it is converted."""


def _comes_to_spark(case: Case) -> bool:
    """Whether Spark has a part in what a vector is about."""
    if case.folder.parent.name in WITHOUT_SPARK:
        return case.name in TAKEN_ANYWAY
    states = [table.state for table in case.expected]
    return any(state == "idle" or state.get("paused") in FOUND_IN_ROWS for state in states)


class InSpark:
    """Vectors, drained by the product's engine, and its tables as other readers see them."""

    def __init__(
        self,
        root: Path,
        spark: SparkSession,
        batch_files: int,
        cases: list[Case] = CASES,
        paths: Paths = EVERY_PATH,
    ) -> None:
        self._runner = Mirror(Zone(root), spark, paths=paths)
        ports = _ports(self._runner.ports, batch_files)
        self._drained = Drained(ports, self._runner.engine, root, cases)

    def check(self, case: Case) -> None:
        self._drained.check(case, lambda path, log: self._rows(path))
        for table in case.expected:
            path = self._drained.path(_of(case, table))
            if table.columns and not _is_for_spark_alone(path):
                assert _columns_for_deltalake(path) == list(table.columns)

    def _rows(self, path: Path) -> list[dict[str, object]]:
        if _is_for_spark_alone(path):
            frame = self._runner.spark.read.format("delta").load(str(path))
            return frame.toArrow().to_pylist()
        return read_delta(path)


def _is_for_spark_alone(path: Path) -> bool:
    """deltalake misreads some letters of a path, and opens no table that was widened in place."""
    misread = any(character in "%\\" or not character.isprintable() for character in str(path))
    return misread or "by-the-table-feature" in str(path)


def _columns_for_deltalake(path: Path) -> list[Column]:
    fields = deltalake.DeltaTable(str(path)).schema().fields
    return [Column(f.name, ColumnType(f.type.type.replace(" ", ""))) for f in fields]


def _in_turn(cases: list[Case]) -> Iterator[Case]:
    """Of each group every tenth vector, and all that are named; the soak takes the others."""
    groups: dict[str, int] = {}
    for case in cases:
        group = case.folder.parent.name
        groups[group] = groups.get(group, -1) + 1
        if case.name in TAKEN_ANYWAY or groups[group] % 10 == 0:
            yield case


_IN_SPARK = list(_in_turn([case for case in CASES if _comes_to_spark(case)]))


@pytest.fixture(scope="module")
def in_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> InSpark:
    return InSpark(tmp_path_factory.mktemp("vectors"), spark, 500, _IN_SPARK)


@pytest.mark.parametrize("case", _IN_SPARK, ids=lambda case: case.name)
def test_the_engine_gives_what_a_vector_says(case: Case, in_spark: InSpark) -> None:
    in_spark.check(case)


_NO_DIRECT_COMMIT = Paths(direct=False)
_NO_QUICKER_PATH = Paths(small_batch=0, small_table=0, copies=False, direct=False)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("batch_files", "paths"),
    [
        (1, EVERY_PATH),
        (2, EVERY_PATH),
        (500, EVERY_PATH),
        (500, _NO_DIRECT_COMMIT),
        (500, _NO_QUICKER_PATH),
        (1, _NO_QUICKER_PATH),
    ],
)
def test_the_engine_gives_what_every_vector_says_by_batches_of_any_size_and_by_any_path(
    tmp_path: Path, spark: SparkSession, batch_files: int, paths: Paths
) -> None:
    engine = InSpark(tmp_path, spark, batch_files, paths=paths)
    for case in CASES:
        engine.check(case)


# --- The vectors themselves -----------------------------------------------------------------------


def test_the_vectors_are_what_their_builder_writes(tmp_path: Path) -> None:
    build(tmp_path)
    built = {path.relative_to(tmp_path): path for path in _files(tmp_path)}
    folders = [*(case.folder for case in CASES), *(case.path.parent for case in STREAMS)]
    there = {path.relative_to(HERE): path for folder in folders for path in _files(folder)}
    assert built.keys() == there.keys()
    for name, path in built.items():
        assert _content(path) == _content(there[name]), name


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _content(path: Path) -> object:
    """Of a Parquet file what is in it: another pyarrow may write other bytes."""
    if path.suffix.lower() == ".parquet":
        try:
            file = pq.ParquetFile(path)
            return str(file.schema).partition("\n")[2], repr(file.read().to_pylist())
        except (OSError, ValueError):
            pass
    return path.read_bytes()


_ARE_OTHER = ("string", "binary", "boolean")


def _family(kind: str) -> str:
    return "other" if kind in _ARE_OTHER else "decimal" if kind.startswith("decimal") else kind


def _types_in_vectors() -> Iterator[tuple[str, str]]:
    """Each column of a table of the growth vectors, and the type that it has in one file."""
    for landing in HERE.glob("growth/*/**/landing"):
        case = landing.relative_to(HERE).parts[1]
        inspector = ParquetInspector(LocalStore(HERE))
        for file in sorted(landing.rglob("*.parquet")):
            path = StorePath(file.relative_to(HERE).as_posix())
            entry = Entry(file.name, False, 0, None, "")  # type: ignore[arg-type]
            for column in inspector.inspect(path, entry).schema.columns:
                yield f"{case}/{file.parent.name}/{column.name}", _family(column.type)


@pytest.mark.skipif(not PROTOCOL.exists(), reason="there is no PROTOCOL.md to compare with")
def test_every_pair_of_types_has_a_vector_that_grows_or_does_not() -> None:
    table = PROTOCOL.read_text(encoding="utf-8").partition("### 6.3")[2].partition("\n- (d)")[0]
    kinds = [
        name.strip().partition("(")[0]
        for name in re.findall(r"^\| \|(.+)\|$", table, re.M)[0].split("|")
    ]
    assert kinds[0] == "byte"
    assert kinds[-1] == "other"
    by_column: dict[str, set[str]] = {}
    for column, kind in _types_in_vectors():
        by_column.setdefault(column, set()).add(kind)
    seen = {pair for found in by_column.values() for pair in combinations(sorted(found), 2)}
    assert {tuple(sorted(pair)) for pair in combinations(kinds, 2)} <= seen


def test_the_vectors_are_small() -> None:
    assert len(CASES) >= 60
    assert sum(path.stat().st_size for path in _files(HERE)) < 2_500_000


def _rules_of_protocol() -> set[str]:
    """The sections of §2 to §7, and the numbered rules of §3 and of its sections."""
    text = PROTOCOL.read_text(encoding="utf-8")
    sections = set(re.findall(r"^###? ([2-7](?:\.\d+)?)\.? ", text, re.MULTILINE))
    third = text.partition("\n## 3")[2].partition("\n## 4")[0]
    ports = re.split(r"^### (3\.\d) ", "3\n" + third, flags=re.MULTILINE)
    for section, part in zip(["3", *ports[1::2]], ports[0::2], strict=True):
        sections |= {f"{section}.{rule}" for rule in re.findall(r"^(\d)\. ", part, re.MULTILINE)}
    return sections


@pytest.mark.skipif(not PROTOCOL.exists(), reason="there is no PROTOCOL.md to compare with")
def test_every_rule_about_names_files_rows_schema_and_tables_has_a_vector() -> None:
    rules = _rules_of_protocol()
    assert {"2.1", "3.8", "4.5", "5.5", "6.5"} <= rules
    cited = {section for case in CASES for section in case.document["protocol"]}
    assert cited <= rules, "a vector names a section that is not there"
    parents = {rule.rpartition(".")[0] for rule in rules}
    assert rules - parents <= cited, "a section has no vector"
