"""Status reads real folders and logs; the two status files are written only with news."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.report import heartbeat, history, publish, statuses
from openmirror.plan.facts import FileFacts
from openmirror.ports import ABSENT, Entry
from openmirror.protocol.names import Incarnation, TableFolder, TablePath, table_name
from openmirror.protocol.sequence import FENCED
from openmirror.protocol.text_format import TextFormat
from openmirror.reconcile.documents import Documents
from openmirror.runtime.sweeping import publish_all
from openmirror.status import TableStatus, needs_attention, to_json
from openmirror.table import layout
from openmirror.table.control import Act, ControlDocument, Dropped, IncarnationRecord
from openmirror.table.layout import StorePath, join
from openmirror.table.log import BatchRecord, Epoch, Totals
from openmirror.table.user_metadata import encode
from tests.harness.clock import Clock
from tests.harness.publishing import file_name
from tests.harness.world import World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ORDERS = TableFolder("m", TablePath("Sales", "Orders"))
ITEMS = TableFolder("m", TablePath("", "items"))
MONITORING = layout.monitoring("m")


class Logged(World):
    """A mirror whose logs are written line by line, each as of a time of its own."""

    def __init__(self) -> None:
        super().__init__(clock=Clock(START))

    def commit(self, folder: TableFolder, version: int, last: int, at: datetime) -> None:
        """One commit of ours, as the log would have it."""
        batch_record = BatchRecord(
            operation="o",
            folder=str(folder),
            kind="extend",
            first=last,
            last=last,
            files=1,
            totals=Totals(10 * last, 100 * last),
        )
        self.write_log(folder, version, last, timestamp=at, batch_record=batch_record)

    def write_log(
        self,
        folder: TableFolder,
        version: int,
        position: int,
        timestamp: datetime,
        batch_record: BatchRecord | None = None,
        table: StorePath | None = None,
    ) -> None:
        record = self.store.incarnation(layout.table_folder(folder)) or Incarnation("gone")
        schema = {"type": "struct", "fields": [_field("id", "long")]}
        info: dict[str, Any] = {"timestamp": int(timestamp.timestamp() * 1000)}
        if batch_record:
            info["userMetadata"] = encode(batch_record)
        actions: list[dict[str, Any]] = [
            {"commitInfo": info},
            {"txn": {"appId": Epoch(folder, record, 1).app_id, "version": position}},
        ]
        if version == 0:
            actions += [
                {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
                {
                    "metaData": {
                        "id": "t",
                        "schemaString": json.dumps(schema),
                        "partitionColumns": [],
                        "format": {"provider": "parquet"},
                        "configuration": {},
                    }
                },
            ]
        at = table or layout.delta_table("m", table_name(folder.path, "dbo"))
        lines = "\n".join(json.dumps(action) for action in actions)
        self.store.put(join(at, "_delta_log", file_name(version, "json")), lines.encode())

    def save(self, folder: TableFolder, control: ControlDocument) -> None:
        Documents(self.store).save_table(folder, control, ABSENT)

    def published(self, name: str) -> Any:
        return json.loads(self.store.read(join(MONITORING, name)).data)


def _field(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


@pytest.fixture
def world() -> Logged:
    return Logged()


def by_name(tables: list[TableStatus]) -> dict[str, TableStatus]:
    return {str(table.name): table for table in tables}


def test_every_folder_of_every_mirror_has_one_status(world: Logged) -> None:
    world.land(ORDERS, 1)
    world.land(ITEMS, 1)
    world.store.make_folder(layout.landing_zone("n"))
    world.land(TableFolder("n", TablePath("", "x")), 1)
    found = statuses(world.ports, ["m", "n"])
    assert sorted((t.folder.mirror, str(t.name)) for t in found) == [
        ("m", "Sales.Orders"),
        ("m", "dbo.items"),
        ("n", "dbo.x"),
    ]


def test_status_joins_what_was_sent_with_what_the_log_says_was_applied(world: Logged) -> None:
    world.land(ORDERS, 1, 2)
    world.commit(ORDERS, 0, 1, START + timedelta(seconds=30))
    world.clock.turn(timedelta(minutes=2))
    shown: Any = to_json(statuses(world.ports, ["m"]))
    (table,) = shown["data"]
    assert table["status"] == "Replicating"
    assert table["metrics"] == {
        "processedBytes": 100,
        "processedRows": 10,
        "lastSyncDateTime": "2026-03-01T12:00:30Z",
    }
    ours = table["openmirror"]
    assert (ours["appliedSequence"], ours["pendingFiles"], ours["lagSeconds"]) == ("1", 1, 120.0)


def test_a_control_document_that_cannot_be_read_fails_its_table_only(world: Logged) -> None:
    world.land(ORDERS, 1)
    world.land(ITEMS, 1)
    world.store.put(layout.control_document(ORDERS), b'{"version": 99}')
    tables = by_name(statuses(world.ports, ["m"]))
    assert [tables[name].status.value for name in ("Sales.Orders", "dbo.items")] == [
        "Failed",
        "Snapshotting",
    ]
    problem = tables["Sales.Orders"].problem
    assert problem is not None
    assert problem.code == "ControlDocumentInvalid"
    assert "version 99" in problem.detail


def test_a_mirror_document_that_cannot_be_read_fails_every_table_of_the_mirror(
    world: Logged,
) -> None:
    world.land(ITEMS, 1)
    world.store.put(layout.mirror_document("m"), b"{")
    (table,) = statuses(world.ports, ["m"])
    assert (str(table.name), table.status.value) == ("dbo.items", "Failed")
    assert table.problem is not None
    assert "mirror.json" in table.problem.detail


def test_a_zone_that_cannot_be_listed_is_an_error_and_not_an_empty_mirror(world: Logged) -> None:
    world.land(ITEMS, 1)
    found = statuses(world.ports, ["absent", "m"])
    assert [t.folder.mirror for t in found] == ["absent", "m"]
    assert found[0].problem is not None
    assert found[0].problem.code == "LandingZoneUnreadable"
    assert needs_attention(found)


def test_a_table_that_never_stands_still_does_not_hide_the_others(world: Logged) -> None:
    class Restless(ChangeFileInspector):
        def inspect(
            self, path: StorePath, entry: Entry, text: TextFormat | None = None
        ) -> FileFacts:
            if "Orders" in path:
                raise ConditionFailed(f"{path} was replaced")
            return super().inspect(path, entry, text)

    world.land(ORDERS, 1)
    world.land(ITEMS, 1)
    ports = replace(world.ports, inspector=Restless(world.store))
    tables = by_name(statuses(ports, ["m"]))
    assert tables["dbo.items"].status.value == "Snapshotting"
    problem = tables["Sales.Orders"].problem
    assert problem is not None
    assert problem.code == "TableUnreadable"


def test_a_zone_that_vanishes_while_it_is_observed_is_the_mirrors_error(world: Logged) -> None:
    class Unmounting(ChangeFileInspector):
        def inspect(
            self, path: StorePath, entry: Entry, text: TextFormat | None = None
        ) -> FileFacts:
            world.store.delete_folder(layout.landing_zone("m"))
            raise NotThere(path)

    world.land(ORDERS, 1)
    (table,) = statuses(replace(world.ports, inspector=Unmounting(world.store)), ["m"])
    assert table.problem is not None
    assert table.problem.code == "LandingZoneUnreadable"


def test_a_folder_that_is_only_remembered_is_no_table(world: Logged) -> None:
    world.save(
        ORDERS,
        ControlDocument(folder=str(ORDERS), record=IncarnationRecord(incarnation=Incarnation("i"))),
    )
    assert statuses(world.ports, ["m"]) == []


def test_a_dropped_table_is_in_status_and_not_in_what_publishers_read(world: Logged) -> None:
    retained = layout.dropped_table("m", table_name(ORDERS.path, "dbo"), Incarnation("gone"))
    world.write_log(ORDERS, 0, FENCED, START, table=retained)
    dropped = Dropped(Incarnation("gone"), START)
    world.save(ORDERS, ControlDocument(folder=str(ORDERS), epoch=1, dropped=dropped))
    (table,) = statuses(world.ports, ["m"])
    assert table.status.value == "Stopped"
    assert [w.code for w in table.warnings] == ["Dropped"]
    publish(world.ports, "m")
    assert world.published("tables.json") == {"tables": []}


def test_the_publisher_that_named_itself_is_shown(world: Logged) -> None:
    world.land(ITEMS, 1)
    events = b'{"partnerName": "Acme", "sourceInfo": {"sourceType": "SQL"}}'
    world.store.put(join(layout.landing_zone("m"), "_partnerEvents.json"), events)
    (table,) = statuses(world.ports, ["m"])
    assert table.partner is not None
    assert (table.partner.name, table.partner.source_type) == ("Acme", "SQL")


def test_reading_status_writes_nothing_of_a_mirror(world: Logged) -> None:
    world.land(ITEMS, 1)
    statuses(world.ports, ["m"])
    assert world.store.list_folder(layout.LAKE).entries == ()


def test_the_status_files_have_fabrics_shape(world: Logged) -> None:
    world.land(ORDERS, 1)
    world.commit(ORDERS, 0, 1, START)
    world.land(ITEMS, 1)
    world.store.put(join(layout.table_folder(ITEMS), "_metadata.json"), b"no")
    assert publish(world.ports, "m")
    assert world.published("replicator.json") == {
        "status": "Running",
        "errorCode": None,
        "errorMessage": None,
        "extensions": ["truncate", "partialUpdate"],
        "lastHeartbeatTime": "2026-03-01T12:00:00Z",
    }
    orders, items = sorted(
        world.published("tables.json")["tables"], key=lambda one: str(one["normalizedTableName"])
    )
    assert orders == {
        "id": "16aea332-2d26-533e-83ac-096286e382d6",
        "status": "Replicating",
        "errorCode": None,
        "errorMessage": None,
        "normalizedTableName": "Sales.Orders",
        "sourceTableName": "Orders",
        "sourceSchemaName": "Sales",
        "sourceObjectType": "Table",
        "metrics": {
            "processedRowCount": 10,
            "processedByte": 100,
            "lastSourceCommitTimeUtc": "0001-01-01T00:00:00",
            "lastSyncTimeUtc": "2026-03-01T12:00:00Z",
        },
    }
    assert (items["status"], items["errorCode"]) == ("Failed", "MetadataInvalid")
    assert items["metrics"]["lastSyncTimeUtc"] == "0001-01-01T00:00:00"


def test_mirror_settings_that_cannot_be_read_are_the_replicators_error(world: Logged) -> None:
    world.store.put(layout.mirror_settings("m"), b"no")
    publish(world.ports, "m")
    assert world.published("replicator.json")["errorCode"] == "MirrorSettingsInvalid"


def test_status_files_are_left_alone_until_there_is_news_or_the_heartbeat_is_old(
    world: Logged,
) -> None:
    world.land(ORDERS, 1)
    beat = timedelta(seconds=60)
    assert publish(world.ports, "m", beat)
    world.clock.turn(timedelta(seconds=59))
    assert not publish(world.ports, "m", beat)
    world.clock.turn(timedelta(seconds=1))
    assert publish(world.ports, "m", beat)
    assert world.published("replicator.json")["lastHeartbeatTime"] == "2026-03-01T12:01:00Z"
    world.commit(ORDERS, 0, 1, START)
    world.clock.turn(timedelta(seconds=1))
    assert publish(world.ports, "m", beat)
    assert world.published("tables.json")["tables"][0]["status"] == "Replicating"
    assert world.published("replicator.json")["lastHeartbeatTime"] == "2026-03-01T12:01:01Z"
    assert not publish(world.ports, "m", beat)


@pytest.mark.parametrize("name", ["replicator.json", "tables.json"])
@pytest.mark.parametrize("damage", [b"", b"[]", b'{"lastHeartbeatTime": 7}'])
def test_a_damaged_status_file_is_written_again(world: Logged, name: str, damage: bytes) -> None:
    publish(world.ports, "m")
    world.store.put(join(MONITORING, name), damage)
    assert publish(world.ports, "m")
    assert "status" in world.published("replicator.json")
    assert world.published("tables.json") == {"tables": []}


def test_nothing_is_published_below_a_zone_that_cannot_be_listed(world: Logged) -> None:
    with pytest.raises(NotThere):
        publish(world.ports, "absent")
    assert world.store.incarnation(layout.monitoring("absent")) is None


def test_history_merges_commits_and_operators_acts_newest_first(world: Logged) -> None:
    world.land(ORDERS, 1, 2)
    for version, minute in enumerate((1, 3)):
        world.commit(ORDERS, version, version + 1, START + timedelta(minutes=minute))
    acts = tuple(
        Act(START + timedelta(minutes=minute), "ann", what)
        for minute, what in ((0, "retry"), (2, "pause"), (4, "resume"))
    )
    world.save(ORDERS, ControlDocument(folder=str(ORDERS), epoch=1, acts=acts))
    lines = history(world.ports, world.ports.logs, ORDERS, 10)
    shown = [e.what if isinstance(e, Act) else e.last for e in (line.event for line in lines)]
    assert shown == ["resume", 2, "pause", 1, "retry"]
    times = [line.at for line in lines if line.at]
    assert times == sorted(times, reverse=True)
    assert len(times) == 5
    assert len(history(world.ports, world.ports.logs, ORDERS, 2)) == 2


def test_history_of_a_dropped_table_is_read_where_it_lies(world: Logged) -> None:
    retained = layout.dropped_table("m", table_name(ORDERS.path, "dbo"), Incarnation("gone"))
    batch_record = BatchRecord(
        operation="o", folder=str(ORDERS), kind="extend", first=1, last=1, files=1
    )
    world.write_log(ORDERS, 0, FENCED, START, batch_record, retained)
    control = ControlDocument(folder=str(ORDERS), dropped=Dropped(Incarnation("gone"), START))
    world.save(ORDERS, control)
    assert [line.at for line in history(world.ports, world.ports.logs, ORDERS, 5)] == [START]


def test_history_shows_no_commits_of_another_folder_at_the_same_path(world: Logged) -> None:
    world.land(ORDERS, 1)
    other = TableFolder("m", TablePath("Sales", "orders"))
    at = layout.delta_table("m", table_name(ORDERS.path, "dbo"))
    batch_record = BatchRecord(
        operation="o", folder=str(other), kind="extend", first=1, last=1, files=1
    )
    world.write_log(other, 0, 1, START, batch_record, at)
    assert history(world.ports, world.ports.logs, ORDERS, 5) == []


def test_a_table_without_log_and_acts_has_no_history(world: Logged) -> None:
    world.land(ORDERS, 1)
    assert history(world.ports, world.ports.logs, ORDERS, 5) == []


def test_a_mirror_whose_status_cannot_be_written_keeps_no_other_from_its_own(world: Logged) -> None:
    # A file where the folder should be: nothing can be written below it.
    world.store.put(layout.monitoring("m"), b"")
    world.store.make_folder(layout.landing_zone("n"))
    with pytest.raises(AlreadyThere):
        publish_all(world.ports, ["m", "n"])
    assert heartbeat(world.store, "n") == START
