"""Each bad input stops its own table only, says what to do, loses nothing, and goes on once mended.

All bad tables lie side by side in one zone, which is drained three times: as it was before
anything went wrong, with the bad input, and mended. The tests ask about what each drain left.
Spark applies the tables whose rows it must read to find what is wrong, and their neighbours; the
engine that keeps rows by definition applies those that are stopped before.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from openmirror.errors import SOLUTIONS
from openmirror.operate.requests import Operator, skip_file, skip_through
from openmirror.plan import Batch, Decision, plan
from openmirror.plan.decisions import Idle, Pause, Wait, WaitKind
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.ports import BadFile, CommitResult, Prepared, Step, TableEngine, Transaction
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import LAST_SEQUENCE, Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.runtime.draining import DrainResult, drain
from openmirror.runtime.isolation import UnreadableTable
from openmirror.status import TableStatus, table_status
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.log import TableLog
from tests.conformance.reference_engine import ReferenceEngine
from tests.harness.publishing import file_name
from tests.zone import MIRROR, Mirror, Zone, read_delta

ME = Operator("me", "it was empty")
KEYED = {"keyColumns": ["id"]}
GOOD = {"id": [2], "v": ["b"]}
_BEYOND = timedelta(minutes=11)


def _rows(*rows: tuple[Any, int, str]) -> dict[str, Any]:
    markers, ids, values = zip(*rows, strict=True)
    return {"__rowMarker__": list(markers), "id": list(ids), "v": list(values)}


def _parquet(table: pa.Table | Mapping[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(
        table if isinstance(table, pa.Table) else pa.table(dict(table)), buffer, **options
    )
    return buffer.getvalue()


def _damaged(codec: str, *, at: int, **options: Any) -> bytes:
    """A file whose footer is as it should be, and some bytes of its pages are not."""
    many = {"id": list(range(1000)), "v": [f"value {n}" for n in range(1000)]}
    data = bytearray(_parquet(many, compression=codec, use_dictionary=False, **options))
    data[at : at + 500] = b"\xff" * 500
    return bytes(data)


# Numbers that are not compressed are numbers still: only the writer's checksums show it.
_CHECKED = _damaged("none", at=4000, write_page_checksum=True)

Spoil = Callable[[Zone, str], object]


def _bytes(data: bytes) -> Spoil:
    return lambda zone, table: zone.put_bytes(table, file_name(2), data)


def _data(data: Mapping[str, Any] | pa.Table) -> Spoil:
    return lambda zone, table: zone.put(table, 2, data)


def _folder(zone: Zone, table: str) -> None:
    part = zone.folder(table) / file_name(2) / "part-00000.parquet"
    part.parent.mkdir()
    part.write_bytes(_parquet(GOOD))


def _mend(zone: Zone, table: str) -> None:
    bad = zone.folder(table) / file_name(2)
    if bad.is_dir():
        shutil.rmtree(bad)
    zone.put(table, 2, GOOD)


def _typed(kind: pa.DataType, value: Any) -> Spoil:
    return _data(pa.table({"id": [2], "v": ["b"], "x": pa.array([value], kind)}))


@dataclass(frozen=True)
class Bad:
    """A second file that is bad between a good first and a good third one."""

    table: str
    code: Code
    spoil: Spoil
    says: str
    """A part of what the problem must say."""
    metadata: Mapping[str, object] = field(default_factory=lambda: KEYED)


BAD = [
    Bad("magic", Code.FILE_UNREADABLE, _bytes(b"\x00\x01\x02\x03" * 20), "first bytes"),
    Bad("text", Code.FILE_UNREADABLE, _bytes(b"id,v\n2,b\n"), "CSV"),
    Bad("folder", Code.NOT_A_FILE, _folder, "is a folder"),
    Bad("page-header", Code.FILE_UNREADABLE, _bytes(_damaged("none", at=4)), "data"),
    Bad("page-values", Code.FILE_UNREADABLE, _bytes(_CHECKED), "data"),
    Bad("page-snappy", Code.FILE_UNREADABLE, _bytes(_damaged("snappy", at=60)), "data"),
    Bad("page-zstd", Code.FILE_UNREADABLE, _bytes(_damaged("zstd", at=60)), "data"),
    Bad("page-gzip", Code.FILE_UNREADABLE, _bytes(_damaged("gzip", at=60)), "data"),
    Bad("marker-3", Code.ROW_MARKER_INVALID, _data(_rows((0, 2, "b"), (3, 2, "c"))), "= 3"),
    Bad("marker-null", Code.ROW_MARKER_INVALID, _data(_rows((None, 2, "b"), (0, 2, "c"))), "NULL"),
    Bad("marker-x", Code.ROW_MARKER_INVALID, _data(_rows(("0", 2, "b"), ("x", 2, "c"))), "'x'"),
    Bad(
        "keyless-1", Code.KEY_COLUMNS_UNDECLARED, _data(_rows((0, 2, "b"), (1, 2, "c"))), "= 1", {}
    ),
    Bad("keyless-2", Code.KEY_COLUMNS_UNDECLARED, _data(_rows((2, 2, "c"))), "= 2", {}),
    Bad("keyless-4", Code.KEY_COLUMNS_UNDECLARED, _data(_rows((4, 2, "c"))), "= 4", {}),
    Bad("no-key", Code.KEY_COLUMN_MISSING, _data({"v": ["b"]}), "'id'"),
    Bad("twice", Code.COLUMNS_DUPLICATE, _data({"id": [2], "v": ["b"], "V": ["c"]}), "'V'"),
    Bad("type", Code.SCHEMA_MERGE_FAILURE, _data({"id": [2], "v": [2]}), "column 'v'"),
    Bad("beyond-a-day", Code.VALUE_INVALID, _typed(pa.time64("us"), -1), "row 1, column 'x'"),
    Bad("digits", Code.COLUMN_TYPE_UNSUPPORTED, _typed(pa.decimal256(39), Decimal(1)), "'x'"),
]
FOUND_BY_SPARK = ("page-", "marker-", "keyless-")
"""How tables begin whose bad files nothing shows but their rows."""
UNFINISHED = {"zero-byte": b"", "truncated": _parquet(GOOD)[:-20]}
NEIGHBOURS = ("before-them", "zz-after-them")
_OTHERS_IN_SPARK = (*NEIGHBOURS, "keys-declared", "skipped", "last")


def _is_in_spark(table: str) -> bool:
    return table.startswith(FOUND_BY_SPARK) or table in _OTHERS_IN_SPARK


class EachByItsOwn:
    """A TableEngine that hands each table to the engine which applies it."""

    def __init__(self, spark: TableEngine, definition: ReferenceEngine) -> None:
        self._spark = spark
        self._definition = definition

    def read(self, batch: Batch) -> Prepared | BadFile:
        return self._of(batch.table).read(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        return self._of(batch.table).commit(batch, prepared, transaction, batch_record)

    def commit_without_rows(
        self, table: StorePath, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        return self._of(table).commit_without_rows(table, transaction, create)

    def maintain(self, table: StorePath, step: MaintenanceStep) -> CommitResult:
        return self._of(table).maintain(table, step)

    def _of(self, table: StorePath) -> TableEngine:
        return self._spark if _is_in_spark(table.rpartition("/")[2]) else self._definition


@dataclass(frozen=True)
class Observation:
    """How a drain left one table."""

    outcome: Decision | UnreadableTable
    status: TableStatus | None
    rows: list[int]
    """Their ids, sorted; 0 for NULL."""

    @property
    def problem(self) -> tuple[str, str | None]:
        assert self.status
        assert self.status.problem
        return self.status.problem.code, self.status.problem.file

    @property
    def shown(self) -> str:
        assert self.status
        assert self.status.problem
        return self.status.problem.detail

    @property
    def warnings(self) -> set[str]:
        assert self.status
        return {warning.code for warning in self.status.warnings}


class Story:
    """The zone, and how each drain left it."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.zone = Zone(root)
        self.zone.landing.mkdir(parents=True)
        self.mirror = Mirror(self.zone, spark)
        self._kept = ReferenceEngine(LocalStore(root))
        self.mirror.engine = EachByItsOwn(self.mirror.engine, self._kept)
        self.stranger: dict[str, bytes] = {}
        _publish_good(self.zone)
        self.before = self._drain()
        for table in ("restarted", "overwritten"):
            clean_table(self.mirror.ports, self.mirror.table(table))
        self.stranger = _contents(_write_stranger(self.zone))
        _publish_bad(self.zone)
        self.bad = self._drain()
        self.mirror.clock.ahead = _BEYOND
        self.late = {table: self._reconcile(table) for table in UNFINISHED}
        self.mirror.clock.ahead = timedelta()
        self.stranger_after = _contents(self._path("stranger"))
        self._mend()
        self.mended = self._drain()

    def _drain(self) -> dict[str, Observation]:
        done = drain(self.mirror.ports, self.mirror.engine, [MIRROR], workers=2)
        return {str(folder.path): self._seen(folder, out) for folder, out in done.outcomes.items()}

    def _reconcile(self, table: str) -> Observation:
        return self._seen(self.mirror.table(table), self.mirror.reconcile_until_idle(table))

    def _seen(self, folder: TableFolder, outcome: Decision | UnreadableTable) -> Observation:
        path = str(folder.path)
        if isinstance(outcome, Pause) and outcome.problem.code is Code.CONTROL_DOCUMENT_INVALID:
            return Observation(outcome, None, self._ids(path))
        observed = self.mirror.observed(path)
        status = table_status(observed, plan(observed, self.mirror.ports.limits, observed.at))
        ours = observed.log is not None and folder in getattr(observed.log, "owners", ())
        return Observation(outcome, status, self._ids(path) if ours else [])

    def _ids(self, table: str) -> list[int]:
        path = self._path(table)
        if _is_in_spark(path.name):
            return _ids(path)
        log = self.mirror.ports.logs.read(StorePath(path.relative_to(self.zone.root).as_posix()))
        assert isinstance(log, TableLog)
        return sorted(row["id"] or 0 for row in self._kept.rows(log))

    def _path(self, table: str) -> Path:
        path = TablePath.parse(table)
        return self.zone.root / "lake" / MIRROR / "Tables" / (path.schema or "dbo") / path.table

    def _mend(self) -> None:
        zone, mirror = self.zone, self.mirror
        for table in (*(bad.table for bad in BAD), *UNFINISHED, "gap-filled"):
            _mend(zone, table)
        skip_through(mirror.ports, mirror.table("gap-skipped"), Through(Sequence(3)), ME)
        skip_through(mirror.ports, mirror.table("last"), Through(Sequence(LAST_SEQUENCE - 1)), ME)
        skip_file(mirror.ports, mirror.table("skipped"), file_name(2), ME)
        skip_file(mirror.ports, mirror.table("overwritten"), file_name(2), ME)
        zone.metadata("keys-declared", KEYED)
        zone.metadata("keys-changed", KEYED)
        zone.metadata("json", {"keyColumns": ["id"]})
        zone.put("untyped", 2, {"id": [2], "v": ["b"]})
        _control(zone, "control").unlink()
        shutil.move(self._path("stranger"), zone.root / "moved-away")
        zone.folder("dbo.schema/Orders").rename(zone.folder("dbo.schema/Others"))
        zone.folder("orders").rename(zone.folder("more"))
        for table in NEIGHBOURS:
            zone.put(table, 3, {"id": [3], "v": ["c"]})


