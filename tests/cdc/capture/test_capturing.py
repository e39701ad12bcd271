"""Debezium's engine against a real server: what was committed is in the spool, whatever dies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot, is_begun
from openmirror.cdc.capture.jars import capture_class_path
from openmirror.cdc.capture.process import CaptureFailed, CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
from openmirror.cdc.snapshot_marks import MarkKind, marks_in
from openmirror.cdc.spool.reader import SpoolReader, newest_source
from openmirror.cdc.spool.writer import SpooledRecord, SpoolWriter
from openmirror.errors import CannotStart
from openmirror.protocol.streams import START, Offset
from openmirror.spark.jars import default_cache
from standins.postgres import PASSWORD, connected

_PATIENCE = 60.0


@dataclass(frozen=True)
class Change:
    """One record about a row, as the spool has it."""

    op: str
    table: str
    id: int | None
    text: str | None
    pair: str | None


@pytest.fixture
def settings(database: DatabaseUrl, tmp_path: Path) -> CaptureSettings:
    return CaptureSettings(
        url=database,
        stream=database.database,
        spool=tmp_path / "spool",
        class_path="",
        heartbeat_seconds=0.5,
    )


@contextmanager
def captured(settings: CaptureSettings) -> Iterator[CaptureProcess]:
    """A capturing process that is ready; killed at the end, if it is still there."""
    jars = capture_class_path(default_cache(), lambda line: None)
    process = CaptureProcess(replace(settings, class_path=jars))
    try:
        process.wait_ready(_PATIENCE, lambda line: None)
        yield process
    finally:
        process.kill()


class Spooled:
    """The changes of rows in a spool, in its order, read on from where they were read last."""

    def __init__(self, folder: Path) -> None:
        self._reader = SpoolReader(folder)
        self._next = START
        self.identity = self._reader.identity
        self.changes: list[Change] = []

    def until(self, enough: Callable[[list[Change]], bool]) -> list[Change]:
        """All of them, once they are enough."""
        ends = time.monotonic() + _PATIENCE
        while not enough(self.changes):
            assert time.monotonic() < ends, self.changes[-20:]
            time.sleep(0.1)
            self.read()
        return self.changes

    def read(self) -> None:
        """What has come since."""
        records = self._reader.read(self._next, 1 << 30, 1 << 40).to_pylist()
        for record in records:
            assert record["offset"] == self._next
            self._next = Offset(self._next + 1)
            payload = json.loads(record["value"]) if record["value"] else {}
            if "op" in payload:
                self.changes.append(_change(payload, record["headers"]))


def _change(payload: dict[str, Any], headers: list[dict[str, Any]]) -> Change:
    row = payload["after"] or payload["before"] or {}
    pairs = [header["name"].rpartition(".")[2] for header in headers]
    return Change(
        payload["op"],
        payload["source"]["table"],
        row.get("id"),
        row.get("text"),
        pairs[0] if pairs else None,
    )


def check_until_it_ends(process: CaptureProcess) -> None:
    ends = time.monotonic() + _PATIENCE
    while time.monotonic() < ends:
        process.check()
        time.sleep(0.05)


def replayed(found: list[Change]) -> dict[int, str | None]:
    """The table `orders` that follows from all changes, one after the other."""
    rows: dict[int, str | None] = {}
    for change in found:
        if change.table != "orders":
            continue
        if change.op == "t":
            rows.clear()
        elif change.op == "d":
            rows.pop(change.id, None)  # type: ignore[arg-type]
        else:
            rows[change.id] = change.text  # type: ignore[index]
    return rows


def selected(connection: psycopg.Connection) -> dict[int, str | None]:
    return dict(connection.execute("SELECT id, text FROM orders").fetchall())


class Load:
    """Transactions of several rows, changed keys among them, until it is stopped."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._url = url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.committed = 0

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        with connected(self._url) as connection:
            first = 1000
            while not self._over.is_set():
                with connection.transaction():
                    connection.execute(
                        "INSERT INTO orders"
                        " SELECT n, 'new' FROM generate_series(%s::int, %s::int) n",
                        (first, first + 9),
                    )
                    connection.execute(
                        "UPDATE orders SET text = 'changed' WHERE id BETWEEN %s AND %s",
                        (first, first + 3),
                    )
                    connection.execute(
                        "UPDATE orders SET id = id + 1000000 WHERE id BETWEEN %s AND %s",
                        (first + 2, first + 5),
                    )
                    connection.execute("DELETE FROM orders WHERE id = %s", (first + 9,))
                first += 10
                self.committed += 1
                time.sleep(0.03)


