"""Every problem and every warning: the bytes that cause it, whom it names, and what mends it.

Each breach has a mirror of its own, called after its code, with one table folder.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.cdc.relay.reporting import RelayReports, WaitingBytes
from openmirror.cdc.stops import EventsLost
from openmirror.operate import requests
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.protocol.streams import (
    START,
    Offset,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
    StreamIdentity,
)
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.registration import record_registration
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.publishing import file_name

ME = requests.Operator("me", "to show that it works")
TABLE = "t"


@dataclass(frozen=True)
class Scene:
    """One mirror of a real root, for whoever publishes, breaks and mends there."""

    ports: RootPorts
    root: Path
    mirror: str

    @property
    def zone(self) -> Path:
        return self.root / layout.landing_zone(self.mirror)

    @property
    def folder(self) -> Path:
        return self.zone / TABLE

    @property
    def delta(self) -> Path:
        return self.root / "lake" / self.mirror / "Tables" / "dbo" / TABLE

    @property
    def table(self) -> TableFolder:
        return TableFolder(self.mirror, TablePath("", TABLE))

    @property
    def control(self) -> Path:
        return self.root / layout.control_document(self.table)

    def bytes(self, name: str, data: bytes, folder: str = TABLE) -> Path:
        path = self.zone / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name("_" + name)
        staged.write_bytes(data)
        return staged.rename(path)

    def put(self, number: int, data: Mapping[str, Any] | pa.Table, folder: str = TABLE) -> Path:
        return self.bytes(file_name(number), parquet(data), folder)

    def rows(self, number: int, *ids: int, folder: str = TABLE) -> Path:
        return self.put(number, {"id": list(ids), "v": ["x"] * len(ids)}, folder)

    def metadata(self, document: Mapping[str, object] | bytes, folder: str = TABLE) -> None:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.bytes("_metadata.json", data, folder)

    def settings(self, text: str) -> None:
        path = self.root / layout.mirror_settings(self.mirror)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def parquet(data: Mapping[str, Any] | pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(data if isinstance(data, pa.Table) else pa.table(dict(data)), buffer)
    return buffer.getvalue()


Deed = Callable[[Scene], object]


def first(scene: Scene) -> None:
    """A table with one row."""
    scene.metadata({"keyColumns": ["id"]})
    scene.rows(1, 1)


def two(scene: Scene) -> None:
    first(scene)
    scene.rows(2, 2)


def nothing(scene: Scene) -> None:
    scene.zone.mkdir(parents=True, exist_ok=True)


def mend(scene: Scene) -> None:
    """Replace the second file by a good one."""
    bad = scene.folder / file_name(2)
    if bad.is_dir():
        shutil.rmtree(bad)
    scene.rows(2, 2)


def second(data: Mapping[str, Any] | pa.Table) -> Deed:
    return lambda scene: scene.put(2, data)


@dataclass(frozen=True, kw_only=True)
class Breach:
    """How one code comes to be, and how it ends."""

    code: Code
    breaks: Deed
    names: str
    """Whom the detail must name."""
    remedy: Deed
    """What OPERATIONS.md says to do."""
    file: str | None = None
    before: Deed = first
    folder: str = TABLE
    stays: tuple[int | str, ...] = (1,)
    """The ids that readers see while it is broken."""
    then: tuple[int | str, ...] = (1, 2)
    """And those once it is mended, in the table that `then_in` names."""
    then_in: str = TABLE
    ends: bool = True

    @property
    def warned_of(self) -> str | None:
        """The file that a warning names."""
        of_metadata = (Code.METADATA_REPAIRED, Code.METADATA_KEY_UNKNOWN)
        return "_metadata.json" if self.code in of_metadata else self.file


def of_second_file(code: Code, breaks: Deed, names: str, remedy: Deed = mend) -> Breach:
    return Breach(code=code, breaks=breaks, names=names, remedy=remedy, file=file_name(2))


def _stream(scene: Scene, *, stopped: bool) -> None:
    """The document that a relay writes when a table of its stream stops, or goes on."""
    table = TablePath.parse(TABLE)
    reason = StopReason(StopCode.VALUE_UNAVAILABLE, "a large value is missing", "Begin anew.")
    document = StreamDocument(
        identity=StreamIdentity("0" * 32), stopped={table: StoppedTable(START, reason)}
    )
    path = scene.zone / "_streams" / "shop.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((document if stopped else document.resumed(table)).as_json())


def _relay(scene: Scene, kept: int | None = None) -> RelayReports:
    zone = StorePath(scene.zone.relative_to(scene.root).as_posix())
    waits = WaitingBytes(source_keeps=kept, source_limit=10 << 30)
    return RelayReports(LocalStore(scene.root), zone, "crm", waiting=lambda _: waits)


def _topic() -> tuple[Offset, Offset]:
    """What it still holds: from here to there."""
    return Offset(25), Offset(100)


def _landed_to(scene: Scene, record: int) -> None:
    """The document that a relay writes of a stream that has landed so far."""
    document = StreamDocument(identity=StreamIdentity("0" * 32), complete_to=Offset(record))
    path = scene.zone / "_streams" / "crm.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(document.as_json())


def _marked(*rows: tuple[int, int]) -> dict[str, Any]:
    markers, ids = zip(*rows, strict=True)
    return {"__rowMarker__": list(markers), "id": list(ids), "v": ["x"] * len(ids)}


def _left_empty_long_ago(scene: Scene) -> None:
    path, then = scene.bytes(file_name(2), b""), time.time() - 11 * 60
    os.utime(path, (then, then))


def _from_tomorrow(scene: Scene) -> None:
    path, then = scene.rows(2, 2), time.time() + 24 * 3600
    os.utime(path, (then, then))


def _folder(scene: Scene) -> None:
    part = scene.folder / file_name(2) / "part-00000.parquet"
    part.parent.mkdir()
    part.write_bytes(parquet({"id": [2], "v": ["x"]}))


def _link_out_of_the_root(scene: Scene) -> None:
    outside = scene.root.parent / "outside.parquet"
    outside.write_bytes(parquet({"id": [2], "v": ["x"]}))
    (scene.folder / file_name(2)).symlink_to(outside)


def _twins(scene: Scene) -> None:
    mend(scene)
    scene.bytes(f"{2:020d}.PARQUET", parquet({"id": [9], "v": ["x"]}))


def _ask_for_a_reseed_and_lose_a_file(scene: Scene) -> None:
    requests.reseed(scene.ports, scene.table, ME)
    (scene.folder / file_name(1)).rename(scene.folder / "_lost")


def _lose_table_and_first_file(scene: Scene) -> None:
    scene.delta.rename(scene.root / "lost")
    (scene.folder / file_name(1)).unlink()
    scene.rows(3, 3)


def _collide(scene: Scene) -> None:
    scene.rows(1, 7, folder="dbo.schema/t")


def _stranger(scene: Scene) -> None:
    first(scene)
    deltalake.write_deltalake(str(scene.delta), pa.table({"id": [100]}))


def _log(scene: Scene, version: int) -> Path:
    return scene.delta / "_delta_log" / f"{version:020d}.json"


def _start_again(scene: Scene) -> None:
    clean_table(scene.ports, scene.table)
    scene.rows(1, 5)


def _re_create(scene: Scene) -> None:
    scene.folder.rename(scene.zone / "_former")
    two(scene)


BREACHES = [
    Breach(
        code=Code.METADATA_INVALID,
        breaks=lambda scene: scene.metadata(b'{\n  "keyColumns": ["id" "v"]\n}'),
        names="line 2, column 23",
        remedy=lambda scene: (scene.metadata({"keyColumns": ["id"]}), scene.rows(2, 2)),
    ),
    Breach(
        code=Code.MIRROR_SETTINGS_INVALID,
        breaks=lambda scene: (
            scene.settings('{"openmirror": {"typeChange": "rewrit"}}'),
            scene.rows(2, 2),
        ),
        names="typeChange",
        remedy=lambda scene: scene.settings('{"openmirror": {"typeChange": "rewrite"}}'),
    ),
    Breach(
        code=Code.FILE_FORMAT_UNDECLARED,
        before=nothing,
        breaks=lambda scene: (two(scene), scene.bytes(f"{3:020d}.csv", b"id,v\n3,x\n")),
        names=f"{3:020d}.csv",
        stays=(),
        remedy=lambda scene: (scene.folder / f"{3:020d}.csv").unlink(),
    ),
    Breach(
        code=Code.KEY_COLUMNS_CHANGED,
        breaks=lambda scene: (scene.metadata({"keyColumns": ["v"]}), scene.rows(2, 2)),
        names="['v']",
        remedy=lambda scene: scene.metadata({"keyColumns": ["id"]}),
    ),
    Breach(
        code=Code.PINNED_OPTION_CHANGED,
        breaks=lambda scene: (
            scene.metadata({"keyColumns": ["id"], "isUpsertDefaultRowMarker": True}),
            scene.rows(2, 2),
        ),
        names="isUpsertDefaultRowMarker",
        remedy=lambda scene: scene.metadata({"keyColumns": ["id"]}),
    ),
    Breach(
        code=Code.KEY_COLUMNS_UNDECLARED,
        before=lambda scene: scene.rows(1, 1),
        breaks=second(_marked((4, 2))),
        file=file_name(2),
        names="= 4",
        remedy=lambda scene: scene.metadata({"keyColumns": ["id"]}),
    ),
    of_second_file(Code.KEY_COLUMN_MISSING, second({"v": ["x"]}), "'id'"),
    of_second_file(Code.ROW_MARKER_INVALID, second(_marked((0, 2), (3, 3))), "= 3"),
    of_second_file(
        Code.NO_ROW_TO_UPDATE,
        second({"id": [2], "v": ["x"], "__rowMarker__": ['101 ["v"]']}),
        "row 1 ",
    ),
    of_second_file(Code.FILE_INCOMPLETE, _left_empty_long_ago, "empty"),
    of_second_file(
        Code.FILE_UNREADABLE,
        lambda scene: scene.bytes(file_name(2), b"id,v\n2,x\n"),
        "CSV",
        # The other remedy that its row names.
        lambda scene: (
            requests.skip_file(scene.ports, scene.table, file_name(2), ME),
            scene.rows(3, 2),
        ),
    ),
    of_second_file(
        Code.VALUE_INVALID,
        second(pa.table({"id": [2], "v": ["x"], "at": pa.array([86_400_000], pa.time32("ms"))})),
        "'at'",
    ),
    of_second_file(Code.NOT_A_FILE, _folder, "is a folder"),
    of_second_file(
        Code.SEQUENCE_TWICE,
        _twins,
        f"{2:020d}.PARQUET",
        lambda scene: (scene.folder / f"{2:020d}.PARQUET").unlink(),
    ),
    of_second_file(Code.COLUMNS_DUPLICATE, second({"id": [2], "v": ["x"], "V": ["y"]}), "'V'"),
    Breach(
        code=Code.COLUMN_NAME_RESERVED,
        before=lambda scene: (scene.settings('{"openmirror": {"delete": "soft"}}'), first(scene)),
        breaks=second({"id": [2], "_Deleted_At": ["x"]}),
        file=file_name(2),
        names="'_Deleted_At'",
        remedy=mend,
    ),
    of_second_file(
        Code.COLUMN_TYPE_UNSUPPORTED,
        second(pa.table({"id": [2], "x": pa.array([1], pa.decimal256(50, 2))})),
        "'x'",
    ),
    of_second_file(Code.SCHEMA_MERGE_FAILURE, second({"id": ["two"], "v": ["x"]}), "'id'"),
    Breach(
        code=Code.APPLIED_FILE_CHANGED,
        before=two,
        breaks=lambda scene: (scene.rows(2, 9), scene.rows(3, 3)),
        file=file_name(2),
        names=file_name(2),
        stays=(1, 2),
        remedy=lambda scene: requests.skip_file(scene.ports, scene.table, file_name(2), ME),
        then=(1, 2, 3),
    ),
    Breach(
        code=Code.APPLY_FAILED,
        before=nothing,
        # A file where the table's folder has to be: what a full disk would be elsewhere.
        breaks=lambda scene: (
            two(scene),
            scene.delta.parent.mkdir(parents=True),
            scene.delta.write_bytes(b"in the way"),
        ),
        file=file_name(1),
        names="3 times",
        stays=(),
        remedy=lambda scene: (
            scene.delta.unlink(),
            requests.retry(scene.ports, scene.table, ME),
        ),
    ),
    Breach(
        code=Code.RESEED_INCOMPLETE,
        before=two,
        breaks=_ask_for_a_reseed_and_lose_a_file,
        names=f"{1:020d}",
        stays=(1, 2),
        remedy=lambda scene: (scene.folder / "_lost").rename(scene.folder / file_name(1)),
    ),
    Breach(
        code=Code.TABLE_NAME_COLLISION,
        breaks=_collide,
        folder="dbo.schema/t",
        names="belongs to the landing folder TableNameCollision/t",
        remedy=lambda scene: (scene.zone / "dbo.schema" / "t").rename(scene.zone / "other"),
        then=(7,),
        then_in="other",
    ),
    Breach(
        code=Code.TABLE_NAME_INVALID,
        before=nothing,
        breaks=lambda scene: scene.rows(1, 1, folder="w" * 251),
        folder="w" * 251,
        names="251 bytes",
        stays=(),
        remedy=lambda scene: (scene.zone / ("w" * 251)).rename(scene.folder),
        then=(1,),
    ),
    Breach(
        code=Code.TABLE_NOT_OURS,
        before=nothing,
        breaks=_stranger,
        names="Tables/dbo/t",
        stays=(100,),
        remedy=lambda scene: scene.delta.rename(scene.root / "moved-away"),
        then=(1,),
    ),
    Breach(
        code=Code.TABLE_LOG_BROKEN,
        breaks=lambda scene: (
            shutil.copy(_log(scene, 0), scene.root / "backup"),
            _log(scene, 0).write_text("{ damaged"),
            scene.rows(2, 2),
        ),
        names="Tables/dbo/t",
        stays=(),
        remedy=lambda scene: shutil.copy(scene.root / "backup", _log(scene, 0)),
    ),
    of_second_file(Code.ACCESS_DENIED, _link_out_of_the_root, "symbolic link"),
    Breach(
        code=Code.TABLE_LOST,
        before=two,
        breaks=_lose_table_and_first_file,
        names="Tables/dbo/t",
        stays=(),
        remedy=lambda scene: (scene.root / "lost").rename(scene.delta),
        then=(1, 2, 3),
    ),
    Breach(
        code=Code.CONTROL_DOCUMENT_INVALID,
        breaks=lambda scene: (scene.control.write_text("{ damaged"), scene.rows(2, 2)),
        names="folders/t.json",
        remedy=lambda scene: scene.control.rename(scene.root / "damaged.json"),
    ),
    # Warnings: the table goes on all the while.
    Breach(
        code=Code.SEQUENCE_REUSED,
        before=two,
        breaks=_start_again,
        file=file_name(1),
        names=file_name(1),
        stays=(1, 2),
        remedy=_re_create,
    ),
    Breach(
        code=Code.FILE_NAME_INVALID,
        breaks=lambda scene: scene.rows(2, 2).rename(scene.folder / "2.parquet.tmp"),
        file="2.parquet.tmp",
        names="20 digits",
        remedy=lambda scene: (scene.folder / "2.parquet.tmp").rename(scene.folder / file_name(2)),
    ),
    Breach(
        code=Code.FILE_NEVER_READ,
        breaks=lambda scene: scene.rows(2, 2).rename(scene.folder / "2.parquet"),
        file="2.parquet",
        names="20 digits",
        remedy=lambda scene: (scene.folder / "2.parquet").rename(scene.folder / file_name(2)),
    ),
    Breach(
        code=Code.FILE_MISPLACED,
        breaks=lambda scene: scene.rows(2, 2).rename(scene.zone / file_name(2)),
        file=f"{layout.landing_zone('FileMisplaced')}/{file_name(2)}",
        names="lies in a table folder, not beside them",
        remedy=lambda scene: (scene.zone / file_name(2)).rename(scene.folder / file_name(2)),
    ),
    Breach(
        code=Code.STREAM_TABLE_STOPPED,
        breaks=lambda scene: _stream(scene, stopped=True),
        file=f"{layout.landing_zone('StreamTableStopped')}/_streams/shop.json",
        names=f"{TABLE} is landed no further (ValueUnavailable)",
        remedy=lambda scene: (_stream(scene, stopped=False), scene.rows(2, 2)),
    ),
    Breach(
        code=Code.STREAM_DOWN,
        breaks=lambda scene: _relay(scene).failed(EventsLost("records 3 to 9 are gone")),
        file=f"{layout.landing_zone('StreamDown')}/_streams/crm.json",
        names="records 3 to 9 are gone",
        remedy=lambda scene: (_relay(scene).landing(Offset(9), _topic, None), scene.rows(2, 2)),
    ),
    Breach(
        code=Code.STREAM_RETENTION_SHORT,
        breaks=lambda scene: (_landed_to(scene, 50), _relay(scene).landing(START, _topic, None)),
        file=f"{layout.landing_zone('StreamRetentionShort')}/_streams/crm.json",
        names="67% of what its topic still holds has not landed",
        remedy=lambda scene: (_landed_to(scene, 90), scene.rows(2, 2)),
    ),
    Breach(
        code=Code.STREAM_SLOT_GROWS,
        breaks=lambda scene: _relay(scene, 12 << 30).landing(Offset(9), _topic, None),
        file=f"{layout.landing_zone('StreamSlotGrows')}/_streams/crm.json",
        names="its database keeps 12.0 GiB of its log for it",
        remedy=lambda scene: (
            _relay(scene, 1 << 30).landing(Offset(9), _topic, None),
            scene.rows(2, 2),
        ),
    ),
    Breach(
        code=Code.FILE_FORMAT_ASSUMED,
        before=lambda scene: scene.bytes(f"{1:020d}.csv", b"id\n1\n"),
        breaks=lambda scene: scene.bytes(f"{2:020d}.csv", b"id\n2\n"),
        names="read as CSV",
        stays=("1", "2"),
        remedy=lambda scene: scene.metadata({"FileFormat": "CSV"}),
        then=("1", "2"),
    ),
    Breach(
        code=Code.METADATA_REPAIRED,
        breaks=lambda scene: (scene.metadata(b'{"keyColumns": ["id"],}'), scene.rows(2, 2)),
        names="comma",
        stays=(1, 2),
        remedy=lambda scene: scene.metadata({"keyColumns": ["id"]}),
    ),
    Breach(
        code=Code.METADATA_KEY_UNKNOWN,
        before=lambda scene: scene.rows(1, 1),
        breaks=lambda scene: (scene.metadata({"keyColumn": ["id"]}), scene.rows(2, 2)),
        names="keyColumn means nothing; keyColumns may be meant",
        stays=(1, 2),
        remedy=lambda scene: scene.metadata({"keyColumns": ["id"]}),
    ),
    Breach(
        code=Code.CONTROL_DOCUMENT_REBUILT,
        breaks=lambda scene: (scene.control.unlink(), scene.rows(2, 2)),
        names="was lost",
        stays=(1, 2),
        # Nothing to do: the table goes on, and the warning stays.
        remedy=lambda scene: scene.rows(3, 3),
        then=(1, 2, 3),
        ends=False,
    ),
    Breach(
        code=Code.FILE_TIME_AHEAD,
        breaks=_from_tomorrow,
        file=file_name(2),
        names=file_name(2),
        stays=(1, 2),
        # The clock was set. The file lies there with its time until cleanup moves it away.
        remedy=lambda scene: scene.rows(3, 3),
        then=(1, 2, 3),
        ends=False,
    ),
    Breach(
        code=Code.FILE_REWRITTEN,
        before=two,
        breaks=lambda scene: (scene.rows(2, 2), scene.rows(3, 3)),
        file=file_name(2),
        names="same bytes",
        stays=(1, 2, 3),
        # Nothing to do: the table goes on, and the warning stays for seven days.
        remedy=lambda scene: scene.rows(4, 4),
        then=(1, 2, 3, 4),
        ends=False,
    ),
    Breach(
        code=Code.OVERWRITE_IGNORED,
        before=lambda scene: (
            scene.settings('{"openmirror": {"overwrittenFiles": "ignore"}}'),
            two(scene),
        ),
        breaks=lambda scene: (scene.rows(2, 9), scene.rows(3, 3)),
        file=file_name(2),
        names="is ignored",
        stays=(1, 2, 3),
        remedy=lambda scene: requests.reseed(scene.ports, scene.table, ME),
        then=(1, 3, 9),
        ends=False,
    ),
    Breach(
        code=Code.TABLE_SETTING_UNMET,
        breaks=lambda scene: (
            scene.settings('{"openmirror": {"clustering": ["open"]}}'),
            scene.put(2, {"id": [2], "open": [True]}),
        ),
        names="open",
        stays=(1, 2),
        remedy=lambda scene: scene.settings("{}"),
    ),
    Breach(
        code=Code.FRACTIONS_TRUNCATED,
        breaks=second(
            pa.table({"id": [2], "v": ["x"], "at": pa.array([1_001], pa.timestamp("ns"))})
        ),
        file=file_name(2),
        names="row 1, column 'at': 1001 nanoseconds",
        stays=(1, 2),
        remedy=lambda scene: scene.settings('{"openmirror": {"fractions": "truncate"}}'),
    ),
    Breach(
        code=Code.CATALOG_REGISTRATION_FAILED,
        breaks=lambda scene: (
            record_registration(scene.ports.store, scene.table, "no right", scene.ports.clock()),
            scene.rows(2, 2),
        ),
        names="no right",
        stays=(1, 2),
        # What a commit writes down once the catalog has the table.
        remedy=lambda scene: record_registration(
            scene.ports.store, scene.table, None, scene.ports.clock()
        ),
    ),
]