def _publish_good(zone: Zone) -> None:
    for table in (*NEIGHBOURS, "keys-changed", "control", "Orders"):
        zone.metadata(table, KEYED)
        zone.put(table, 1, {"id": [1], "v": ["a"]})
    for table in ("restarted", "overwritten"):
        zone.metadata(table, KEYED)
        zone.put(table, 1, {"id": [1], "v": ["a"]})
        zone.put(table, 2, {"id": [2], "v": ["b"]})


def _publish_bad(zone: Zone) -> None:
    for bad in BAD:
        zone.metadata(bad.table, bad.metadata)
        bad.spoil(zone, bad.table)
    for table, data in UNFINISHED.items():
        zone.metadata(table, KEYED)
        zone.put_bytes(table, file_name(2), data)
    for table in ("gap-filled", "gap-skipped", "skipped", "replaced-early"):
        zone.metadata(table, KEYED)
    for table in (
        *(bad.table for bad in BAD),
        *UNFINISHED,
        "gap-filled",
        "skipped",
        "replaced-early",
    ):
        zone.put(table, 1, {"id": [1], "v": ["a"]})
        zone.put(table, 3, {"id": [3], "v": ["c"]})
    zone.put("gap-skipped", 1, {"id": [1], "v": ["a"]})
    zone.put("gap-skipped", 4, {"id": [4], "v": ["d"]})
    zone.put("last", 1, {"id": [1], "v": ["a"]})
    zone.put("last", LAST_SEQUENCE, {"id": [2], "v": ["b"]})
    zone.put("skipped", 2, _rows((3, 2, "b")))
    zone.put("replaced-early", 2, {"id": [7], "v": ["never seen"]})
    zone.put("replaced-early", 2, GOOD)
    zone.put("keys-declared", 1, {"id": [1, 2], "v": ["a", "b"]})
    zone.put("keys-declared", 2, _rows((2, 2, ""), (4, 3, "c")))
    zone.metadata("keys-changed", {"keyColumns": ["v"]})
    zone.put("keys-changed", 2, GOOD)
    zone.metadata("json", b'{\n  "keyColumns": ["id" "v"]\n}')
    zone.put("json", 1, {"id": [1], "v": ["a"]})
    zone.metadata(
        "json-microsoft", b'{"keyColumns": ["id"], "fileDetectionStrategy": SequentialFileName}'
    )
    zone.put("json-microsoft", 1, _rows((4, 1, "a"), (4, 1, "b")))
    zone.put("untyped", 1, pa.table({"id": pa.nulls(1), "v": pa.nulls(1)}))
    zone.put("restarted", 1, {"id": [8], "v": ["again"]})
    zone.put("restarted", 3, {"id": [3], "v": ["c"]})
    zone.put("overwritten", 2, {"id": [9], "v": ["other"]})
    zone.put("overwritten", 3, {"id": [3], "v": ["c"]})
    zone.put("stranger", 1, {"id": [1], "v": ["a"]})
    zone.put("dbo.schema/Orders", 1, {"id": [5], "v": ["x"]})
    zone.put("orders", 1, {"id": [6], "v": ["y"]})
    zone.put("control", 2, GOOD)
    _control(zone, "control").write_text("{ damaged")
    for table in NEIGHBOURS:
        zone.put(table, 2, GOOD)