@pytest.mark.debezium
@pytest.mark.soak  # tests/cdc/test_database.py kills one as well, and compares all that follows
def test_every_row_is_in_the_spool_though_the_process_is_killed_amid_load(
    settings: CaptureSettings,
) -> None:
    with connected(settings.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
        connection.execute("CREATE TABLE log (text text)")
        connection.execute("INSERT INTO orders SELECT n, 'old' FROM generate_series(1, 100) n")
        with Load(settings.url) as load:
            with captured(settings) as process:
                spooled = Spooled(settings.spool)
                spooled.until(lambda found: any(c.pair == "newkey" for c in found))
                enough = load.committed + 20
                while load.committed < enough:
                    time.sleep(0.01)
                process.kill()
            spooled.read()
            at_the_kill = len(spooled.changes)
            time.sleep(0.2)  # what is committed while nobody listens
            with captured(settings) as process:
                spooled.until(lambda found: len(found) > at_the_kill)
                load.stop()
                connection.execute("UPDATE log SET text = 'not published, so not refused'")
                connection.execute("INSERT INTO orders VALUES (0, 'last')")
                spooled.until(lambda found: found[-1].text == "last")
                began = time.monotonic()
                process.stop()
                assert time.monotonic() - began < 8
                assert process.returncode == 0
        assert SpoolReader(settings.spool).identity == spooled.identity
        assert replayed(spooled.changes) == selected(connection)
        assert {change.table for change in spooled.changes} == {"orders"}
        # Its log is let go of, as far as it is in the spool.
        behind = connection.execute(
            "SELECT pg_current_wal_lsn() - confirmed_flush_lsn FROM pg_replication_slots"
            " WHERE slot_name = %s",
            (settings.slot,),
        ).fetchone()
        assert behind is not None
        assert behind[0] < 1_000_000


@pytest.mark.debezium
def test_a_snapshot_that_was_cut_short_begins_anew_and_a_new_one_gives_up_nothing(
    settings: CaptureSettings,
) -> None:
    """While a new one is taken, nothing else changes: the place in the spool stays that of a row
    of it."""
    rows, asked = 20_000, AskedSnapshot("a number", "public", "orders")
    with connected(settings.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
        connection.execute(
            "INSERT INTO orders SELECT n, 'old' FROM generate_series(0, %s::int) n", (rows,)
        )
        with captured(settings) as process:
            cut_short = Spooled(settings.spool)
            while SpoolReader(settings.spool).ends()[1] == START:
                time.sleep(0.005)
            process.kill()
        assert 0 < SpoolReader(settings.spool).ends()[1] < rows
        connection.execute("DELETE FROM orders WHERE id = 0")
        with captured(settings):
            spooled = Spooled(settings.spool)
            assert spooled.identity != cut_short.identity
            spooled.until(
                lambda found: len(found) >= rows and is_begun(newest_source(settings.spool))
            )
        assert replayed(spooled.changes) == selected(connection)
        before = len(spooled.changes)
        with captured(replace(settings, snapshot=asked)) as process:
            while not is_amid(asked, newest_source(settings.spool)):
                time.sleep(0.005)
            process.kill()
        assert SpoolReader(settings.spool).identity == spooled.identity
        with captured(replace(settings, snapshot=asked)):
            ends = time.monotonic() + _PATIENCE
            while (kinds := marked(settings.spool, asked))[-1] is not MarkKind.ENDED:
                assert time.monotonic() < ends, kinds
                time.sleep(0.1)
        assert kinds == [MarkKind.BEGUN, MarkKind.BEGUN, MarkKind.ENDED]
        spooled.read()
        came = len(spooled.changes) - before
        # One row is enough to be amid it: a connector's first batch may have no more.
        assert came > rows, "all of it came once more, and some before that"
        connection.execute("UPDATE orders SET text = 'new' WHERE id = 1")
        with captured(settings):
            last = spooled.until(lambda found: found[-1].text == "new")[-1]
        assert (last.op, spooled.identity) == ("u", SpoolReader(settings.spool).identity)


def is_amid(asked: AskedSnapshot, source: bytes | None) -> bool:
    """Whether the place is that of a row which this snapshot sent, behind others."""
    offset = json.loads(source or b"{}").get("offset", {})
    name = "incremental_snapshot_correlation_id"
    return offset.get("snapshot") == "INCREMENTAL" and offset.get(name) == asked.number


def marked(spool: Path, asked: AskedSnapshot) -> list[MarkKind]:
    records = SpoolReader(spool).read(START, 1 << 30, 1 << 40)
    return [mark.kind for mark in marks_in(records) if mark.number == asked.number]


@pytest.mark.debezium
def test_a_cut_connection_is_made_again_and_a_slot_that_is_gone_ends_it(
    settings: CaptureSettings,
) -> None:
    with connected(settings.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
        with captured(settings) as process:
            connection.execute("INSERT INTO orders VALUES (1, 'one')")
            spooled = Spooled(settings.spool)
            spooled.until(bool)
            connection.execute("TRUNCATE orders")
            spooled.until(lambda found: found[-1].op == "t")
            second = CaptureProcess(settings)
            with pytest.raises(CannotStart, match="another process captures into"):
                second.wait_ready(_PATIENCE, lambda line: None)
            second.kill()
            cut_off(connection, settings)
            connection.execute("INSERT INTO orders VALUES (2, 'two')")
            spooled.until(lambda found: found[-1].text == "two")
            process.check()
            drop_slot(connection, settings)
            with pytest.raises(CaptureFailed, match=r"slot is gone.*--anew"):
                check_until_it_ends(process)
            assert process.returncode == 1
        again = CaptureProcess(settings)
        with pytest.raises(CannotStart, match=r"slot .* is gone.*--anew"):
            again.wait_ready(_PATIENCE, lambda line: None)
        again.kill()


def cut_off(connection: psycopg.Connection, settings: CaptureSettings) -> None:
    connection.execute(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s",
        (settings.slot,),
    )


def drop_slot(connection: psycopg.Connection, settings: CaptureSettings) -> None:
    """Its reader is ended first, and may be back before it is dropped."""
    ends = time.monotonic() + _PATIENCE
    while time.monotonic() < ends:
        cut_off(connection, settings)
        with suppress(psycopg.errors.ObjectInUse):
            connection.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))
            return
    raise AssertionError("its reader is always back")


def test_a_wrong_password_ends_the_process_before_java_is_started(
    settings: CaptureSettings,
) -> None:
    wrong = replace(settings.url, password="guessed")
    process = CaptureProcess(replace(settings, url=wrong))
    arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    assert b"openmirror.cdc.capture" in arguments
    assert b"guessed" not in arguments
    with pytest.raises(CannotStart, match="Correct the user or the password"):
        process.wait_ready(_PATIENCE, lambda line: None)
    # It ends by itself, a moment after its reason is read.
    with pytest.raises(CaptureFailed):
        check_until_it_ends(process)
    process.stop()
    assert process.returncode == 1


def test_a_wrong_password_costs_no_stream(settings: CaptureSettings) -> None:
    with SpoolWriter(settings.spool) as writer:
        place = b'{"partition": {}, "offset": {"lsn": 7}}'
        writer.append([SpooledRecord(topic="t", key=None, value=None)], place)
        identity = writer.identity
    wrong = replace(settings, url=replace(settings.url, password="guessed"), anew=True)
    process = CaptureProcess(wrong)
    with pytest.raises(CannotStart, match="password"):
        process.wait_ready(_PATIENCE, lambda line: None)
    process.kill()
    with SpoolWriter(settings.spool) as writer:
        assert (writer.identity, writer.next, writer.source) == (identity, 1, place)


def test_a_spool_that_takes_no_records_is_named_with_the_remedy(
    settings: CaptureSettings,
) -> None:
    settings.spool.write_text("not a folder")
    process = CaptureProcess(settings)
    with pytest.raises(CannotStart, match=r"takes no records.*Make room there.*nothing is lost"):
        process.wait_ready(_PATIENCE, lambda line: None)
    process.kill()


def test_settings_show_no_password(settings: CaptureSettings) -> None:
    assert PASSWORD not in repr(settings)
    assert PASSWORD not in str(settings.url)