def _control(zone: Zone, table: str) -> Path:
    return zone.root / layout.control_document(TableFolder(MIRROR, TablePath.parse(table)))


def _write_stranger(zone: Zone) -> Path:
    path = zone.root / "lake" / MIRROR / "Tables" / "dbo" / "stranger"
    deltalake.write_deltalake(str(path), pa.table({"id": [100]}))
    return path


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _ids(path: Path) -> list[int]:
    return sorted(row["id"] or 0 for row in read_delta(path))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Story:
    return Story(tmp_path_factory.mktemp("bad") / "root", spark)


def _names(cases: Iterable[Bad]) -> list[str]:
    return [case.table for case in cases]


@pytest.mark.parametrize("bad", BAD, ids=_names(BAD))
def test_a_bad_file_stops_its_table_there_and_says_what_to_do(bad: Bad, story: Story) -> None:
    seen = story.bad[bad.table]
    assert isinstance(seen.outcome, Pause)
    assert seen.problem == (bad.code.value, file_name(2))
    assert bad.says in seen.shown
    assert seen.status
    assert seen.status.problem
    assert seen.status.problem.solution == SOLUTIONS[bad.code]
    assert seen.rows == [1], "what comes before the bad file is applied, what follows is not"


@pytest.mark.parametrize("bad", BAD, ids=_names(BAD))
def test_a_bad_file_that_is_replaced_resumes_its_table_by_itself(bad: Bad, story: Story) -> None:
    assert isinstance(story.mended[bad.table].outcome, Idle)
    assert story.mended[bad.table].rows == [1, 2, 3]


@pytest.mark.parametrize("table", UNFINISHED)
def test_an_unfinished_file_is_waited_for_and_after_ten_minutes_a_problem(
    table: str, story: Story
) -> None:
    waiting = story.bad[table]
    assert isinstance(waiting.outcome, Wait)
    assert waiting.outcome.waiting.kind is WaitKind.INCOMPLETE
    assert waiting.outcome.waiting.sequence == 2
    assert waiting.outcome.waiting.until
    assert waiting.status
    assert waiting.status.waiting_for
    assert waiting.status.waiting_for.file == file_name(2)
    late = story.late[table]
    assert isinstance(late.outcome, Pause)
    assert late.outcome.problem.code is Code.FILE_INCOMPLETE
    assert late.outcome.problem.file == file_name(2)
    assert late.outcome.problem.solution == SOLUTIONS[Code.FILE_INCOMPLETE]
    assert waiting.rows == late.rows == [1]
    assert story.mended[table].rows == [1, 2, 3]


@pytest.mark.parametrize("table", NEIGHBOURS)
def test_the_neighbours_of_bad_tables_go_on(table: str, story: Story) -> None:
    assert [story.before[table].rows, story.bad[table].rows, story.mended[table].rows] == [
        [1],
        [1, 2],
        [1, 2, 3],
    ]


@pytest.mark.parametrize(("table", "missing"), [("gap-filled", 2), ("gap-skipped", 2), ("last", 2)])
def test_a_gap_waits_and_names_the_missing_number(table: str, missing: int, story: Story) -> None:
    outcome = story.bad[table].outcome
    assert isinstance(outcome, Wait)
    assert (outcome.waiting.kind, outcome.waiting.sequence) == (WaitKind.GAP, missing)
    assert f"{missing:020d}" in outcome.waiting.detail
    assert story.bad[table].rows == [1]


def test_a_gap_ends_when_it_is_filled_or_skipped(story: Story) -> None:
    assert story.mended["gap-filled"].rows == [1, 2, 3]
    assert story.mended["gap-skipped"].rows == [1, 4]
    assert isinstance(story.mended["gap-skipped"].outcome, Idle)


def test_the_last_sequence_that_there_is_can_be_applied(story: Story) -> None:
    last = story.mended["last"]
    assert last.rows == [1, 2]
    assert last.status
    assert last.status.applied == LAST_SEQUENCE
    assert isinstance(last.outcome, Idle)


def test_a_bad_file_can_be_skipped(story: Story) -> None:
    assert story.bad["skipped"].problem == ("RowMarkerInvalid", file_name(2))
    assert story.mended["skipped"].rows == [1, 3]


def test_a_file_that_was_replaced_before_it_was_read_is_simply_the_new_one(story: Story) -> None:
    assert story.bad["replaced-early"].rows == [1, 2, 3]


def test_declaring_the_keys_that_a_file_needs_resumes_the_table(story: Story) -> None:
    assert story.bad["keys-declared"].problem == ("KeyColumnsUndeclared", file_name(2))
    assert story.bad["keys-declared"].rows == [1, 2]
    assert story.mended["keys-declared"].rows == [1, 3]


def test_changed_key_columns_stop_the_table_until_they_are_as_before(story: Story) -> None:
    changed = story.bad["keys-changed"]
    assert changed.problem == ("KeyColumnsChanged", None)
    assert "['v']" in changed.shown
    assert "['id']" in changed.shown
    assert changed.rows == [1]
    assert story.mended["keys-changed"].rows == [1, 2]


def test_invalid_json_names_line_and_column(story: Story) -> None:
    assert story.bad["json"].problem == ("MetadataInvalid", None)
    assert "line 2, column 23" in story.bad["json"].shown
    assert '"keyColumns": ["id" "v"]' in story.bad["json"].shown
    assert story.mended["json"].rows == [1]


def test_microsofts_own_invalid_example_is_read_with_a_warning(story: Story) -> None:
    assert story.bad["json-microsoft"].rows == [1]
    assert story.bad["json-microsoft"].warnings == {"MetadataRepaired"}


def test_a_table_whose_files_have_no_typed_column_waits_for_one(story: Story) -> None:
    outcome = story.bad["untyped"].outcome
    assert isinstance(outcome, Wait)
    assert outcome.waiting.kind is WaitKind.SCHEMA
    assert isinstance(story.mended["untyped"].outcome, Idle)


def test_an_applied_file_that_is_overwritten_stops_its_table_until_it_is_accepted(
    story: Story,
) -> None:
    assert story.bad["overwritten"].problem == ("AppliedFileChanged", file_name(2))
    assert story.bad["overwritten"].rows == [1, 2]
    assert story.mended["overwritten"].rows == [1, 2, 3]


def test_numbers_that_come_again_are_never_read_and_are_warned_of(story: Story) -> None:
    restarted = story.bad["restarted"]
    assert isinstance(restarted.outcome, Idle)
    assert restarted.rows == [1, 2, 3]
    assert restarted.warnings == {"SequenceReused"}
    assert restarted.status
    assert restarted.status.warnings[0].file == file_name(1)
    assert "re-create" in restarted.status.warnings[0].solution


@pytest.mark.parametrize(
    ("second", "renamed"), [("dbo.schema/Orders", "dbo.schema/Others"), ("orders", "more")]
)
def test_of_two_folders_of_one_table_the_later_one_touches_nothing(
    second: str, renamed: str, story: Story
) -> None:
    assert story.bad[second].problem == ("TableNameCollision", None)
    assert "Orders" in story.bad[second].shown
    assert story.bad["Orders"].rows == story.mended["Orders"].rows == [1]
    assert isinstance(story.mended[renamed].outcome, Idle)
    assert len(story.mended[renamed].rows) == 1


def test_a_delta_table_that_is_not_ours_is_not_touched(story: Story) -> None:
    assert story.bad["stranger"].problem == ("TableNotOurs", None)
    assert story.stranger == story.stranger_after
    assert story.mended["stranger"].rows == [1]


def test_a_damaged_control_document_stops_its_table_and_is_rebuilt_once_it_is_gone(
    story: Story,
) -> None:
    outcome = story.bad["control"].outcome
    assert isinstance(outcome, Pause)
    assert outcome.problem.code is Code.CONTROL_DOCUMENT_INVALID
    assert "control.json" in outcome.problem.detail
    assert story.bad["control"].rows == [1]
    assert story.mended["control"].rows == [1, 2]
    assert story.mended["control"].warnings == {"ControlDocumentRebuilt"}


# --- What befalls a whole zone, or a folder while it is being applied -----------------------------


def _drain(mirror: Mirror) -> DrainResult:
    return drain(mirror.ports, mirror.engine, [MIRROR], workers=1)


@pytest.mark.parametrize("at", [Step.FOLDED, Step.DECIDED])
def test_a_folder_that_is_deleted_while_it_is_applied_is_dropped_and_can_come_back(
    at: Step, zone: Zone, spark: SparkSession
) -> None:
    def delete(step: Step) -> None:
        if armed and step is at:
            armed.clear()
            shutil.rmtree(zone.folder("t"))

    armed: list[bool] = []
    mirror = Mirror(zone, spark, steps=delete)
    zone.put("kept", 1, {"id": [1]})
    zone.put("t", 1, {"id": [1]})
    mirror.reconcile_all()
    zone.put("t", 2, {"id": [2]})
    armed.append(True)
    waiting = mirror.reconcile_until_idle("t")
    assert isinstance(waiting, Wait)
    assert waiting.waiting.kind is WaitKind.GRACE
    assert not armed
    mirror.reconcile_until_idle(
        "t"
    )  # the grace of these tests is none: a second observation is enough
    assert not mirror.delta_path("t").exists()
    zone.put("t", 1, {"id": [7]})
    assert isinstance(mirror.reconcile_until_idle("t"), Idle)
    assert _ids(mirror.delta_path("t")) == [7]
    assert _ids(mirror.delta_path("kept")) == [1]


def test_a_zone_that_is_gone_or_another_one_drops_nothing_and_bad_settings_stop_every_table(
    zone: Zone, mirror: Mirror
) -> None:
    for table in ("a", "b"):
        zone.put(table, 1, {"id": [1]})
    assert not _drain(mirror).stopped
    tables = {table: mirror.delta_path(table) for table in ("a", "b")}

    settings = zone.root / layout.mirror_settings(MIRROR)
    settings.write_text('{"openmirror": {"typeChange": "rewrit"}}')
    zone.put("a", 2, {"id": [2]})
    stopped = _drain(mirror).stopped
    assert len(stopped) == 2
    for decision in stopped.values():
        assert isinstance(decision, Pause)
        assert decision.problem.code is Code.MIRROR_SETTINGS_INVALID
        assert "typeChange" in decision.problem.detail
        assert '"rewrit"' in decision.problem.detail
        assert decision.problem.solution == SOLUTIONS[Code.MIRROR_SETTINGS_INVALID]
    settings.write_text('{"openmirror": {"typeChange": "rewrite"}}')
    assert not _drain(mirror).stopped
    assert _ids(tables["a"]) == [1, 2]

    unmounted = zone.landing.with_name("unmounted")
    zone.landing.rename(unmounted)
    lost = _drain(mirror)
    assert lost.has_failed
    assert list(lost.unreadable_mirrors) == [MIRROR]
    assert not lost.outcomes

    zone.landing.mkdir()
    for _ in range(2):
        asked = _drain(mirror)
    assert len(asked.outcomes) == 2
    for decision in asked.outcomes.values():
        assert isinstance(decision, Wait)
        assert decision.waiting.kind is WaitKind.CONFIRMATION
        assert "confirm-drops" in decision.waiting.detail
    assert _ids(tables["a"]) == [1, 2]
    assert _ids(tables["b"]) == [1]

    shutil.rmtree(zone.landing)
    unmounted.rename(zone.landing)
    assert not _drain(mirror).stopped
    assert _ids(tables["a"]) == [1, 2]
